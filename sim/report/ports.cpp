#include "sim/report/ports.h"

#include "scenarios/source_text.h"
#include "sim/report/columns.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace cnuas::sim {

namespace {

using fabric_switch::DropReason;
using fabric_switch::PortCounters;
using fabric_switch::PortIndex;
using Json = nlohmann::ordered_json;

constexpr double kPicosecondsPerMicrosecond = 1e6;

double microseconds(Picoseconds time_ps) {
  return static_cast<double>(time_ps) / kPicosecondsPerMicrosecond;
}

std::string_view state(const fabric_switch::Switch::PortStatus& status) {
  if (!status.admin_up) return "disabled";
  if (!status.link_up) return "down";
  return status.stalled ? "stalled" : "up";
}

struct Drops {
  std::uint64_t total = 0;
  std::vector<std::pair<std::string_view, std::uint64_t>> by_reason;  // without those of 0
};

Drops drops(const PortCounters& counters, std::uint64_t (PortCounters::*dropped)(DropReason) const) {
  Drops result;
  for (std::size_t i = 0; i < fabric_switch::kDropReasons; ++i) {
    const auto reason = static_cast<DropReason>(i);
    const std::uint64_t count = (counters.*dropped)(reason);
    if (count == 0) continue;
    result.total += count;
    result.by_reason.emplace_back(name(reason), count);
  }
  return result;
}

std::string drops_cell(const Drops& drops) {
  std::string cell = fmt::to_string(drops.total);
  std::string_view before = " (";
  for (const auto& [reason, count] : drops.by_reason) {
    cell += fmt::format("{}{} {}", before, reason, count);
    before = ", ";
  }
  return drops.by_reason.empty() ? cell : cell + ")";
}

Json drops_json(const Drops& drops) {
  Json result = Json::object();
  for (const auto& [reason, count] : drops.by_reason)
    result[std::string(reason)] = count;
  return result;
}

std::vector<std::string> cells(const Fabric& fabric, const fabric_switch::Switch& owner, PortIndex port,
                               const PortPeer& peer) {
  const PortCounters& counters = owner.counters(port);
  const fabric_switch::TypeCounters total = counters.total();
  const bool measured = counters.latency.count() > 0;
  return {fmt::to_string(port),
          std::string(state(owner.status(port))),
          describe(fabric, peer),
          fmt::to_string(total.rx_frames),
          fmt::to_string(total.rx_bytes),
          fmt::to_string(total.tx_frames),
          fmt::to_string(total.tx_bytes),
          drops_cell(drops(counters, &PortCounters::rx_dropped)),
          drops_cell(drops(counters, &PortCounters::tx_dropped)),
          fmt::to_string(counters.collective_reduce_count()),
          fmt::to_string(counters.collective_gather_count()),
          measured ? fmt::format("{:.3f}", microseconds(counters.latency.p50_ps())) : "-",
          measured ? fmt::format("{:.3f}", microseconds(counters.latency.p99_ps())) : "-"};
}

Json port_json(const Fabric& fabric, const fabric_switch::Switch& owner, PortIndex port,
               const PortPeer& peer) {
  const PortCounters& counters = owner.counters(port);
  const fabric_switch::TypeCounters total = counters.total();
  Json entry = {{"port", port}, {"state", state(owner.status(port))}};
  entry.update(peer_json(fabric, peer));
  entry.update({{"rx_frames", total.rx_frames},
                {"rx_bytes", total.rx_bytes},
                {"tx_frames", total.tx_frames},
                {"tx_bytes", total.tx_bytes},
                {"rx_drops", drops_json(drops(counters, &PortCounters::rx_dropped))},
                {"tx_drops", drops_json(drops(counters, &PortCounters::tx_dropped))},
                {"collective_reduce_count", counters.collective_reduce_count()},
                {"collective_gather_count", counters.collective_gather_count()}});
  if (counters.latency.count() > 0) {
    entry["latency_us_p50"] = microseconds(counters.latency.p50_ps());
    entry["latency_us_p99"] = microseconds(counters.latency.p99_ps());
  }
  return entry;
}

const std::vector<Column> kColumns = {{"port"},           {"state", true}, {"peer", true}, {"rx frames"},
                                      {"rx bytes"},       {"tx frames"},   {"tx bytes"},   {"rx drops", true},
                                      {"tx drops", true}, {"reduces"},     {"gathers"},    {"p50 (us)"},
                                      {"p99 (us)"}};

}  // namespace

std::vector<std::vector<PortPeer>> port_peers(const Fabric& fabric) {
  std::vector<std::vector<PortPeer>> peers(fabric.switches.size());
  for (GpuIndex gpu = 0; gpu < fabric.gpus.size(); ++gpu)
    peers[fabric.gpus[gpu].attached].push_back({gpu, 0, 0});
  for (CableIndex index = 0; index < fabric.cables.size(); ++index) {
    const Cable& cable = fabric.cables[index];
    peers[cable.a].push_back({std::nullopt, index, cable.b});
    peers[cable.b].push_back({std::nullopt, index, cable.a});
  }
  return peers;
}

std::string describe(const Fabric& fabric, const PortPeer& peer) {
  if (peer.gpu) return "GPU " + to_string(fabric.gpus[*peer.gpu].id);
  return fmt::format("{} by cable {}", fabric.switches[peer.neighbour].name, peer.cable);
}

Json peer_json(const Fabric& fabric, const PortPeer& peer) {
  if (peer.gpu) return {{"gpu", to_string(fabric.gpus[*peer.gpu].id)}};
  return {{"switch", fabric.switches[peer.neighbour].name}, {"cable", peer.cable}};
}

std::string ports_table(const Fabric& fabric, const std::vector<fabric_switch::Switch>& switches) {
  const auto peers = port_peers(fabric);
  std::string out;
  for (SwitchIndex index = 0; index < switches.size(); ++index) {
    std::vector<std::vector<std::string>> rows;
    for (PortIndex port = 0; port < peers[index].size(); ++port)
      rows.push_back(cells(fabric, switches[index], port, peers[index][port]));
    out += fmt::format("# ports of switch {}\n", scenarios::printable(fabric.switches[index].name));
    out += in_columns(kColumns, rows);
  }
  return out;
}

Json ports_json(const Fabric& fabric, const std::vector<fabric_switch::Switch>& switches) {
  const auto peers = port_peers(fabric);
  Json result = Json::array();
  for (SwitchIndex index = 0; index < switches.size(); ++index) {
    Json ports = Json::array();
    for (PortIndex port = 0; port < peers[index].size(); ++port)
      ports.push_back(port_json(fabric, switches[index], port, peers[index][port]));
    result.push_back({{"switch", fabric.switches[index].name}, {"ports", std::move(ports)}});
  }
  return result;
}

}  // namespace cnuas::sim
