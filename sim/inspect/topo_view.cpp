#include "sim/inspect/views.h"

#include <algorithm>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace cnuas::sim {

namespace {

using Json = nlohmann::ordered_json;

std::string symbol(const RouteTable& routes, GpuIndex row, GpuIndex column) {
  if (row == column) return "X";
  const SwitchIndex from = routes.fabric().gpus[row].attached;
  const SwitchIndex to = routes.fabric().gpus[column].attached;
  if (from == to) return "SW";
  const std::size_t cables = routes.between_switches(from, to).size();
  return cables == 0 ? "N/A" : fmt::format("IS{}", cables);
}

// Hosts are numbered within their rack.
std::string affinity(const Gpu& gpu) {
  return fmt::format("rack {} host {}", gpu.id.rack(), gpu.host);
}

constexpr std::string_view kLegend =
    "\nLegend:\n\n"
    "  X    = Self\n"
    "  SW   = By one switch that both are attached to\n"
    "  IS#  = By # cables between switches, on the route that messages take\n"
    "  N/A  = No route\n";

}  // namespace

std::string topo_table(const RouteTable& routes) {
  const std::vector<Gpu>& gpus = routes.fabric().gpus;
  std::size_t width = 0;
  for (const Gpu& gpu : gpus)
    width = std::max(width, to_string(gpu.id).size() + 3);
  std::string out(width, ' ');
  for (const Gpu& gpu : gpus)
    out += fmt::format("  {:<{}}", "GPU" + to_string(gpu.id), width);
  out += "  CPU Affinity\n";
  for (GpuIndex row = 0; row < gpus.size(); ++row) {
    out += fmt::format("{:<{}}", "GPU" + to_string(gpus[row].id), width);
    for (GpuIndex column = 0; column < gpus.size(); ++column)
      out += fmt::format("  {:<{}}", (row == column ? " " : "") + symbol(routes, row, column), width);
    out += "  " + affinity(gpus[row]) + "\n";
  }
  return out.append(kLegend);
}

Json topo_json(const RouteTable& routes) {
  const std::vector<Gpu>& gpus = routes.fabric().gpus;
  Json rows = Json::array();
  for (GpuIndex row = 0; row < gpus.size(); ++row) {
    Json symbols = Json::array();
    for (GpuIndex column = 0; column < gpus.size(); ++column)
      symbols.push_back(symbol(routes, row, column));
    rows.push_back({{"gpu", to_string(gpus[row].id)},
                    {"rack", gpus[row].id.rack()},
                    {"host", gpus[row].host},
                    {"symbols", std::move(symbols)}});
  }
  return {{"rows", std::move(rows)}};
}

}  // namespace cnuas::sim
