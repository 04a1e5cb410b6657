#include "scenarios/schema.h"

#include "sim/commands/command.h"

#include <CLI/CLI.hpp>

namespace cnuas::sim {

void add_schema(CLI::App& app, int& status) {
  auto output = std::make_shared<std::string>();
  CLI::App* command = app.add_subcommand("schema", "Print the JSON Schema of scenario files, for editors");
  command->add_option("-o,--output", *output, "Write to this file instead of standard output")
      ->type_name("FILE");
  command->footer("Example:\n  cnuas-sim schema -o scenario.schema.json");
  command->callback([output, &status] { status = write_output(*output, scenarios::json_schema()); });
}

}  // namespace cnuas::sim
