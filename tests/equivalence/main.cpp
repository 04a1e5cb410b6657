// cnuas-equivalence: one script through the simulator and through real switch daemons, and what differs.
#include "scenarios/loader.h"
#include "tests/equivalence/random_script.h"
#include "tests/equivalence/report.h"
#include "tests/equivalence/script_reader.h"

#include <chrono>
#include <csignal>
#include <cstdio>
#include <exception>
#include <filesystem>
#include <optional>

#include <CLI/CLI.hpp>
#include <fmt/format.h>
#include <unistd.h>

namespace {

using namespace cnuas;
using namespace cnuas::equivalence;

enum ExitCode : int {
  kSame = 0,
  kDifferent = 1,
  kUsage = 2,
  kBadScript = 3,
  kInputOutput = 4,
  kInternal = 70,
};

constexpr const char* kFooter =
    "Examples:\n"
    "  cnuas-equivalence tests/equivalence/scripts/one-rack.yaml\n"
    "  cnuas-equivalence --random 5 --seed 42 --fabric scenarios/two-racks.yaml\n"
    "Exit codes: 0 the same, 1 different, 2 usage, 3 bad script or fabric, 4 input or output, 70 internal "
    "error.";

struct Arguments {
  std::vector<std::string> scripts;
  std::string daemon;
  std::string format = "table";
  unsigned patience_s = 30;
  unsigned random = 0;
  std::uint64_t seed = 1;
  std::size_t steps = 60;
  std::string fabric;
  bool show = false;
};

std::string beside_this_program() {
  std::error_code error;
  const std::filesystem::path self = std::filesystem::read_symlink("/proc/self/exe", error);
  return (self.parent_path() / "cnuasgpu-link-switchd").string();
}

void print_diagnostics(const std::vector<scenarios::Diagnostic>& diagnostics) {
  for (const scenarios::Diagnostic& each : diagnostics)
    fmt::print(stderr, "{}", scenarios::format(each));
}

struct Job {
  Script script;
  std::string repeat;
};

int read_scripts(const Arguments& arguments, std::vector<Job>& jobs) {
  int status = kSame;
  for (const std::string& path : arguments.scripts) {
    ReadScript read = read_script_file(path);
    print_diagnostics(read.diagnostics);
    if (!read.io_error.empty()) {
      fmt::print(stderr, "error: {}\n", read.io_error);
      status = std::max<int>(status, kInputOutput);
    } else if (!read.script) {
      status = std::max<int>(status, kBadScript);
    } else {
      jobs.push_back({std::move(*read.script), "cnuas-equivalence " + path});
    }
  }
  return status;
}

int draw_scripts(const Arguments& arguments, std::vector<Job>& jobs) {
  scenarios::FileResult file = scenarios::load_file(arguments.fabric);
  print_diagnostics(file.load.diagnostics);
  if (!file.io_error.empty()) {
    fmt::print(stderr, "error: {}\n", file.io_error);
    return kInputOutput;
  }
  if (!file.load.scenario) return kBadScript;
  if (const std::string reason = why_not(file.load.scenario->fabric); !reason.empty()) {
    fmt::print(stderr, "error: {}: {}\n", arguments.fabric, reason);
    return kBadScript;
  }
  const std::string path = std::filesystem::absolute(arguments.fabric).string();
  for (unsigned i = 0; i < arguments.random; ++i) {
    const std::uint64_t seed = arguments.seed + i;
    jobs.push_back({random_script(file.load.scenario->fabric, path, seed, arguments.steps),
                    fmt::format("cnuas-equivalence --random 1 --seed {} --steps {} --fabric {}", seed,
                                arguments.steps, arguments.fabric)});
  }
  return kSame;
}

int run(const Arguments& arguments, const std::vector<Job>& jobs) {
  LiveOptions options;
  options.daemon = arguments.daemon.empty() ? beside_this_program() : arguments.daemon;
  options.patience = std::chrono::seconds(arguments.patience_s);
  if (::access(options.daemon.c_str(), X_OK) != 0) {
    fmt::print(stderr, "error: there is no daemon at {}; say with --daemon where it is\n", options.daemon);
    return kInputOutput;
  }
  int status = kSame;
  std::vector<Row> rows;
  for (const Job& job : jobs) {
    Row row;
    row.script = &job.script;
    row.repeat = job.repeat;
    Result<Verdict> verdict = compare_sides(job.script, options);
    if (verdict) {
      row.verdict = std::move(*verdict);
      if (!row.verdict.same()) status = std::max<int>(status, kDifferent);
    } else {
      const Error& error = verdict.error();
      row.failure = error.where.empty() ? error.message : error.where + ": " + error.message;
      // A side that breaks its promises is a difference; one that cannot be run is not.
      status = std::max<int>(status, error.code == ErrorCode::io ? kInputOutput : kDifferent);
    }
    rows.push_back(std::move(row));
  }
  fmt::print("{}", arguments.format == "json" ? json(rows) : table(rows));
  if (std::fflush(stdout) != 0) return kInputOutput;
  return status;
}

int run_command_line(int argc, char** argv) {
  Arguments arguments;
  CLI::App app(
      "Sends the same frames through the simulator and through real switch daemons, step by step, and "
      "compares "
      "who got which frame, the tables and every counter but latency",
      "cnuas-equivalence");
  app.footer(kFooter);
  auto* scripts = app.add_option("scripts", arguments.scripts, "Scripts (YAML)")->type_name("SCRIPT");
  app.add_option("--daemon", arguments.daemon,
                 "The switch daemon. Default: cnuasgpu-link-switchd beside this program");
  app.add_option("--format", arguments.format, "Of the result")
      ->check(CLI::IsMember({"table", "json"}))
      ->capture_default_str();
  app.add_option("--patience", arguments.patience_s, "Seconds that the daemons may take to come to rest")
      ->check(CLI::Range(1u, 3600u))
      ->capture_default_str();
  auto* random =
      app.add_option("--random", arguments.random, "So many scripts drawn by chance, instead of files")
          ->check(CLI::Range(1u, 100'000u))
          ->excludes(scripts);
  app.add_option("--fabric", arguments.fabric, "Their fabric: a scenario file")->needs(random);
  app.add_option("--seed", arguments.seed, "Seed of the first; the others follow")
      ->needs(random)
      ->capture_default_str();
  app.add_option("--steps", arguments.steps, "Steps of each")
      ->needs(random)
      ->check(CLI::Range(1u, 10'000u))
      ->capture_default_str();
  app.add_flag("--show", arguments.show, "Print them as scripts, and run nothing")->needs(random);
  try {
    app.parse(argc, argv);
    if (arguments.random == 0 && arguments.scripts.empty()) throw CLI::RequiredError("SCRIPT or --random");
    if (arguments.random > 0 && arguments.fabric.empty()) throw CLI::RequiredError("--fabric");
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? kSame : kUsage;
  }
  std::vector<Job> jobs;
  const int status = arguments.random > 0 ? draw_scripts(arguments, jobs) : read_scripts(arguments, jobs);
  if (status != kSame) return status;
  if (!arguments.show) return run(arguments, jobs);
  for (const Job& job : jobs)
    fmt::print("{}{}", &job == &jobs.front() ? "" : "---\n", to_yaml(job.script));
  return kSame;
}

}  // namespace

int main(int argc, char** argv) {
  std::signal(SIGPIPE, SIG_IGN);
  try {
    return run_command_line(argc, argv);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "internal error: %s\n", error.what());
    return kInternal;
  }
}
