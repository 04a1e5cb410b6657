#include "scenarios/units.h"
#include "sim/inspect/views.h"
#include "sim/report/columns.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace cnuas::sim {

namespace {

using Json = nlohmann::ordered_json;
using Rows = std::vector<std::vector<std::string>>;
using scenarios::Quantity;

constexpr double kGiga = 1e9;

std::string time_text(Picoseconds time_ps) {
  return scenarios::to_text(time_ps, Quantity::time);
}

// Rate, what packet headers leave of it, latency.
std::vector<std::string> link_cells(const LinkProfile& link) {
  return {scenarios::to_text(static_cast<std::int64_t>(link.bandwidth_bytes_per_s), Quantity::rate),
          fmt::format("{:.2f}", static_cast<double>(link.payload_bytes_per_s()) / kGiga),
          time_text(link.latency_ps)};
}

Json link_json(const LinkProfile& link) {
  return {{"bandwidth_bytes_per_s", link.bandwidth_bytes_per_s},
          {"payload_bytes_per_s", link.payload_bytes_per_s()},
          {"latency_ps", link.latency_ps}};
}

// GPUs and cables of each switch.
struct Degree {
  std::size_t gpus = 0;
  std::size_t cables = 0;
};

std::vector<Degree> degrees(const Fabric& fabric) {
  std::vector<Degree> result(fabric.switches.size());
  for (const Gpu& gpu : fabric.gpus)
    ++result[gpu.attached].gpus;
  for (const Cable& cable : fabric.cables) {
    ++result[cable.a].cables;
    ++result[cable.b].cables;
  }
  return result;
}

std::string switches_table(const Fabric& fabric) {
  const std::vector<Degree> degree = degrees(fabric);
  Rows rows;
  for (SwitchIndex index = 0; index < fabric.switches.size(); ++index) {
    const Switch& each = fabric.switches[index];
    rows.push_back({each.name, degree[index].gpus > 0 ? fmt::to_string(each.rack) : "-",
                    fmt::to_string(degree[index].gpus), fmt::to_string(degree[index].cables),
                    time_text(each.latency_ps),
                    scenarios::to_text(static_cast<std::int64_t>(each.port_buffer_bytes), Quantity::size)});
  }
  return in_columns({{"switch", true}, {"rack"}, {"GPUs"}, {"cables"}, {"latency"}, {"port buffer"}}, rows);
}

std::string gpus_table(const Fabric& fabric) {
  Rows rows;
  for (const Gpu& gpu : fabric.gpus) {
    rows.push_back({to_string(gpu.id), fmt::format("0x{:04x}", gpu.id.value), fmt::to_string(gpu.host),
                    fabric.switches[gpu.attached].name});
    for (std::string& cell : link_cells(gpu.link))
      rows.back().push_back(std::move(cell));
  }
  return in_columns(
      {{"GPU", true}, {"ID"}, {"host"}, {"switch", true}, {"rate"}, {"payload (GB/s)"}, {"latency"}}, rows);
}

std::string cables_table(const Fabric& fabric) {
  Rows rows;
  for (CableIndex index = 0; index < fabric.cables.size(); ++index) {
    const Cable& cable = fabric.cables[index];
    rows.push_back({fmt::to_string(index), fabric.switches[cable.a].name, fabric.switches[cable.b].name});
    for (std::string& cell : link_cells(cable.link))
      rows.back().push_back(std::move(cell));
  }
  return in_columns({{"cable"}, {"from", true}, {"to", true}, {"rate"}, {"payload (GB/s)"}, {"latency"}},
                    rows);
}

}  // namespace

std::string fabric_table(const Fabric& fabric) {
  std::string out = switches_table(fabric) + "#\n" + gpus_table(fabric);
  if (!fabric.cables.empty()) out += "#\n" + cables_table(fabric);
  return out + "# rates and latencies are those of one direction; all links work in both at once\n";
}

Json fabric_json(const Fabric& fabric) {
  Json switches = Json::array();
  for (const Switch& each : fabric.switches) {
    switches.push_back({{"name", each.name},
                        {"latency_ps", each.latency_ps},
                        {"port_buffer_bytes", each.port_buffer_bytes}});
  }
  const std::vector<Degree> degree = degrees(fabric);
  for (SwitchIndex index = 0; index < switches.size(); ++index)
    if (degree[index].gpus > 0) switches[index]["rack"] = fabric.switches[index].rack;
  Json gpus = Json::array();
  for (const Gpu& gpu : fabric.gpus) {
    gpus.push_back({{"gpu", to_string(gpu.id)},
                    {"id", gpu.id.value},
                    {"host", gpu.host},
                    {"switch", fabric.switches[gpu.attached].name},
                    {"link", link_json(gpu.link)}});
  }
  Json cables = Json::array();
  for (const Cable& cable : fabric.cables) {
    cables.push_back({{"from", fabric.switches[cable.a].name},
                      {"to", fabric.switches[cable.b].name},
                      {"link", link_json(cable.link)}});
  }
  return {{"switches", std::move(switches)}, {"gpus", std::move(gpus)}, {"cables", std::move(cables)}};
}

}  // namespace cnuas::sim
