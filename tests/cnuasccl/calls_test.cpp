// Calls that are wrong, that differ among ranks, that are aborted; settings; explanations; the flight
// recorder.
#include "tests/cnuasccl/fake_switch.h"
#include "tests/cnuasccl/ranks.h"

#include <array>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <string>
#include <thread>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>
#include <unistd.h>

namespace cnuas::live::collectives {
namespace {

using testing::AnyOf;
using testing::HasSubstr;

TEST(StatusTest, EveryOneHasANameAndASentence) {
  int known = 0;
  for (int number = 0; number < 128; ++number) {
    const auto status = static_cast<cnuasccl_status_t>(number);
    if (std::string(cnuasccl_status_name(status)) == "?") continue;
    ++known;
    EXPECT_THAT(cnuasccl_strerror(status), testing::Not(HasSubstr("does not know")));
  }
  EXPECT_EQ(known, 46);
  EXPECT_STREQ(cnuasccl_status_name(CNUASCCL_ROOT_MISMATCH), "CNUASCCL_ROOT_MISMATCH");
  EXPECT_STREQ(cnuasccl_version(), "0.1.0");
}

TEST(ArgumentTest, AreCheckedBeforeAnythingIsSent) {
  World world(2);
  world.run_with([](int rank, cnuasccl_comm_t comm) {
    std::array<std::int32_t, 8> a{};
    std::int32_t* p = a.data();
    const auto refused = [&](cnuasccl_status_t status) { EXPECT_EQ(status, CNUASCCL_INVALID_ARGUMENT); };
    refused(cnuasccl_all_reduce(comm, p, nullptr, 1, CNUASCCL_INT32, CNUASCCL_SUM));
    refused(cnuasccl_all_reduce(comm, nullptr, p, 1, CNUASCCL_INT32, CNUASCCL_SUM));
    refused(cnuasccl_all_reduce(comm, p, p + 1, 4, CNUASCCL_INT32, CNUASCCL_SUM));
    EXPECT_THAT(last_error(comm), HasSubstr("send == recv"));
    refused(cnuasccl_all_reduce(comm, p, p, 1, static_cast<cnuasccl_type_t>(8), CNUASCCL_SUM));
    refused(cnuasccl_all_reduce(comm, p, p, 1, static_cast<cnuasccl_type_t>(-1), CNUASCCL_SUM));
    refused(cnuasccl_all_reduce(comm, p, p, 1, CNUASCCL_INT32, static_cast<cnuasccl_op_t>(4)));
    refused(cnuasccl_broadcast(comm, p, p, 1, CNUASCCL_INT32, 2));
    refused(cnuasccl_broadcast(comm, p, p, 1, CNUASCCL_INT32, -1));
    refused(cnuasccl_all_gather(comm, p + (rank == 0 ? 2 : 0), p, 2, CNUASCCL_INT32));
    refused(cnuasccl_reduce_scatter(comm, p, p + (rank == 0 ? 2 : 0), 2, CNUASCCL_INT32, CNUASCCL_SUM));
    refused(cnuasccl_all_to_all(comm, p, p + 2, 2, CNUASCCL_INT32));
    EXPECT_EQ(cnuasccl_all_reduce(comm, p, p, SIZE_MAX, CNUASCCL_INT32, CNUASCCL_SUM), CNUASCCL_TOO_LARGE);
    EXPECT_EQ(cnuasccl_all_gather(comm, p, p, SIZE_MAX / 16, CNUASCCL_FLOAT64), CNUASCCL_TOO_LARGE);
    EXPECT_EQ(cnuasccl_all_reduce(nullptr, p, p, 1, CNUASCCL_INT32, CNUASCCL_SUM), CNUASCCL_INVALID_ARGUMENT);
    EXPECT_OK(cnuasccl_barrier(comm));  // nothing of it has poisoned anything
    cnuasccl_comm_state state{};
    state.struct_bytes = sizeof state;
    EXPECT_OK(cnuasccl_comm_status(comm, &state));
    EXPECT_EQ(state.collectives, 1u);
  });
}

// Calls that differ between the ranks: a status on every rank, in this call or, for who has finished, the
// next.
void expect_mismatch(int ranks, const std::function<cnuasccl_status_t(int, cnuasccl_comm_t, float*)>& call,
                     const std::vector<cnuasccl_status_t>& found, std::int64_t timeout_ns = kHangGuardNs) {
  World world(ranks);
  std::vector<cnuasccl_status_t> statuses(static_cast<std::size_t>(ranks));
  std::vector<std::string> texts(static_cast<std::size_t>(ranks));
  world.run_with([&](int rank, cnuasccl_comm_t comm) {
    configure(comm, [&](cnuasccl_config& config) { config.timeout_ns = timeout_ns; });
    std::vector<float> data(400, 1.0F);
    cnuasccl_status_t status = call(rank, comm, data.data());
    if (status == CNUASCCL_OK) status = cnuasccl_barrier(comm);
    statuses[static_cast<std::size_t>(rank)] = status;
    texts[static_cast<std::size_t>(rank)] = last_error(comm);
  });
  bool named = false;
  for (std::size_t rank = 0; rank < statuses.size(); ++rank) {
    const bool finds = std::find(found.begin(), found.end(), statuses[rank]) != found.end();
    named = named || finds;
    EXPECT_TRUE(finds || statuses[rank] == CNUASCCL_PEER_ABORTED)
        << "rank " << rank << ": " << cnuasccl_status_name(statuses[rank]) << ", " << texts[rank];
    EXPECT_THAT(texts[rank], HasSubstr("rank "));
    if (statuses[rank] < CNUASCCL_OPERATOR_MISMATCH) continue;
    // Who has what, both by name.
    const std::string own = "rank " + std::to_string(rank) + " [(]GPU";
    EXPECT_THAT(texts[rank], testing::ContainsRegex("rank [0-9]+ [(]GPU [^)]*[)] has [^,]*, " + own));
  }
  EXPECT_TRUE(named);
}

// Each has sent its own and may be done; then the next call finds out why the other's had no use.
TEST(MismatchTest, OfTwoRanksThatAreBothTheRoot) {
  expect_mismatch(2,
                  [](int rank, cnuasccl_comm_t comm, float* data) {
                    return cnuasccl_broadcast(comm, data, data, 10, CNUASCCL_FLOAT32, rank);
                  },
                  {CNUASCCL_ROOT_MISMATCH});
}

// A transport that takes nothing and says that all is well.
TEST(DeadlineTest, PassesWhateverTheTransportSays) {
  World world(2);
  world.run([&](int rank) {
    cnuasccl_comm_t comm = world.bare(rank);
    cnuasccl_link_transport link{};
    cnuasccl_link_extension extension{};
    world.link(rank, link, extension);
    extension.send_many = [](std::uint16_t, const cnuasccl_frame*, std::size_t, std::size_t* sent, void*) {
      *sent = 0;
      return CNUASCCL_OK;
    };
    EXPECT_OK(cnuasccl_comm_set_link(comm, &link, &extension, nullptr, nullptr));
    configure(comm, [](cnuasccl_config& config) { config.timeout_ns = 100'000'000; });
    EXPECT_EQ(cnuasccl_barrier(comm), CNUASCCL_TIMEOUT);
    cnuasccl_comm_destroy(comm);
  });
}

// Structures as a program has them that was compiled against an earlier or a later header.
TEST(GrowingTest, NothingIsWrittenBeyondTheCallersStructure) {
  struct Later {
    cnuasccl_config config;
    std::uint64_t more;
  };
  Later later;
  std::memset(&later, 0xEE, sizeof later);
  cnuasccl_config_init(&later.config, offsetof(cnuasccl_config, chunk_bytes));
  EXPECT_EQ(later.config.struct_bytes, offsetof(cnuasccl_config, chunk_bytes));
  EXPECT_EQ(later.config.timeout_ns, 60'000'000'000);
  EXPECT_EQ(later.config.chunk_bytes, 0xEEEE'EEEE);
  cnuasccl_config_init(&later.config, sizeof later);
  EXPECT_EQ(later.config.struct_bytes, sizeof later);
  EXPECT_EQ(later.config.chunk_bytes, 61'440u);
  EXPECT_EQ(later.more, 0u);
  World world(1);
  cnuasccl_comm_t comm = world.bare(0);
  EXPECT_OK(cnuasccl_comm_configure(comm, &later.config));
  cnuasccl_config_init(nullptr, sizeof later);
  cnuasccl_config_init(&later.config, 1);
  EXPECT_EQ(later.config.struct_bytes, sizeof later);
  cnuasccl_link_transport link{};
  cnuasccl_link_extension extension;
  std::memset(static_cast<void*>(&extension), 0xEE, sizeof extension);
  EXPECT_EQ(cnuasccl_inproc_link(nullptr, 0, 1, &link, &extension, sizeof extension),
            CNUASCCL_INVALID_ARGUMENT);
  cnuasccl_comm_destroy(comm);
}

TEST(MismatchTest, OfOperatorTypeCountRootAlgorithmAndKind) {
  for (const int ranks : {2, 4}) {
    for (const int odd : {0, ranks - 1}) {
      expect_mismatch(ranks,
                      [odd](int rank, cnuasccl_comm_t comm, float* data) {
                        return cnuasccl_all_reduce(comm, data, data, 100, CNUASCCL_FLOAT32,
                                                   rank == odd ? CNUASCCL_MAX : CNUASCCL_SUM);
                      },
                      {CNUASCCL_OPERATOR_MISMATCH});
      expect_mismatch(
          ranks,
          [odd](int rank, cnuasccl_comm_t comm, float* data) {
            return rank == odd ? cnuasccl_all_reduce(comm, data, data, 50, CNUASCCL_FLOAT64, CNUASCCL_SUM)
                               : cnuasccl_all_reduce(comm, data, data, 100, CNUASCCL_FLOAT32, CNUASCCL_SUM);
          },
          {CNUASCCL_TYPE_MISMATCH});
      expect_mismatch(ranks,
                      [odd](int rank, cnuasccl_comm_t comm, float* data) {
                        return cnuasccl_reduce_scatter(comm, data, data + 200, rank == odd ? 10 : 11,
                                                       CNUASCCL_FLOAT32, CNUASCCL_SUM);
                      },
                      {CNUASCCL_COUNT_MISMATCH});
      expect_mismatch(
          ranks,
          [odd, ranks](int rank, cnuasccl_comm_t comm, float* data) {
            return cnuasccl_broadcast(comm, data, data, 10, CNUASCCL_FLOAT32,
                                      rank == odd ? ranks - 1 - odd : odd);
          },
          // Two ranks that each wait for, or each send to, the other one.
          {CNUASCCL_ROOT_MISMATCH, CNUASCCL_TIMEOUT}, 500'000'000);
      expect_mismatch(ranks,
                      [odd](int rank, cnuasccl_comm_t comm, float* data) {
                        configure(comm, [&](cnuasccl_config& config) {
                          config.timeout_ns = 500'000'000;
                          config.algorithm = rank == odd ? CNUASCCL_ONE_SHOT : CNUASCCL_DIRECT;
                        });
                        return cnuasccl_all_reduce(comm, data, data, 100, CNUASCCL_FLOAT32, CNUASCCL_SUM);
                      },
                      {CNUASCCL_ALGORITHM_MISMATCH});
      expect_mismatch(ranks,
                      [odd](int rank, cnuasccl_comm_t comm, float* data) {
                        return rank == odd
                                   ? cnuasccl_all_gather(comm, data, data + 100, 25, CNUASCCL_FLOAT32)
                                   : cnuasccl_all_to_all(comm, data, data + 100, 25, CNUASCCL_FLOAT32);
                      },
                      {CNUASCCL_WRONG_KIND});
    }
  }
}

TEST(AbortTest, EndsTheCallThatRunsAndTellsTheOthers) {
  World world(3);
  std::atomic<cnuasccl_comm_t> waiting{nullptr};
  std::atomic<bool> told{false};
  world.run_with([&](int rank, cnuasccl_comm_t comm) {
    if (rank == 0) {  // comes late, and finds out at once
      while (!told)
        std::this_thread::yield();
      EXPECT_EQ(cnuasccl_barrier(comm), CNUASCCL_PEER_ABORTED);
    } else if (rank == 1) {
      waiting = comm;
      EXPECT_EQ(cnuasccl_barrier(comm), CNUASCCL_ABORTED);
      EXPECT_EQ(cnuasccl_barrier(comm), CNUASCCL_POISONED);
      told = true;
    } else {
      std::thread aborter([&] {
        while (waiting == nullptr)
          std::this_thread::yield();
        std::this_thread::sleep_for(std::chrono::milliseconds(20));
        EXPECT_OK(cnuasccl_comm_abort(waiting));
      });
      EXPECT_EQ(cnuasccl_barrier(comm), CNUASCCL_PEER_ABORTED);
      aborter.join();
    }
    cnuasccl_comm_state state{};
    state.struct_bytes = sizeof state;
    EXPECT_OK(cnuasccl_comm_status(comm, &state));
    EXPECT_EQ(state.poisoned, rank == 1 ? CNUASCCL_ABORTED : CNUASCCL_PEER_ABORTED);
  });
}

TEST(AbortTest, BetweenCallsToo) {
  World world(2);
  world.run_with([](int rank, cnuasccl_comm_t comm) {
    EXPECT_OK(cnuasccl_barrier(comm));
    if (rank == 0) {
      EXPECT_OK(cnuasccl_comm_abort(comm));
      EXPECT_OK(cnuasccl_comm_abort(comm));
      EXPECT_EQ(cnuasccl_barrier(comm), CNUASCCL_POISONED);
    } else {
      EXPECT_EQ(cnuasccl_barrier(comm), CNUASCCL_PEER_ABORTED);
    }
  });
}

TEST(BusyTest, ASecondCallOnACommunicatorIsRefused) {
  World world(2);
  std::atomic<bool> go{false};
  world.run_with([&](int rank, cnuasccl_comm_t comm) {
    if (rank == 1) {
      while (!go)
        std::this_thread::yield();
      EXPECT_OK(cnuasccl_barrier(comm));
      return;
    }
    std::atomic<bool> begun{false};
    std::thread first([&] {
      begun = true;
      EXPECT_OK(cnuasccl_barrier(comm));
    });
    cnuasccl_comm_state state{};
    state.struct_bytes = sizeof state;
    do {
      EXPECT_OK(cnuasccl_comm_status(comm, &state));
    } while (state.collectives == 0);
    EXPECT_EQ(cnuasccl_barrier(comm), CNUASCCL_BUSY);
    go = true;
    first.join();
  });
}

TEST(ConfigTest, IsChecked) {
  World world(1);
  cnuasccl_comm_t comm = world.bare(0);
  const auto refused = [&](const std::function<void(cnuasccl_config&)>& change) {
    cnuasccl_config config;
    cnuasccl_config_init(&config, sizeof config);
    EXPECT_EQ(cnuasccl_comm_configure(comm, &config), CNUASCCL_OK);
    change(config);
    EXPECT_EQ(cnuasccl_comm_configure(comm, &config), CNUASCCL_INVALID_ARGUMENT);
  };
  refused([](cnuasccl_config& config) { config.timeout_ns = 0; });
  refused([](cnuasccl_config& config) { config.chunk_bytes = 63; });
  refused([](cnuasccl_config& config) { config.chunk_bytes = 100; });
  refused([](cnuasccl_config& config) { config.chunk_bytes = 61'448; });
  refused([](cnuasccl_config& config) { config.rate_bytes_per_s = 0; });
  refused([](cnuasccl_config& config) { config.latency_ns = -1; });
  refused([](cnuasccl_config& config) { config.latency_ns = INT64_MAX; });
  refused([](cnuasccl_config& config) { config.flight_entries = 1'000'000; });
  refused([](cnuasccl_config& config) { config.algorithm = static_cast<cnuasccl_algorithm_t>(12); });
  EXPECT_EQ(cnuasccl_comm_configure(comm, nullptr), CNUASCCL_INVALID_ARGUMENT);
  // A caller that was compiled with fewer settings.
  cnuasccl_config shorter;
  cnuasccl_config_init(&shorter, sizeof shorter);
  shorter.struct_bytes = offsetof(cnuasccl_config, timeout_ns);
  shorter.timeout_ns = -5;
  EXPECT_OK(cnuasccl_comm_configure(comm, &shorter));
  cnuasccl_comm_destroy(comm);
}

struct Explained {
  cnuasccl_status_t status = CNUASCCL_OK;
  cnuasccl_choice choice{};
  std::string text;
};
Explained explained(cnuasccl_comm_t comm, cnuasccl_collective_t collective, std::size_t count) {
  Explained result;
  result.choice.struct_bytes = sizeof result.choice;
  char text[4096];
  result.status =
      cnuasccl_explain(comm, collective, count, CNUASCCL_FLOAT32, &result.choice, text, sizeof text);
  result.text = text;
  return result;
}

TEST(ExplainTest, TellsWhatIsTakenAndWhy) {
  World world(4);
  world.run_with([](int, cnuasccl_comm_t comm) {
    const Explained small = explained(comm, CNUASCCL_ALL_REDUCE, 1);
    EXPECT_EQ(small.status, CNUASCCL_OK);
    EXPECT_EQ(small.choice.algorithm, CNUASCCL_ONE_SHOT);  // one latency
    EXPECT_EQ(small.choice.canonical, 1);
    EXPECT_EQ(small.choice.forced, 0);
    EXPECT_GE(small.choice.predicted_ns, 20'000);
    EXPECT_THAT(small.text, HasSubstr("> one_shot"));
    EXPECT_THAT(small.text, HasSubstr("halving_doubling"));
    EXPECT_EQ(explained(comm, CNUASCCL_ALL_REDUCE, 10'000'000).choice.algorithm, CNUASCCL_DIRECT);
    configure(comm, [](cnuasccl_config& config) { config.any_order = 1; });
    EXPECT_EQ(explained(comm, CNUASCCL_ALL_REDUCE, 10'000'000).choice.canonical,
              explained(comm, CNUASCCL_ALL_REDUCE, 10'000'000).choice.algorithm == CNUASCCL_DIRECT);
    configure(comm, [](cnuasccl_config& config) { config.algorithm = CNUASCCL_RING; });
    EXPECT_EQ(explained(comm, CNUASCCL_ALL_REDUCE, 8).status, CNUASCCL_NOT_CANONICAL);
    EXPECT_EQ(explained(comm, CNUASCCL_ALL_GATHER, 8).choice.algorithm, CNUASCCL_RING);
    EXPECT_EQ(explained(comm, CNUASCCL_BROADCAST, 8).choice.forced, 0) << "it has no ring";
    float one = 1.0F;
    EXPECT_EQ(cnuasccl_all_reduce(comm, &one, &one, 1, CNUASCCL_FLOAT32, CNUASCCL_SUM),
              CNUASCCL_NOT_CANONICAL);
    EXPECT_THAT(last_error(comm), HasSubstr("CNUASCCL_ORDER=any"));
    EXPECT_EQ(
        cnuasccl_explain(comm, static_cast<cnuasccl_collective_t>(5), 1, CNUASCCL_INT8, nullptr, nullptr, 0),
        CNUASCCL_INVALID_ARGUMENT);
    configure(comm, [](cnuasccl_config& config) {
      config.algorithm = CNUASCCL_RING;
      config.any_order = 1;
    });
    EXPECT_OK(cnuasccl_all_reduce(comm, &one, &one, 1, CNUASCCL_FLOAT32, CNUASCCL_SUM));
    EXPECT_EQ(one, 4.0F);
  });
}

// GPUs of two racks: with a link between them that is no faster than a port, not everybody sends to
// everybody.
TEST(ExplainTest, FollowsTheRacks) {
  constexpr int kRanks = 8;
  cnuasccl_inproc* world = nullptr;
  ASSERT_EQ(cnuasccl_inproc_create(kRanks, 1, kHangGuardNs, &world), CNUASCCL_OK);
  std::vector<std::thread> threads;
  for (int rank = 0; rank < kRanks; ++rank) {
    threads.emplace_back([&, rank] {
      cnuasccl_bootstrap boot{};
      EXPECT_OK(cnuasccl_inproc_bootstrap(world, rank, &boot));
      cnuasccl_comm_t comm = nullptr;
      EXPECT_OK(cnuasccl_comm_init_rank(&comm, &boot,
                                        static_cast<std::uint16_t>((rank < 4 ? 0x0100 : 0x0200) + rank)));
      EXPECT_EQ(explained(comm, CNUASCCL_ALL_REDUCE, 10'000'000).choice.algorithm, CNUASCCL_CHAIN);
      EXPECT_THAT(explained(comm, CNUASCCL_ALL_REDUCE, 10'000'000).text,
                  testing::AllOf(HasSubstr("2 racks with 2500 MB/s between them"),
                                 HasSubstr("by what crosses between racks")));
      configure(comm, [](cnuasccl_config& config) { config.uplink_bytes_per_s = 40'000'000'000; });
      EXPECT_EQ(explained(comm, CNUASCCL_ALL_REDUCE, 10'000'000).choice.algorithm, CNUASCCL_DIRECT);
      cnuasccl_comm_destroy(comm);
    });
  }
  for (std::thread& thread : threads)
    thread.join();
  cnuasccl_inproc_destroy(world);
}

class EnvironmentTest : public testing::Test {
 protected:
  ~EnvironmentTest() override {
    unsetenv("CNUASCCL_ALGORITHM");
    unsetenv("CNUASCCL_ORDER");
  }
  static cnuasccl_status_t init(World& world, cnuasccl_comm_t& comm) {
    const cnuasccl_bootstrap boot = world.bootstrap(0);
    return cnuasccl_comm_init_rank(&comm, &boot, 1);
  }
};

TEST_F(EnvironmentTest, ForcesAnAlgorithmAndAllowsAnyOrder) {
  setenv("CNUASCCL_ALGORITHM", "all_reduce:chain,broadcast:direct", 1);
  World world(3);
  world.run_with([](int, cnuasccl_comm_t comm) {
    EXPECT_EQ(explained(comm, CNUASCCL_ALL_REDUCE, 1).choice.algorithm, CNUASCCL_CHAIN);
    EXPECT_EQ(explained(comm, CNUASCCL_ALL_REDUCE, 1).choice.forced, 1);
    EXPECT_EQ(explained(comm, CNUASCCL_BROADCAST, 1).choice.algorithm, CNUASCCL_DIRECT);
    EXPECT_EQ(explained(comm, CNUASCCL_ALL_GATHER, 1).choice.forced, 0);
    configure(comm, [](cnuasccl_config& config) { config.timeout_ns = 1'000'000'000; });
    EXPECT_EQ(explained(comm, CNUASCCL_ALL_REDUCE, 1).choice.algorithm, CNUASCCL_CHAIN) << "AUTO leaves it";
    configure(comm, [](cnuasccl_config& config) { config.algorithm = CNUASCCL_DIRECT; });
    EXPECT_EQ(explained(comm, CNUASCCL_ALL_REDUCE, 1).choice.algorithm, CNUASCCL_DIRECT);
  });
  setenv("CNUASCCL_ALGORITHM", "ring", 1);
  setenv("CNUASCCL_ORDER", "any", 1);
  World again(4);
  again.run_with([](int, cnuasccl_comm_t comm) {
    EXPECT_EQ(explained(comm, CNUASCCL_ALL_REDUCE, 1).choice.algorithm, CNUASCCL_RING);
    EXPECT_EQ(explained(comm, CNUASCCL_ALL_REDUCE, 1).choice.canonical, 0);
  });
}

TEST_F(EnvironmentTest, WhatComesLaterCounts) {
  setenv("CNUASCCL_ALGORITHM", "direct,broadcast:auto,all_gather:ring", 1);
  World world(2);
  world.run_with([](int, cnuasccl_comm_t comm) {
    EXPECT_EQ(explained(comm, CNUASCCL_ALL_REDUCE, 1).choice.forced, 1);
    EXPECT_EQ(explained(comm, CNUASCCL_BROADCAST, 1).choice.forced, 0);
    EXPECT_EQ(explained(comm, CNUASCCL_ALL_GATHER, 1).choice.algorithm, CNUASCCL_RING);
  });
}

TEST_F(EnvironmentTest, NonsenseIsRefused) {
  World world(1);
  cnuasccl_comm_t comm = nullptr;
  for (const char* text :
       {"rings", "all_reduce:", "all_reduce:pairwise", "sum:ring", "sum:auto", ",", "ring,,chain"}) {
    setenv("CNUASCCL_ALGORITHM", text, 1);
    EXPECT_EQ(init(world, comm), CNUASCCL_INVALID_ARGUMENT) << text;
    EXPECT_THAT(last_error(nullptr), HasSubstr("CNUASCCL_ALGORITHM"));
  }
  for (const char* text : {"", "auto", "all_reduce:auto,chain"}) {
    setenv("CNUASCCL_ALGORITHM", text, 1);
    EXPECT_EQ(init(world, comm), CNUASCCL_OK) << text;
    cnuasccl_comm_destroy(comm);
  }
  setenv("CNUASCCL_ORDER", "some", 1);
  EXPECT_EQ(init(world, comm), CNUASCCL_INVALID_ARGUMENT);
}

TEST(FlightTest, KeepsTheLastCollectives) {
  World world(2);
  const std::string path = testing::TempDir() + "/flight-" + std::to_string(getpid()) + ".json";
  world.run_with([&](int rank, cnuasccl_comm_t comm) {
    configure(comm, [](cnuasccl_config& config) { config.flight_entries = 3; });
    std::vector<std::int64_t> data(10, 1);
    for (int i = 0; i < 4; ++i)
      EXPECT_OK(cnuasccl_all_reduce(comm, data.data(), data.data(), 10, CNUASCCL_INT64, CNUASCCL_MAX));
    EXPECT_OK(cnuasccl_broadcast(comm, data.data(), data.data(), 10, CNUASCCL_INT64, 1));
    EXPECT_OK(cnuasccl_barrier(comm));
    if (rank == 1) return;
    configure(comm, [](cnuasccl_config& config) {
      config.flight_entries = 3;
      config.timeout_ns = 100'000'000;
    });
    EXPECT_EQ(cnuasccl_barrier(comm), CNUASCCL_TIMEOUT);
    EXPECT_EQ(cnuasccl_flight_dump(comm, "/nowhere/at/all"), CNUASCCL_SYSTEM);
    EXPECT_EQ(cnuasccl_flight_dump(comm, nullptr), CNUASCCL_INVALID_ARGUMENT);
    EXPECT_OK(cnuasccl_flight_dump(comm, path.c_str()));
    std::ifstream file(path);
    const nlohmann::json json = nlohmann::json::parse(file, nullptr, false);
    ASSERT_FALSE(json.is_discarded());
    EXPECT_EQ(json["schema"], "cnuasccl.flight/1");
    EXPECT_EQ(json["rank"], 0);
    EXPECT_EQ(json["n_ranks"], 2);
    EXPECT_EQ(json["comm_id"], cnuasccl_comm_id(comm));
    EXPECT_EQ(json["gpus"], (std::vector<std::string>{"1/6", "1/3"}));
    EXPECT_EQ(json["carrier"], "inproc");
    EXPECT_EQ(json["collectives"], 7);
    ASSERT_EQ(json["entries"].size(), 3u);
    const nlohmann::json& broadcast = json["entries"][0];
    EXPECT_EQ(broadcast["sequence"], 4);
    EXPECT_EQ(broadcast["collective"], "broadcast");
    EXPECT_EQ(broadcast["count"], 10);
    EXPECT_EQ(broadcast["type"], "int64");
    EXPECT_EQ(broadcast["root"], 1);
    EXPECT_EQ(broadcast["operator"], nullptr);
    EXPECT_EQ(broadcast["state"], "done");
    EXPECT_EQ(broadcast["in_place"], false) << "only its root's two buffers are the same";
    const nlohmann::json& last = json["entries"][2];
    EXPECT_EQ(last["state"], "failed");
    EXPECT_EQ(last["status"], "CNUASCCL_TIMEOUT");
    EXPECT_EQ(last["culprit"], 1);
    EXPECT_THAT(last["error"].get<std::string>(), HasSubstr("receiving"));
  });
  unlink(path.c_str());
}

}  // namespace
}  // namespace cnuas::live::collectives
