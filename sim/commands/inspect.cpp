#include "scenarios/source_text.h"
#include "sim/commands/choice.h"
#include "sim/commands/command.h"
#include "sim/commands/progress.h"
#include "sim/inspect/views.h"
#include "sim/report/ports.h"
#include "sim/simulator.h"

#include <functional>
#include <optional>

#include <CLI/CLI.hpp>
#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace cnuas::sim {

namespace {

using Json = nlohmann::ordered_json;

struct InspectArguments {
  std::string scenario;
  std::string from;
  std::string to;
  bool json = false;
  bool quiet = false;
};

int print(const InspectArguments& arguments, const scenarios::Scenario& scenario, const std::string& schema,
          const std::function<std::string()>& table, const std::function<Json()>& json) {
  if (!arguments.json) return write_output("", table());
  Json document = {{"schema", schema}, {"scenario", scenario.name}, {"scenario_sha256", scenario.sha256}};
  document.update(json());
  return write_output("", document.dump(2, ' ', false, Json::error_handler_t::replace) + "\n");
}

// --- What the file alone tells ---

int inspect_fabric(const InspectArguments& arguments) {
  int status = kSuccess;
  const auto scenario = load(arguments.scenario, status);
  if (!scenario) return status;
  return print(
      arguments, *scenario, "cnuas.fabric/1", [&] { return fabric_table(scenario->fabric); },
      [&] { return fabric_json(scenario->fabric); });
}

int inspect_topo(const InspectArguments& arguments) {
  int status = kSuccess;
  const auto scenario = load(arguments.scenario, status);
  if (!scenario) return status;
  const RouteTable routes(scenario->fabric);
  return print(
      arguments, *scenario, "cnuas.topo/1", [&] { return topo_table(routes); },
      [&] { return topo_json(routes); });
}

// Fills `found` when `text` is not empty; false, with a message, when it names no GPU of the fabric.
bool find_end(const Fabric& fabric, const std::string& option, const std::string& text,
              std::optional<GpuIndex>& found) {
  if (text.empty()) return true;
  const Result<GpuId> id = parse_gpu_id(text);
  const Result<GpuIndex> gpu = id ? find_gpu(fabric, *id) : Result<GpuIndex>(tl::unexpect, id.error());
  if (!gpu) {
    print_error(option + ": " + gpu.error().message);
    return false;
  }
  found = *gpu;
  return true;
}

int inspect_routes(const InspectArguments& arguments) {
  int status = kSuccess;
  const auto scenario = load(arguments.scenario, status);
  if (!scenario) return status;
  const Fabric& fabric = scenario->fabric;
  RouteSelection selection;
  if (!find_end(fabric, "--from", arguments.from, selection.from) ||
      !find_end(fabric, "--to", arguments.to, selection.to))
    return kUsage;
  if (selection.from && selection.from == selection.to) {
    print_error("--from and --to name the same GPU, and a GPU has no route to itself");
    return kUsage;
  }
  const std::size_t count = route_count(fabric, selection);
  if (count > kMostRoutes) {
    print_error(
        fmt::format("{} GPUs have {} routes, and at most {} are shown at once; name one end with "
                    "--from or --to",
                    fabric.gpus.size(), count, kMostRoutes));
    return kUsage;
  }
  const RouteTable routes(fabric);
  return print(
      arguments, *scenario, "cnuas.routes/1", [&] { return routes_table(routes, selection); },
      [&] { return routes_json(routes, selection); });
}

// --- What switches know after a run ---

// The last collective or step alone, in frames. Every run starts on an idle fabric, so that the switches
// end up as they would at the end of them all.
scenarios::Scenario last_run(scenarios::Scenario scenario) {
  std::vector<WorkItem>& items = scenario.workload.items;
  if (items.size() > 1) items.erase(items.begin(), items.end() - 1);
  for (WorkItem& item : items) {
    auto* measurement = std::get_if<Measurement>(&item);
    if (measurement && measurement->calls.size() > 1)
      measurement->calls.erase(measurement->calls.begin(), measurement->calls.end() - 1);
  }
  scenario.fidelity = Fidelity::frame;
  return scenario;
}

std::string what_ran(const RunResult& result) {
  if (!result.steps.empty()) return "step " + result.steps.back().name;
  if (result.collectives.empty()) return "the announcements of all GPUs";
  const CollectiveCall& call = result.collectives.back().call;
  return fmt::format("{} {} {} B", ccl::name(call.collective), ccl::name(call.algorithm), call.size_bytes);
}

// Why the run did not end, "" when it did: a fault may have taken what somebody waited for.
std::string what_is_missing(const RunResult& result) {
  for (const CollectiveResult& row : result.collectives)
    if (!row.incomplete.empty()) return row.incomplete;
  for (const TrafficResult& row : result.traffic)
    if (!row.incomplete.empty()) return row.incomplete;
  return "";
}

std::optional<RunResult> run_last(const scenarios::Scenario& scenario, bool quiet, int& status) {
  ProgressLine line(quiet);
  Result<RunResult> result = simulate(scenario, {}, [&](const Progress& progress) { line.update(progress); });
  if (!result) {
    const Error& error = result.error();
    print_error(error.where.empty() ? error.message : error.where + ": " + error.message);
    status = error.code == ErrorCode::mismatch ? kInternal : kBadScenario;
    return std::nullopt;
  }
  if (result->switches.empty()) {
    print_error("the scenario runs nothing, so its switches know nothing; add an item to 'workload'");
    status = kBadScenario;
    return std::nullopt;
  }
  return std::move(*result);
}

struct SwitchView {
  std::string schema;
  std::string (*table)(const Fabric&, const Switches&);
  Json (*json)(const Fabric&, const Switches&);
};

int inspect_switches(const InspectArguments& arguments, const SwitchView& view) {
  int status = kSuccess;
  auto loaded = load(arguments.scenario, status);
  if (!loaded) return status;
  const scenarios::Scenario scenario = last_run(std::move(*loaded));
  const std::optional<RunResult> result = run_last(scenario, arguments.quiet, status);
  if (!result) return status;
  const std::string after = what_ran(*result);
  const std::string missing = what_is_missing(*result);
  return print(
      arguments, scenario, view.schema,
      [&] {
        return "# after " + scenarios::printable(after) + ", run in frames\n" +
               (missing.empty() ? "" : "# incomplete: " + missing + "\n") +
               view.table(scenario.fabric, result->switches);
      },
      [&] {
        Json json = {{"after", after}};
        if (!missing.empty()) json["incomplete"] = missing;
        json.update(view.json(scenario.fabric, result->switches));
        return json;
      });
}

Json ports_view_json(const Fabric& fabric, const Switches& switches) {
  return {{"switches", ports_json(fabric, switches)}};
}

// --- The command line ---

using Arguments = std::shared_ptr<InspectArguments>;

CLI::App* add_view(CLI::App* inspect, const std::string& view, const std::string& about,
                   const Arguments& arguments) {
  CLI::App* command = inspect->add_subcommand(view, about);
  command->add_option("scenario", arguments->scenario, "Scenario file (YAML)")->required()->type_name("FILE");
  add_table_or_json(*command, arguments->json);
  command->footer("Example:\n  cnuas-sim inspect " + view + " scenarios/two-racks.yaml");
  return command;
}

void add_file_views(CLI::App* inspect, int& status) {
  const auto fabric = std::make_shared<InspectArguments>();
  add_view(inspect, "fabric", "Switches, GPUs and cables", fabric)->callback([fabric, &status] {
    status = inspect_fabric(*fabric);
  });
  const auto topo = std::make_shared<InspectArguments>();
  add_view(inspect, "topo", "How near GPUs are to one another, in the manner of nvidia-smi topo -m", topo)
      ->callback([topo, &status] { status = inspect_topo(*topo); });

  const auto routes = std::make_shared<InspectArguments>();
  CLI::App* command =
      add_view(inspect, "routes", "The links from GPU to GPU, their latency and bottleneck", routes);
  command->add_option("--from", routes->from, "Only routes from this GPU, for example 1/0")->type_name("GPU");
  command->add_option("--to", routes->to, "Only routes to this GPU")->type_name("GPU");
  command->footer("Example:\n  cnuas-sim inspect routes scenarios/two-racks.yaml --from 1/0 --to 2/3");
  command->callback([routes, &status] { status = inspect_routes(*routes); });
}

void add_switch_view(CLI::App* inspect, const std::string& name, const std::string& about,
                     const SwitchView& view, int& status) {
  const auto arguments = std::make_shared<InspectArguments>();
  CLI::App* command =
      add_view(inspect, name, about + " after the last run, which is simulated in frames", arguments);
  command->add_flag("-q,--quiet", arguments->quiet, "No progress line");
  command->callback([arguments, view, &status] { status = inspect_switches(*arguments, view); });
}

}  // namespace

void add_inspect(CLI::App& app, int& status) {
  CLI::App* command =
      app.add_subcommand("inspect", "Show what a scenario's fabric is, and what its switches know");
  command->require_subcommand(1);
  command->footer(
      "Examples:\n  cnuas-sim inspect topo scenarios/two-racks.yaml\n"
      "  cnuas-sim inspect ports scenarios/two-racks.yaml --format json");
  add_file_views(command, status);
  add_switch_view(command, "fdb", "Which GPU each switch knows behind which port",
                  {"cnuas.fdb/1", fdb_table, fdb_json}, status);
  add_switch_view(command, "groups", "The groups of GPUs in each switch",
                  {"cnuas.groups/1", groups_table, groups_json}, status);
  add_switch_view(command, "ports", "The counters of each switch's ports",
                  {"cnuas.ports/1", ports_table, ports_view_json}, status);
}

}  // namespace cnuas::sim
