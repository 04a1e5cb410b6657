// cnuasccl-perf as its users run it: a process for each rank, over a real switch.
#include "live/ccl/cnuasccl.h"
#include "tests/cnuasccl_perf/temporary_folder.h"
#include "tests/slow_build.h"
#include "tests/switchd/child_process.h"
#include "tests/switchd/daemon_process.h"

#include <csignal>
#include <filesystem>
#include <fstream>
#include <set>
#include <sstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

namespace cnuas::test {
namespace {

using nlohmann::json;
using testing::HasSubstr;

constexpr const char* kProgram = CNUAS_BINARY_DIR "/bin/cnuasccl-perf";

class PerfProgram : public testing::Test {
 protected:
  void SetUp() override { std::filesystem::create_directory(temporary()); }
  void TearDown() override {
    EXPECT_TRUE(std::filesystem::is_empty(temporary())) << "something is left in the temporary folder";
  }

  std::string temporary() const { return folder_ / "t"; }

  ChildProcess start(const std::string& arguments) {
    ProgramSettings settings;
    settings.command = {kProgram, "--json", folder_ / "out.json"};
    std::istringstream words(arguments);
    for (std::string word; words >> word;)
      settings.command.push_back(word);
    settings.environment = {"TMPDIR=" + temporary()};
    settings.output_file = folder_ / "out";
    settings.error_file = folder_ / "err";
    Result<ChildProcess> process = ChildProcess::start(settings);
    EXPECT_TRUE(process) << process.error().message;
    return process ? std::move(*process) : ChildProcess();
  }

  int run(const std::string& arguments) {
    return start(arguments).wait(std::chrono::minutes(5)).value_or(-1);
  }

  json results() const { return json::parse(text_of(folder_ / "out.json"), nullptr, false); }
  std::string output() const { return text_of(folder_ / "out"); }
  std::string errors() const { return text_of(folder_ / "err"); }

  // Runs, and expects `rows` results that are all right.
  void expect_right(const std::string& arguments, std::size_t rows) {
    std::filesystem::remove(folder_ / "out.json");
    ASSERT_EQ(run(arguments), 0) << arguments << "\n" << errors();
    const json all = results();
    ASSERT_FALSE(all.is_discarded());
    EXPECT_EQ(all["schema"], "cnuasccl.perf/1");
    EXPECT_EQ(all["results"].size(), rows) << arguments;
    for (const json& row : all["results"]) {
      for (const char* side : {"out_of_place", "in_place"}) {
        EXPECT_EQ(row[side]["nwrong"], 0) << arguments << " " << row;
        EXPECT_GT(row[side]["time"], 0) << row;
      }
    }
  }

  // Processes that a process has started.
  static std::vector<pid_t> children_of(pid_t pid) {
    const std::string number = std::to_string(pid);
    std::ifstream file("/proc/" + number + "/task/" + number + "/children");
    std::vector<pid_t> children;
    for (pid_t child = 0; file >> child;)
      children.push_back(child);
    return children;
  }

  // Waits until a run that never ends by itself is under way, and returns its switch and its ranks.
  std::vector<pid_t> under_way(ChildProcess& process, std::size_t ranks) {
    EXPECT_TRUE(eventually([&] { return output().find("\n# all_reduce") != std::string::npos; })) << errors();
    std::vector<pid_t> children = children_of(process.pid());
    EXPECT_EQ(children.size(), ranks + 1);
    return children;
  }

  static bool gone(pid_t pid) { return ::kill(pid, 0) != 0; }

  TemporaryFolder folder_;
};

TEST_F(PerfProgram, TwoRanksAcrossTheBordersOfChunks) {
  // A first chunk has 61,360 bytes of data and the next 61,384.
  for (const char* size : {"4", "61356", "61360", "61364", "122744", "122748"})
    expect_right(std::string("all --ranks 2 -n 1 -w 0 -b ") + size + " -e " + size, 5);
}

TEST_F(PerfProgram, FourRanksOfEveryTypeAndOperator) {
  expect_right("all_reduce --ranks 4 -n 1 -w 0 -d all -o all -b 4K -e 4K", 8 * 4);
}

TEST_F(PerfProgram, FourRanksOfMoreThanAWindow) {
  expect_right("all --ranks 4 -n 1 -w 0 -d double -o prod -b 5M -e 5M", 5);
}

TEST_F(PerfProgram, EightRanksOfEveryCollective) {
  expect_right("all --ranks 8 -n 1 -w 0 -b 200 -e 200000 -f 1000 -d int64 -o max", 5 * 2);
}

TEST_F(PerfProgram, EveryRootAndEveryAlgorithmOfABroadcast) {
  expect_right("broadcast --ranks 3 -n 1 -w 0 -r all -b 100000 -e 100000 --algorithm tree", 3);
  EXPECT_EQ(results()["results"][2]["root"], 2);
  EXPECT_EQ(results()["results"][2]["algorithm"], "tree");
}

// Processes over a switch: every collective, algorithm, type and operator.
TEST_F(PerfProgram, EveryAlgorithmTypeAndOperator) {
  constexpr std::size_t kRows = (4 + 4 + 3) * 8;  // reductions have four operators
  for (int number = CNUASCCL_RING; number <= CNUASCCL_BRUCK; ++number) {
    const std::string name = cnuasccl_algorithm_name(static_cast<cnuasccl_algorithm_t>(number));
    for (const int ranks : kSlowBuild ? std::vector{3} : std::vector{2, 3, 8})
      expect_right("all -d all -o all -n 1 -w 0 -b 480 -e 480 --any-order --algorithm " + name + " --ranks " +
                       std::to_string(ranks),
                   kRows);
  }
}

TEST_F(PerfProgram, AnyOrderIsAllowedWhenAskedFor) {
  EXPECT_EQ(run("all_reduce --ranks 4 -n 1 -b 4K -e 4K --algorithm ring"), 2);
  EXPECT_THAT(errors(), HasSubstr("ring"));
  expect_right("all_reduce --ranks 4 -n 1 -b 4K -e 4K --algorithm ring --any-order", 1);
}

TEST_F(PerfProgram, RanksAsThreads) {
  expect_right("all --ranks 5 --transport inproc -n 2 -b 4K -e 64K -f 4", 5 * 3);
  EXPECT_EQ(results()["results"][0]["transport"], "inproc");
}

TEST_F(PerfProgram, TakesTheCommandsOfNcclTests) {
  expect_right("all_reduce -b 8 -e 128 -f 4 -t 1 -g 2 -n 2 -w 1 -c 3 -T 30 -N 2 -z 0 -m 1", 3 * 2);
  EXPECT_EQ(results()["ranks"], 2);
  EXPECT_THAT(errors(), HasSubstr("note: -z,--blocking has no meaning here"));
  EXPECT_THAT(output(), HasSubstr("# Out of bounds values : 0 OK\n# Avg bus bandwidth    : "));
  expect_right("broadcast -b 8 -e 8 -t 3 -n 2 --transport inproc", 1);
  EXPECT_EQ(results()["ranks"], 3);
  std::filesystem::remove(folder_ / "out");
  EXPECT_EQ(run("all_reduce -b 8 -e 8 -n 1 -c 0"), 0);
  EXPECT_TRUE(results()["results"][0]["in_place"]["nwrong"].is_null());
  EXPECT_THAT(output(), testing::Not(HasSubstr("Out of bounds")));
}

TEST_F(PerfProgram, OneRank) {
  expect_right("all --ranks 1 -n 1 -b 4K -e 4K", 5);
}

TEST_F(PerfProgram, UsesASwitchThatRuns) {
  DaemonSettings settings;
  settings.run_dir = folder_ / "switch";
  settings.log_file = folder_ / "log";
  Result<DaemonProcess> daemon = DaemonProcess::start(settings);
  ASSERT_TRUE(daemon) << daemon.error().message;
  expect_right("all_gather --ranks 2 -n 1 -b 64K -e 64K --first-port 3 --run-dir " + settings.run_dir, 1);
  EXPECT_TRUE(daemon->process().running());
}

TEST_F(PerfProgram, RanksAreTheGpusThatTheSwitchExpects) {
  DaemonSettings settings;
  settings.run_dir = folder_ / "switch";
  settings.log_file = folder_ / "log";
  settings.arguments = {"--config", CNUAS_SOURCE_DIR "/scenarios/two-racks.yaml", "--rack", "2"};
  Result<DaemonProcess> daemon = DaemonProcess::start(settings);
  ASSERT_TRUE(daemon) << daemon.error().message;
  const std::string arguments = "all_gather --ranks 2 -n 1 -b 4K -e 4K --run-dir " + settings.run_dir;
  expect_right(arguments, 1);
  expect_right(arguments + " --rack 2", 1);
  EXPECT_EQ(run(arguments + " --rack 1"), 4);
  EXPECT_THAT(errors(), HasSubstr("2/0"));
}

// Two switches and the link between them, each rank a process.
TEST_F(PerfProgram, RanksOfTwoRacks) {
  expect_right("all --ranks 9 -n 1 -w 0 -b 200 -e 200000 -f 1000 -d int64 -o sum", 5 * 2);
  expect_right("all_reduce --ranks 16 -n 1 -w 0 -b 4K -e 1M -f 256 -d float -o sum", 2);
  expect_right("all_reduce --ranks 4 --first-port 6 -n 1 -w 0 -b 4K -e 4K --algorithm chain", 1);
  EXPECT_EQ(run("all_reduce --ranks 16 -n 1 -w 0 -b 64K -e 64K --algorithm ring --any-order"), 0) << errors();
}

TEST_F(PerfProgram, SwitchesThatRunAndAreLinked) {
  std::vector<DaemonProcess> daemons;
  for (const char* rack : {"1", "2"}) {
    DaemonSettings settings;
    settings.run_dir = folder_ / ("rack" + std::string(rack));
    settings.log_file = folder_ / "log";
    settings.arguments = {"--config", CNUAS_SOURCE_DIR "/scenarios/two-racks.yaml", "--rack", rack};
    if (!daemons.empty())
      settings.arguments.insert(settings.arguments.end(),
                                {"--uplink", daemons[0].run_dir() + "/port_8.sock"});
    Result<DaemonProcess> daemon = DaemonProcess::start(settings);
    ASSERT_TRUE(daemon) << daemon.error().message;
    daemons.push_back(std::move(*daemon));
  }
  const std::string both = " --run-dir " + daemons[0].run_dir() + " --run-dir " + daemons[1].run_dir();
  expect_right("all --ranks 2 --first-port 7 -n 1 -b 64K -e 64K" + both, 5);
  daemons.erase(daemons.begin());  // and now they are not
  EXPECT_EQ(run("all_reduce --ranks 2 --first-port 7 -b 4K -e 4K" + both), 4);
}

TEST_F(PerfProgram, SaysThatThereIsNoSwitch) {
  EXPECT_EQ(run("all_gather --ranks 2 -b 4K -e 4K --run-dir " + (folder_ / "none")), 4);
  EXPECT_THAT(errors(), HasSubstr("none/port_0.sock"));
}

TEST_F(PerfProgram, RefusesWhatItCannotDo) {
  const std::pair<const char*, const char*> cases[] = {
      {"all_reduce --transport shm", "not available in this version"},
      {"all_reduce --ranks 17", "2 switches have ports for 16 ranks"},
      {"all_reduce --ranks 6 --first-port 6", "2 switches have ports for 4 ranks"},
      {"all_reduce --ranks 9 --run-dir x", "a switch has ports for 8 ranks"},
      {"all_reduce --ranks 2 --run-dir x --run-dir y --rack 1", "--rack: is for the one switch"},
      {"all_reduce -t 9 -g 9", "that makes 81 ranks"},
      {"all_reduce --ranks 2 -g 2", "--ranks"},
      {"all_reduce --rack 2", "--rack: is for the one switch at --run-dir"},
      {"all_reduce -b 8 -e 4", "-b is more than -e"},
      {"all_reduce -b 0 -e 4 -f 2", "0 bytes times"},
      {"all_reduce -b 1X", "'1X' is no size"},
      {"broadcast -r 2 --ranks 2", "there is no rank 2"},
      {"all_reduce --algorithm best", "there is no 'best'"},
      {"all_reduce --algorithm bruck -b 8 -e 8", "has no algorithm 'bruck'"},
      {"everything", "everything"},
  };
  for (const auto& [arguments, says] : cases) {
    std::filesystem::remove(folder_ / "err");
    EXPECT_EQ(run(arguments), 2) << arguments;
    EXPECT_THAT(errors(), HasSubstr(says)) << arguments;
  }
}

TEST_F(PerfProgram, LeavesNothingBehindWhenInterrupted) {
  for (const int signal : {SIGINT, SIGTERM}) {
    std::filesystem::remove(folder_ / "out");
    ChildProcess process = start("all_reduce --ranks 3 -b 256K -e 288K -i 4 -n 20");
    const std::vector<pid_t> children = under_way(process, 3);
    process.signal(signal);
    EXPECT_EQ(process.wait(), 4);
    for (const pid_t child : children)
      EXPECT_TRUE(gone(child)) << child;
    EXPECT_THAT(errors(), HasSubstr("interrupted"));
  }
}

TEST_F(PerfProgram, LeavesNoProcessBehindWhenKilled) {
  ChildProcess process = start("all_reduce --ranks 3 -b 256K -e 288K -i 4 -n 20");
  const std::vector<pid_t> children = under_way(process, 3);
  process.kill();
  for (const pid_t child : children)
    EXPECT_TRUE(eventually([&] { return gone(child); })) << child;
  std::filesystem::remove_all(temporary());  // nobody is left to do that
  std::filesystem::create_directory(temporary());
}

TEST_F(PerfProgram, EndsWhenARankDies) {
  ChildProcess process = start("all_reduce --ranks 3 -b 256K -e 288K -i 4 -n 20");
  const std::vector<pid_t> children = under_way(process, 3);
  ASSERT_EQ(children.size(), 4u);
  ::kill(children.back(), SIGKILL);
  EXPECT_EQ(process.wait(), 4);
  EXPECT_THAT(errors(), HasSubstr("rank 2 was ended by signal 9"));
  for (const pid_t child : children)
    EXPECT_TRUE(gone(child)) << child;
}

TEST_F(PerfProgram, EndsWhenTheSwitchDies) {
  ChildProcess process = start("all_reduce --ranks 3 -b 256K -e 288K -i 4 -n 20");
  const std::vector<pid_t> children = under_way(process, 3);
  ASSERT_FALSE(children.empty());
  ::kill(children.front(), SIGKILL);
  EXPECT_EQ(process.wait(), 4);
  EXPECT_THAT(errors(), HasSubstr("the link 'cnuaslink' failed"));
}

}  // namespace
}  // namespace cnuas::test
