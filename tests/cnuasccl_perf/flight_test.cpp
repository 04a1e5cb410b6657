// cnuas-flight on the dumps of real runs, and on files that are none.
#include "live/ccl/cnuasccl.h"
#include "live/ccl/flight/diagnosis.h"
#include "tests/cnuasccl_perf/temporary_folder.h"
#include "tests/switchd/child_process.h"

#include <barrier>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <functional>
#include <thread>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

namespace cnuas::test {
namespace {

using nlohmann::json;
using testing::HasSubstr;

constexpr std::int64_t kGuardNs = 120'000'000'000;

class Flight : public testing::Test {
 protected:
  std::string dump_of(int rank) const { return folder_ / ("rank_" + std::to_string(rank) + ".json"); }

  // Ranks as threads; each runs `body` and leaves its dump, also when a collective failed.
  void run(int ranks, std::int64_t timeout_ns, const std::function<void(int, cnuasccl_comm_t)>& body) {
    cnuasccl_inproc* world = nullptr;
    ASSERT_EQ(cnuasccl_inproc_create(ranks, 64, kGuardNs, &world), CNUASCCL_OK);
    std::vector<std::jthread> threads;
    for (int rank = 0; rank < ranks; ++rank) {
      threads.emplace_back([&, rank] {
        cnuasccl_bootstrap boot{};
        cnuasccl_link_transport link{};
        cnuasccl_link_extension extension{};
        cnuasccl_comm_t comm = nullptr;
        const auto gpu = static_cast<std::uint16_t>(0x0100 + rank);
        cnuasccl_inproc_bootstrap(world, rank, &boot);
        cnuasccl_inproc_link(world, rank, gpu, &link, &extension, sizeof extension);
        ASSERT_EQ(cnuasccl_comm_init_rank(&comm, &boot, gpu), CNUASCCL_OK);
        cnuasccl_config config;
        cnuasccl_config_init(&config, sizeof config);
        config.timeout_ns = timeout_ns;
        EXPECT_EQ(cnuasccl_comm_configure(comm, &config), CNUASCCL_OK);
        EXPECT_EQ(cnuasccl_comm_set_link(comm, &link, &extension, nullptr, nullptr), CNUASCCL_OK);
        body(rank, comm);
        EXPECT_EQ(cnuasccl_flight_dump(comm, dump_of(rank).c_str()), CNUASCCL_OK);
        cnuasccl_comm_destroy(comm);
      });
    }
    threads.clear();
    cnuasccl_inproc_destroy(world);
  }

  static cnuasccl_status_t sum(cnuasccl_comm_t comm, cnuasccl_op_t op = CNUASCCL_SUM) {
    std::vector<float> values(1000, 1.0F);
    return cnuasccl_all_reduce(comm, values.data(), values.data(), values.size(), CNUASCCL_FLOAT32, op);
  }

  int flight(const std::vector<std::string>& arguments) {
    for (const char* stream : {"out", "err"})
      std::filesystem::remove(folder_ / stream);
    ProgramSettings settings;
    settings.command = {CNUAS_BINARY_DIR "/bin/cnuas-flight"};
    settings.command.insert(settings.command.end(), arguments.begin(), arguments.end());
    settings.output_file = folder_ / "out";
    settings.error_file = folder_ / "err";
    Result<ChildProcess> process = ChildProcess::start(settings);
    EXPECT_TRUE(process) << process.error().message;
    return process ? process->wait().value_or(-1) : -1;
  }
  std::string output() const { return text_of(folder_ / "out"); }
  std::string errors() const { return text_of(folder_ / "err"); }

  // The one communicator of the folder's dumps.
  json verdict(int expected_exit) {
    EXPECT_EQ(flight({folder_.path(), "--json"}), expected_exit) << errors();
    const json report = json::parse(output(), nullptr, false);
    if (report.is_discarded() || report["communicators"].size() != 1) {
      ADD_FAILURE() << output();
      return json::object();
    }
    EXPECT_EQ(report["schema"], "cnuasccl.flight-report/1");
    return report["communicators"][0];
  }

  TemporaryFolder folder_;
};

TEST_F(Flight, FindsNothingWhereAllWentWell) {
  run(3, kGuardNs, [](int, cnuasccl_comm_t comm) {
    for (int i = 0; i < 5; ++i)
      EXPECT_EQ(sum(comm), CNUASCCL_OK);
  });
  EXPECT_EQ(verdict(0)["verdict"], "well");
}

TEST_F(Flight, NamesWhoCalledAnotherOperator) {
  std::barrier all(4);  // or who is slow in the first hears of the second before it gets there
  run(4, kGuardNs, [&](int rank, cnuasccl_comm_t comm) {
    EXPECT_EQ(sum(comm), CNUASCCL_OK);
    all.arrive_and_wait();
    EXPECT_NE(sum(comm, rank == 2 ? CNUASCCL_MAX : CNUASCCL_SUM), CNUASCCL_OK);
  });
  const json found = verdict(1);
  EXPECT_EQ(found["verdict"], "mismatch");
  EXPECT_EQ(found["culprits"], json({2}));
  EXPECT_EQ(found["sequence"], 1);
  EXPECT_THAT(found["text"].get<std::string>(),
              HasSubstr("rank 2 (GPU 1/2) called all_reduce of 1000 float32, max"));
  EXPECT_EQ(flight({folder_.path()}), 1);
  EXPECT_THAT(output(), HasSubstr("\n* rank 2 "));
}

// The number of a collective has 32 bits on the wire; after some days at many a second it begins again.
TEST_F(Flight, FollowsSequenceNumbersThatHaveWrapped) {
  run(2, 200'000'000, [](int rank, cnuasccl_comm_t comm) {
    for (int i = 0; i < 4; ++i)
      EXPECT_EQ(sum(comm), CNUASCCL_OK);
    if (rank == 0) {
      EXPECT_NE(sum(comm), CNUASCCL_OK);
    }
  });
  constexpr std::uint64_t kWrap = std::uint64_t{1} << 32;
  for (int rank = 0; rank < 2; ++rank) {
    json dump = json::parse(text_of(dump_of(rank)));
    dump["collectives"] = dump["collectives"].get<std::uint64_t>() + kWrap - 2;
    for (json& entry : dump["entries"])
      entry["sequence"] = (entry["sequence"].get<std::uint64_t>() + kWrap - 2) % kWrap;
    std::ofstream(dump_of(rank)) << dump;
  }
  const json found = verdict(1);
  EXPECT_EQ(found["verdict"], "straggler");
  EXPECT_EQ(found["culprits"], json({1}));
  EXPECT_EQ(found["sequence"], kWrap + 2);
}

TEST_F(Flight, NamesBothWhereThereIsNoMajority) {
  run(2, kGuardNs, [](int rank, cnuasccl_comm_t comm) {
    EXPECT_NE(sum(comm, rank == 0 ? CNUASCCL_MAX : CNUASCCL_SUM), CNUASCCL_OK);
  });
  const json found = verdict(1);
  EXPECT_EQ(found["verdict"], "mismatch");
  EXPECT_EQ(found["culprits"], json({0, 1}));
}

TEST_F(Flight, NamesWhoHasNotEntered) {
  run(4, 200'000'000, [](int rank, cnuasccl_comm_t comm) {
    if (rank != 1) {
      EXPECT_NE(sum(comm), CNUASCCL_OK);
    }
  });
  const json found = verdict(1);
  EXPECT_EQ(found["verdict"], "straggler");
  EXPECT_EQ(found["culprits"], json({1}));
  EXPECT_EQ(found["ranks"][1]["state"], "not entered");
}

TEST_F(Flight, NamesWhoLeftTheOthersOutByAbort) {
  run(3, kGuardNs, [](int rank, cnuasccl_comm_t comm) {
    if (rank == 0) {
      EXPECT_EQ(cnuasccl_comm_abort(comm), CNUASCCL_OK);
    } else {
      EXPECT_NE(sum(comm), CNUASCCL_OK);
    }
  });
  const json found = verdict(1);
  EXPECT_EQ(found["culprits"], json({0})) << found;
}

TEST_F(Flight, NamesTheRankThatWasKilled) {
  ProgramSettings settings;
  settings.command = {CNUAS_BINARY_DIR "/bin/cnuasccl-perf",
                      "all_reduce",
                      "--ranks",
                      "3",
                      "-b",
                      "256K",
                      "-e",
                      "288K",
                      "-i",
                      "4",
                      "--timeout",
                      "2",
                      "--flight",
                      folder_.path()};
  settings.environment = {"TMPDIR=" + folder_.path()};
  settings.output_file = folder_ / "table";
  settings.error_file = folder_ / "talk";
  Result<ChildProcess> process = ChildProcess::start(settings);
  ASSERT_TRUE(process) << process.error().message;
  ASSERT_TRUE(
      eventually([&] { return text_of(folder_ / "table").find("\n# all_reduce") != std::string::npos; }));
  const std::string pid = std::to_string(process->pid());
  std::ifstream children("/proc/" + pid + "/task/" + pid + "/children");
  pid_t switch_process = 0;
  pid_t first_rank = 0;
  ASSERT_TRUE(children >> switch_process >> first_rank);
  ::kill(first_rank, SIGKILL);
  EXPECT_EQ(process->wait(), 4);
  const json found = verdict(1);
  EXPECT_EQ(found["verdict"], "absent") << found;
  EXPECT_EQ(found["culprits"], json({0})) << found;
  EXPECT_EQ(found["ranks"][0]["state"], "no dump");
}

// A rank that is slow hears in one collective what went wrong in the next.
TEST_F(Flight, LooksPastThoseWhoWereOnlyTold) {
  std::barrier all(4);
  run(4, kGuardNs, [&](int rank, cnuasccl_comm_t comm) {
    EXPECT_EQ(sum(comm), CNUASCCL_OK);
    all.arrive_and_wait();
    EXPECT_NE(sum(comm, rank == 2 ? CNUASCCL_MAX : CNUASCCL_SUM), CNUASCCL_OK);
  });
  json slow = json::parse(text_of(dump_of(0)));
  slow["collectives"] = 1;
  slow["entries"].erase(1);
  slow["entries"][0]["state"] = "failed";
  slow["entries"][0]["status"] = "CNUASCCL_PEER_ABORTED";
  slow["entries"][0]["culprit"] = 3;
  std::ofstream(dump_of(0)) << slow;
  const json found = verdict(1);
  EXPECT_EQ(found["verdict"], "mismatch");
  EXPECT_EQ(found["culprits"], json({2}));
  EXPECT_EQ(found["sequence"], 1);
}

TEST_F(Flight, SaysWhichFilesAreNoDumpsAndUsesTheOthers) {
  run(2, kGuardNs, [](int, cnuasccl_comm_t comm) { EXPECT_EQ(sum(comm), CNUASCCL_OK); });
  const std::string good = text_of(dump_of(0));
  const std::pair<std::string, std::string> broken[] = {
      {good.substr(0, good.size() / 2), "is no JSON"},
      {"[]", "the file is no object"},
      {"{}", "the file: 'schema' is not a text"},
      {R"({"schema": "cnuasccl.flight/2"})", "'schema' is not cnuasccl.flight/1"},
      {std::string(100'000, '['), "is no JSON"},
  };
  for (const auto& [text, says] : broken) {
    std::ofstream(dump_of(9)) << text;
    EXPECT_EQ(verdict(4)["verdict"], "well");
    EXPECT_THAT(errors(), HasSubstr("rank_9.json: " + says));
  }
  EXPECT_EQ(flight({folder_ / "nowhere.json"}), 4);
  EXPECT_THAT(errors(), HasSubstr("nowhere.json"));
  EXPECT_EQ(flight({}), 2);
}

// Every field, with a value of every kind that it cannot have.
TEST_F(Flight, NamesTheFieldThatIsWrong) {
  run(2, kGuardNs, [](int, cnuasccl_comm_t comm) { EXPECT_EQ(sum(comm), CNUASCCL_OK); });
  const json good = json::parse(text_of(dump_of(0)));
  ASSERT_TRUE(live::flight::parse_dump(good.dump(), "f"));
  for (const char* name :
       {"comm_id", "rank", "n_ranks", "dumped_unix_ns", "collectives", "gpus", "entries"}) {
    for (const json& value : {json(-1), json("x"), json(nullptr), json({1}), json(1.5)}) {
      json changed = good;
      changed[name] = value;
      const auto parsed = live::flight::parse_dump(changed.dump(), "f");
      ASSERT_FALSE(parsed) << name << " " << value;
      EXPECT_EQ(parsed.error().where, "f");
    }
  }
  for (const auto& [name, value] : good["entries"][0].items()) {
    for (const json& other : {json(-1), json({1})}) {
      json changed = good;
      changed["entries"][0][name] = other;
      const auto parsed = live::flight::parse_dump(changed.dump(), "f");
      if (!parsed) {
        EXPECT_THAT(parsed.error().message, HasSubstr("entries[0]"));
      }
    }
  }
  json backwards = good;
  backwards["entries"].push_back(good["entries"][0]);
  EXPECT_FALSE(live::flight::parse_dump(backwards.dump(), "f"));
  json outside = good;
  outside["entries"][0]["culprit"] = 2;
  EXPECT_FALSE(live::flight::parse_dump(outside.dump(), "f"));
}

}  // namespace
}  // namespace cnuas::test
