#include "scenarios/source_text.h"
#include "sim/inspect/views.h"
#include "sim/report/columns.h"
#include "sim/report/ports.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace cnuas::sim {

namespace {

using fabric_switch::FdbEntry;
using fabric_switch::FdbOrigin;
using fabric_switch::Group;
using Json = nlohmann::ordered_json;

std::string_view name(FdbOrigin origin) {
  return origin == FdbOrigin::learned ? "learned" : "configured";
}

std::string entries(std::size_t count) {
  return fmt::format("{} {}", count, count == 1 ? "entry" : "entries");
}

std::string members(const Group& group) {
  std::string text;
  for (const GpuId gpu : group.members)
    text += (text.empty() ? "" : " ") + to_string(gpu);
  return text;
}

}  // namespace

std::string fdb_table(const Fabric& fabric, const Switches& switches) {
  const auto peers = port_peers(fabric);
  std::string out;
  for (SwitchIndex index = 0; index < switches.size(); ++index) {
    std::vector<std::vector<std::string>> rows;
    switches[index].fdb().for_each([&](const FdbEntry& entry) {
      rows.push_back({to_string(entry.gpu), fmt::format("0x{:04x}", entry.gpu.value),
                      fmt::to_string(entry.port), std::string(name(entry.origin)),
                      describe(fabric, peers[index][entry.port])});
    });
    out += fmt::format("# FDB of switch {}: {}\n", scenarios::printable(fabric.switches[index].name),
                       entries(rows.size()));
    out += in_columns({{"GPU", true}, {"ID"}, {"port"}, {"origin", true}, {"behind the port", true}}, rows);
  }
  return out;
}

Json fdb_json(const Fabric& fabric, const Switches& switches) {
  const auto peers = port_peers(fabric);
  Json list = Json::array();
  for (SwitchIndex index = 0; index < switches.size(); ++index) {
    Json known = Json::array();
    switches[index].fdb().for_each([&](const FdbEntry& entry) {
      known.push_back({{"gpu", to_string(entry.gpu)},
                       {"id", entry.gpu.value},
                       {"port", entry.port},
                       {"origin", name(entry.origin)},
                       {"peer", peer_json(fabric, peers[index][entry.port])}});
    });
    list.push_back({{"switch", fabric.switches[index].name}, {"entries", std::move(known)}});
  }
  return {{"switches", std::move(list)}};
}

std::string groups_table(const Fabric& fabric, const Switches& switches) {
  std::string out;
  for (SwitchIndex index = 0; index < switches.size(); ++index) {
    const std::vector<Group>& groups = switches[index].groups().list();
    out += fmt::format("# groups of switch {}: {}\n", scenarios::printable(fabric.switches[index].name),
                       groups.empty() ? "none" : entries(groups.size()));
    if (groups.empty()) continue;
    std::vector<std::vector<std::string>> rows;
    for (const Group& group : groups)
      rows.push_back({fmt::to_string(group.id), group.name, members(group)});
    out += in_columns({{"ID"}, {"name", true}, {"members in rank order", true}}, rows);
  }
  return out;
}

Json groups_json(const Fabric& fabric, const Switches& switches) {
  Json list = Json::array();
  for (SwitchIndex index = 0; index < switches.size(); ++index) {
    Json groups = Json::array();
    for (const Group& group : switches[index].groups().list()) {
      Json ids = Json::array();
      for (const GpuId gpu : group.members)
        ids.push_back(to_string(gpu));
      groups.push_back({{"id", group.id}, {"name", group.name}, {"members", std::move(ids)}});
    }
    list.push_back({{"switch", fabric.switches[index].name}, {"groups", std::move(groups)}});
  }
  return {{"switches", std::move(list)}};
}

}  // namespace cnuas::sim
