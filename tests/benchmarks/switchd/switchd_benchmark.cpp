// The switch daemon on real sockets, between a sender and a receiver, against a bare relay and vde_switch.
//
//   switchd_benchmark [--quick] [--check] > result.json
//
// Three processes on the few processors of a machine that others use measure the others. --realtime leaves
// them no say; without it, what they took is in the result, and each measurement waits a while for a pause.

#include "live/posix/os_error.h"
#include "tests/benchmarks/switchd/report.h"
#include "tests/switchd/daemon_process.h"

#include <cstdio>
#include <cstdlib>
#include <sstream>
#include <string>

#include <CLI/CLI.hpp>
#include <sched.h>
#include <unistd.h>

namespace {

using namespace cnuas;

// Empty when PATH has none.
std::string find_program(const std::string& name) {
  const char* path = std::getenv("PATH");
  std::istringstream folders(path == nullptr ? "" : path);
  for (std::string folder; std::getline(folders, folder, ':');) {
    const std::string candidate = folder + "/" + name;
    if (::access(candidate.c_str(), X_OK) == 0) return candidate;
  }
  return {};
}

// For this process and those that it starts.
bool go_before_others() {
  sched_param lowest{};
  lowest.sched_priority = ::sched_get_priority_min(SCHED_FIFO);
  return ::sched_setscheduler(0, SCHED_FIFO, &lowest) == 0;
}

}  // namespace

int main(int argc, char** argv) {
  benchmark::Plan plan;
  plan.daemon = test::switchd_path();
  bool quick = false;
  bool check = false;
  bool realtime = false;
  CLI::App app("Measures the switch daemon against a bare relay and vde_switch; prints JSON");
  app.add_option("--daemon", plan.daemon, "The daemon's program");
  auto* sizes = app.add_option("--sizes", plan.sizes, "Whole frames, in bytes")
                    ->delimiter(',')
                    ->check(CLI::Range(20, 65'536));
  auto* rounds =
      app.add_option("--rounds", plan.rounds, "How often each is measured")->check(CLI::Range(1, 1000));
  auto* seconds = app.add_option("--seconds", plan.seconds, "How long each measurement takes")
                      ->check(CLI::Range(0.01, 600.0));
  app.add_option("--patience", plan.patience_s,
                 "Seconds that each measurement waits for the machine's other work to pause")
      ->check(CLI::Range(0.0, 3600.0));
  app.add_flag(
      "--realtime", realtime,
      "Go before the machine's other work (SCHED_FIFO, needs root), which has to stand still meanwhile");
  app.add_flag("--quick", quick, "Short, for a first look: 3 rounds of 0.1 s, three sizes");
  app.add_flag("--check", check, "Exit with 1 when a bar is missed");
  CLI11_PARSE(app, argc, argv);
  if (quick) {
    if (sizes->count() == 0) plan.sizes = {64, 4096, 61440};
    if (rounds->count() == 0) plan.rounds = 3;
    if (seconds->count() == 0) plan.seconds = 0.1;
  }
  if (realtime) {
    if (!go_before_others()) {
      std::fprintf(stderr, "switchd_benchmark: error: --realtime is not permitted\n");
      return 77;
    }
    plan.patience_s = 0;
    plan.scheduling = "fifo";
  }
  plan.vde_switch = find_program("vde_switch");

  const auto report = benchmark::run(plan);
  if (!report) {
    std::fprintf(stderr, "switchd_benchmark: error: %s\n", live::to_string(report.error()).c_str());
    return 70;
  }
  std::printf("%s\n", report->dump(2).c_str());
  return check && !(*report)["met"].get<bool>() ? 1 : 0;
}
