#include "live/switchd/switch_config.h"

#include "live/switchd/chassis.h"

#include <utility>
#include <vector>

namespace cnuas::live {

namespace {

using fabric_switch::PortConfig;
using fabric_switch::PortRole;
using fabric_switch::SwitchConfig;

std::string names_of(const Fabric& fabric) {
  std::string names;
  for (const Switch& each : fabric.switches) {
    if (names.size() > 200) return names + ", ...";
    names += (names.empty() ? "" : ", ") + each.name;
  }
  return names;
}

Result<SwitchIndex> only_switch(const Fabric& fabric) {
  if (fabric.switches.size() == 1) return SwitchIndex{0};
  return fail(ErrorCode::invalid_argument, "the fabric has " + std::to_string(fabric.switches.size()) +
                                               " switches: say with --rack or --switch which one this is (" +
                                               names_of(fabric) + ")");
}

Result<SwitchIndex> switch_by_name(const Fabric& fabric, const std::string& name) {
  for (SwitchIndex i = 0; i < fabric.switches.size(); ++i) {
    if (fabric.switches[i].name == name) return i;
  }
  return fail(ErrorCode::not_found, "the fabric has no switch '" + name + "', only " + names_of(fabric),
              "--switch");
}

Result<SwitchIndex> switch_by_rack(const Fabric& fabric, unsigned rack) {
  std::vector<SwitchIndex> found;
  for (const Gpu& gpu : fabric.gpus) {
    if (gpu.id.rack() == rack && (found.empty() || found.back() != gpu.attached))
      found.push_back(gpu.attached);
  }
  if (found.size() == 1) return found.front();
  const std::string text = "rack " + std::to_string(rack);
  if (found.empty())
    return fail(ErrorCode::not_found, "the fabric has no " + text + ", only " + names_of(fabric), "--rack");
  return fail(ErrorCode::invalid_argument,
              text + " has several switches: say with --switch which one this is (" + names_of(fabric) + ")",
              "--rack");
}

Result<SwitchIndex> find(const Fabric& fabric, const Place& place) {
  if (!place.switch_name.empty()) return switch_by_name(fabric, place.switch_name);
  if (place.rack) return switch_by_rack(fabric, *place.rack);
  return only_switch(fabric);
}

std::vector<GpuId> gpus_of(const Fabric& fabric, SwitchIndex index) {
  std::vector<GpuId> gpus;
  for (const Gpu& gpu : fabric.gpus) {
    if (gpu.attached == index) gpus.push_back(gpu.id);
  }
  return gpus;
}

std::size_t cables_of(const Fabric& fabric, SwitchIndex index) {
  std::size_t cables = 0;
  for (const Cable& cable : fabric.cables)
    cables += (cable.a == index ? 1 : 0) + (cable.b == index ? 1 : 0);
  return cables;
}

// The port of each of the switch's cables, in the order of the fabric.
std::vector<fabric_switch::PortIndex> cable_ports(std::size_t gpus, std::size_t cables) {
  std::vector<fabric_switch::PortIndex> ports;
  std::size_t next = gpus;
  if (gpus > 0 && cables > 0) ports.push_back(kInterSwitchPort);
  while (ports.size() < cables)
    ports.push_back(static_cast<fabric_switch::PortIndex>(next++));
  return ports;
}

}  // namespace

Result<SwitchConfig> switch_config(const Fabric& fabric, const Place& place) {
  const Result<SwitchIndex> index = find(fabric, place);
  if (!index) return tl::unexpected(index.error());
  const cnuas::Switch& described = fabric.switches[*index];
  const std::vector<GpuId> gpus = gpus_of(fabric, *index);
  const std::size_t cables = cables_of(fabric, *index);
  const std::string where = "switch '" + described.name + "'";
  if (gpus.size() > kGpuPorts) {
    return fail(ErrorCode::invalid_argument,
                std::to_string(gpus.size()) + " GPUs are at this switch, which has ports for " +
                    std::to_string(kGpuPorts),
                where);
  }
  if (gpus.size() + cables > kDataPorts) {
    return fail(ErrorCode::invalid_argument,
                std::to_string(gpus.size()) + " GPUs and " + std::to_string(cables) +
                    " links are at this switch, which has " + std::to_string(kDataPorts) + " ports",
                where);
  }
  SwitchConfig config;
  config.name = described.name;
  config.rack = gpus.empty() ? 0 : gpus.front().rack();
  config.stall_timeout_ps = described.stall_timeout_ps;
  config.ports.resize(kDataPorts);
  for (PortConfig& port : config.ports)
    port.queue_bytes = described.port_buffer_bytes;
  for (std::size_t i = 0; i < gpus.size(); ++i)
    config.ports[i].expected = gpus[i];
  config.ports[kInterSwitchPort].role = PortRole::inter_switch;
  const std::vector<fabric_switch::PortIndex> linked = cable_ports(gpus.size(), cables);
  for (const fabric_switch::PortIndex port : linked)
    config.ports[port].role = PortRole::inter_switch;
  if (!gpus.empty() && cables > 0) config.uplink = kInterSwitchPort;
  return config;
}

SwitchConfig plain_config(unsigned rack) {
  SwitchConfig config;
  config.name = "rack" + std::to_string(rack);
  config.rack = rack;
  config.ports.resize(kDataPorts);
  config.ports[kInterSwitchPort].role = PortRole::inter_switch;
  config.uplink = kInterSwitchPort;
  return config;
}

}  // namespace cnuas::live
