// cnuas-sim: runs GPU fabric scenarios in virtual time.

#include "sim/commands/command.h"
#include "sim/report/report.h"
#include "sim/simgrid/kernel.h"

#include <csignal>
#include <cstdio>
#include <exception>

#include <CLI/CLI.hpp>
#include <fmt/format.h>

namespace {

constexpr const char* kExamples =
    "cnuas-sim runs GPU fabric scenarios in virtual time.\n\n"
    "  cnuas-sim run scenarios/two-racks.yaml               what each collective takes, as a table\n"
    "  cnuas-sim schedule print all_reduce ring --ranks 4   who sends what to whom\n\n"
    "cnuas-sim --help lists all commands.\n";

int run_command_line(int argc, char** argv) {
  cnuas::sim::CommandLine words(argv, argv + argc);
  if (!words.empty()) words[0] = "cnuas-sim";
  int status = cnuas::sim::kSuccess;

  CLI::App app("Runs GPU fabric scenarios in virtual time", "cnuas-sim");
  app.set_version_flag("--version",
                       fmt::format("cnuas-sim {} ({}), SimGrid {}", cnuas::sim::program_version(),
                                   cnuas::sim::program_commit(), cnuas::sim::kernel_info().version));
  app.require_subcommand(1);
  app.footer(
      "Exit codes: 0 well, 1 a check failed, 2 usage, 3 bad scenario, 4 input or output, 70 internal error.");
  cnuas::sim::add_run(app, words, status);
  cnuas::sim::add_validate(app, status);
  cnuas::sim::add_inspect(app, status);
  cnuas::sim::add_graph(app, status);
  cnuas::sim::add_schedule(app, status);
  cnuas::sim::add_schema(app, status);
  if (argc <= 1) {
    fmt::print("{}", kExamples);
    return cnuas::sim::kSuccess;
  }
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? cnuas::sim::kSuccess : cnuas::sim::kUsage;
  }
  return status;
}

}  // namespace

int main(int argc, char** argv) {
  std::signal(SIGPIPE,
              SIG_IGN);  // a closed pipe ("| head") is a write error to report, not a signal to die from
  try {
    return run_command_line(argc, argv);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "internal error: %s\n", error.what());
    return cnuas::sim::kInternal;
  }
}
