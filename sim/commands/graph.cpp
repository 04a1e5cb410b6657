#include "sim/graph/graph.h"

#include "sim/commands/choice.h"
#include "sim/commands/command.h"

#include <CLI/CLI.hpp>

namespace cnuas::sim {

namespace {

enum class Drawing { svg, dot, mermaid };

struct GraphArguments {
  std::string scenario;
  std::string output;
  Drawing format = Drawing::svg;
};

std::string draw(const scenarios::Scenario& scenario, Drawing format) {
  switch (format) {
    case Drawing::svg:
      return draw_svg(scenario.name, scenario.fabric);
    case Drawing::dot:
      return draw_dot(scenario.name, scenario.fabric);
    case Drawing::mermaid:
      return draw_mermaid(scenario.name, scenario.fabric);
  }
  return {};
}

int graph(const GraphArguments& arguments) {
  int status = kSuccess;
  const std::optional<scenarios::Scenario> scenario = load(arguments.scenario, status);
  if (!scenario) return status;
  return write_output(arguments.output, draw(*scenario, arguments.format));
}

}  // namespace

void add_graph(CLI::App& app, int& status) {
  auto arguments = std::make_shared<GraphArguments>();
  CLI::App* command = app.add_subcommand("graph", "Draw a scenario's fabric");
  command->add_option("scenario", arguments->scenario, "Scenario file (YAML)")->required()->type_name("FILE");
  add_choice(*command, "--format", arguments->format,
             {{"svg", Drawing::svg}, {"dot", Drawing::dot}, {"mermaid", Drawing::mermaid}},
             "svg (a picture of its own), dot (for Graphviz) or mermaid (for Markdown)");
  command->add_option("-o,--output", arguments->output, "Write to this file instead of standard output")
      ->type_name("FILE");
  command->footer("Example:\n  cnuas-sim graph scenarios/two-racks.yaml -o two-racks.svg");
  command->callback([arguments, &status] { status = graph(*arguments); });
}

}  // namespace cnuas::sim
