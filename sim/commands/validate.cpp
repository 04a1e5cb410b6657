#include "scenarios/loader.h"
#include "sim/commands/choice.h"
#include "sim/commands/command.h"

#include <CLI/CLI.hpp>
#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace cnuas::sim {

namespace {

struct ValidateArguments {
  std::vector<std::string> scenarios;
  bool json = false;
};

std::size_t results_of(const Workload& workload) {
  std::size_t count = 0;
  for (const WorkItem& item : workload.items) {
    const auto* measurement = std::get_if<Measurement>(&item);
    count += measurement ? measurement->calls.size() : 1;
  }
  return count;
}

nlohmann::ordered_json entry(const scenarios::Diagnostic& each) {
  return {{"severity", each.severity == scenarios::Severity::error ? "error" : "warning"},
          {"file", each.file},
          {"line", each.line},
          {"column", each.column},
          {"message", each.message},
          {"help", each.help}};
}

int validate_all(const ValidateArguments& arguments) {
  int status = kSuccess;
  nlohmann::ordered_json document = {{"schema", "cnuas.validate/1"},
                                     {"files", nlohmann::ordered_json::array()}};
  for (const std::string& path : arguments.scenarios) {
    const scenarios::FileResult file = scenarios::load_file(path);
    if (!file.io_error.empty()) {
      print_error(file.io_error);
      status = std::max(status, static_cast<int>(kInputOutput));
    }
    nlohmann::ordered_json diagnostics = nlohmann::ordered_json::array();
    for (const scenarios::Diagnostic& each : file.load.diagnostics) {
      if (arguments.json) {
        diagnostics.push_back(entry(each));
      } else {
        fmt::print(stderr, "{}", scenarios::format(each));
      }
    }
    if (file.load.scenario && !arguments.json) {
      fmt::print("{}: ok: {} GPUs, {} switches, {} runs\n", path, file.load.scenario->fabric.gpus.size(),
                 file.load.scenario->fabric.switches.size(), results_of(file.load.scenario->workload));
    }
    if (!file.load.scenario && file.io_error.empty())
      status = std::max(status, static_cast<int>(kBadScenario));
    document["files"].push_back({{"file", path},
                                 {"ok", file.load.scenario.has_value()},
                                 {"io_error", file.io_error},
                                 {"diagnostics", std::move(diagnostics)}});
  }
  if (arguments.json) {
    const std::string text =
        document.dump(2, ' ', false, nlohmann::ordered_json::error_handler_t::replace) + "\n";
    const int written = write_output("", text);
    if (written != kSuccess) return written;
  }
  return status;
}

}  // namespace

void add_validate(CLI::App& app, int& status) {
  auto arguments = std::make_shared<ValidateArguments>();
  CLI::App* command = app.add_subcommand("validate", "Check scenario files without running them");
  command->add_option("scenarios", arguments->scenarios, "Scenario files (YAML)")
      ->required()
      ->type_name("FILE");
  add_table_or_json(*command, arguments->json);
  command->footer("Example:\n  cnuas-sim validate scenarios/*.yaml");
  command->callback([arguments, &status] { status = validate_all(*arguments); });
}

}  // namespace cnuas::sim
