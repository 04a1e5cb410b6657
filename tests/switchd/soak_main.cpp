// Runs daemons under churn, faults and restarts, and says whether all went well.
//
//   switchd_soak --minutes 60 --seed 7

#include "live/posix/os_error.h"
#include "tests/switchd/daemon_process.h"
#include "tests/switchd/soak.h"

#include <cstdio>

#include <CLI/CLI.hpp>

int main(int argc, char** argv) {
  using namespace cnuas;
  test::SoakPlan plan;
  plan.daemon = test::switchd_path();
  double minutes = 5;
  double life_s = 10;
  CLI::App app(
      "Runs switch daemons under traffic, faults and restarts; prints JSON, exits with 1 after a fault");
  app.add_option("--daemon", plan.daemon, "The daemon's program");
  app.add_option("--minutes", minutes, "How long")->check(CLI::Range(0.0, 100'000.0))->capture_default_str();
  app.add_option("--life", life_s, "Seconds between restarts")
      ->check(CLI::Range(0.1, 100'000.0))
      ->capture_default_str();
  app.add_option("--seed", plan.seed, "Of the order of things")->capture_default_str();
  CLI11_PARSE(app, argc, argv);
  plan.length = std::chrono::duration<double>(minutes * 60);
  plan.life = std::chrono::duration<double>(life_s);

  test::Soak soak(plan);
  const Result<void> ran = soak.run();
  std::printf("%s\n", soak.report().dump(2, ' ', false, nlohmann::json::error_handler_t::replace).c_str());
  if (!ran) {
    std::fprintf(stderr, "switchd_soak: error: %s\n", live::to_string(ran.error()).c_str());
    return 70;
  }
  return soak.well() ? 0 : 1;
}
