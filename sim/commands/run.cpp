#include "sim/child_process.h"
#include "sim/commands/checks.h"
#include "sim/commands/choice.h"
#include "sim/commands/command.h"
#include "sim/commands/progress.h"
#include "sim/report/report.h"
#include "sim/simulator.h"

#include <CLI/CLI.hpp>
#include <fmt/format.h>

namespace cnuas::sim {

namespace {

struct RunArguments {
  std::string scenario;
  std::string output;
  Format format = Format::table;
  bool check_model = false;
  bool check_determinism = false;
  bool simgrid_flows = false;
  bool check_data = false;
  bool ports = false;
  bool quiet = false;
};

// Only frames pass a switch. False, with a message and `status`, where there is nothing to be shown.
bool can_show_ports(const scenarios::Scenario& scenario, const RunArguments& arguments, int& status) {
  if (arguments.format == Format::csv) {
    print_error("--ports has no place in CSV, which has a line a result; use --format table or json");
    status = kUsage;
    return false;
  }
  if (scenarios::fidelity_of(scenario) == Fidelity::frame) return true;
  print_error("--ports: nothing passes a switch in fluid fidelity; write 'fidelity: frame' into " +
              arguments.scenario);
  status = kBadScenario;
  return false;
}

void print_failure(const Error& error) {
  print_error(error.where.empty() ? error.message : error.where + ": " + error.message);
}

// A simulation can run once per process, and a second run in the same process could hide what the first left
// behind: so the second opinion comes from a child.
Result<std::string> run_in_child(const scenarios::Scenario& scenario, const RunArguments& arguments,
                                 const Provenance& provenance) {
  return in_child_process([&]() -> std::string {
    const Result<RunResult> result =
        simulate(scenario, {arguments.simgrid_flows, arguments.check_data}, [](const Progress&) {});
    return result ? report(scenario, *result, provenance, Format::json) : result.error().message;
  });
}

// The first line in which two texts differ, for the message.
std::string first_difference(const std::string& a, const std::string& b) {
  std::size_t at = 0;
  while (at < a.size() && at < b.size() && a[at] == b[at])
    ++at;
  const auto line_of = [at](const std::string& text) {
    const std::size_t begin = at == 0 ? 0 : text.rfind('\n', at - 1) + 1;
    return text.substr(begin, text.find('\n', at) - begin);
  };
  return fmt::format("first: {}\nsecond: {}", line_of(a), line_of(b));
}

int run(const RunArguments& arguments, const CommandLine& words) {
  int status = kSuccess;
  const std::optional<scenarios::Scenario> scenario = load(arguments.scenario, status);
  if (!scenario) return status;
  if (arguments.ports && !can_show_ports(*scenario, arguments, status)) return status;
  const Provenance provenance{quoted(words)};
  Result<std::string> second;
  if (arguments.check_determinism) second = run_in_child(*scenario, arguments, provenance);

  Result<RunResult> result;
  {
    ProgressLine line(arguments.quiet);
    result = simulate(*scenario, {arguments.simgrid_flows, arguments.check_data},
                      [&](const Progress& progress) { line.update(progress); });
  }
  if (!result) {
    print_failure(result.error());
    return result.error().code == ErrorCode::mismatch ? kInternal : kBadScenario;
  }
  status = write_output(arguments.output,
                        report(*scenario, *result, provenance, arguments.format, arguments.ports));
  if (status != kSuccess) return status;

  bool passed = true;
  if (arguments.check_data) fmt::print(stderr, "data: every rank of every collective has the right result\n");
  if (arguments.check_model) {
    const CheckReport check = check_model(*result);
    fmt::print(stderr, "{}", check.text);
    fmt::print(stderr, "model: {}\n", check.passed ? "every result agrees" : "at least one result is off");
    passed = check.passed;
  }
  if (arguments.check_determinism) {
    const std::string first = report(*scenario, *result, provenance, Format::json);
    if (!second) {
      print_error("the second run failed: " + second.error().message);
      passed = false;
    } else if (first == *second) {
      fmt::print(stderr, "determinism: two runs gave the same {} bytes\n", first.size());
    } else {
      fmt::print(stderr, "determinism: two runs differ\n{}\n", first_difference(first, *second));
      passed = false;
    }
  }
  return passed ? kSuccess : kCheckFailed;
}

}  // namespace

void add_run(CLI::App& app, const CommandLine& words, int& status) {
  auto arguments = std::make_shared<RunArguments>();
  CLI::App* command = app.add_subcommand("run", "Run a scenario and print what it took");
  command->add_option("scenario", arguments->scenario, "Scenario file (YAML)")->required()->type_name("FILE");
  add_choice(*command, "--format", arguments->format,
             {{"table", Format::table}, {"json", Format::json}, {"csv", Format::csv}},
             "How the results are written");
  command
      ->add_option("-o,--output", arguments->output,
                   "Write the results to this file instead of standard output")
      ->type_name("FILE");
  command->add_flag("--check-model", arguments->check_model,
                    "Hold each result against its closed form; exit with 1 when one is off");
  command->add_flag("--check-determinism", arguments->check_determinism,
                    "Run twice and compare the results byte by byte; exit with 1 when they differ");
  command->add_flag("--check-data", arguments->check_data,
                    "Carry real data, fold it, and hold every rank's result against the definition");
  command->add_flag("--simgrid-flows", arguments->simgrid_flows,
                    "Give every flow to SimGrid instead of the core's own sharing: slower; times agree to a "
                    "nanosecond, but those of trees only to 1.3 %");
  command->add_flag("--ports", arguments->ports,
                    "Add what each port of each switch has counted; frame fidelity only");
  command->add_flag("-q,--quiet", arguments->quiet, "No progress line");
  command->footer(
      "Example:\n  cnuas-sim run scenarios/two-racks.yaml --format json -o result.json --check-model");
  command->callback([arguments, &words, &status] { status = run(*arguments, words); });
}

}  // namespace cnuas::sim
