#include "live/management/peer_route.h"

#include <algorithm>
#include <utility>

namespace cnuas::live {

namespace {

using fabric_switch::Fdb;
using fabric_switch::PortConfig;
using fabric_switch::PortIndex;
using fabric_switch::PortRole;
using fabric_switch::Switch;

struct Fault {
  NoRoute code;
  std::string text;
};

std::string port_name(PortIndex port) {
  return "port " + std::to_string(port);
}

PeerPlace place_of(const Switch& fabric_switch, GpuId gpu) {
  PeerPlace place{gpu, std::nullopt, false};
  const PortIndex port = fabric_switch.fdb().port_of(gpu);
  if (port == Fdb::kNoPort) return place;
  place.port = port;
  place.remote = fabric_switch.config().ports[port].role == PortRole::inter_switch;
  return place;
}

// The gpu port that is for this GPU, configured or bound.
std::optional<PortIndex> home_of(const Switch& fabric_switch, GpuId gpu) {
  for (std::size_t i = 0; i < fabric_switch.ports(); ++i) {
    const auto port = static_cast<PortIndex>(i);
    if (fabric_switch.status(port).gpu == gpu) return port;
  }
  return std::nullopt;
}

bool every_port_is_taken(const Switch& fabric_switch) {
  return std::all_of(
      fabric_switch.config().ports.begin(), fabric_switch.config().ports.end(),
      [](const PortConfig& port) { return port.role != PortRole::gpu || port.expected != kNoGpu; });
}

// Why a GPU that has a port here is not in the FDB.
Fault fault_at_home(const Switch& fabric_switch, GpuId gpu, PortIndex port) {
  const Switch::PortStatus status = fabric_switch.status(port);
  const std::string who = "GPU " + to_string(gpu);
  if (!status.admin_up) return {NoRoute::admin_down, port_name(port) + " of " + who + " is taken down"};
  if (!status.link_up) {
    return {NoRoute::absent, who + " is expected at " + port_name(port) + ", where nobody is connected"};
  }
  return {NoRoute::silent, who + " at " + port_name(port) + " has sent nothing for the keepalive timeout"};
}

// Why a GPU that has no port here is not in the FDB.
Fault fault_elsewhere(const Switch& fabric_switch, GpuId gpu) {
  const fabric_switch::SwitchConfig& config = fabric_switch.config();
  const std::string who = "GPU " + to_string(gpu);
  if (config.rack == 0) return {NoRoute::unknown_gpu, "nothing is known of " + who};
  if (gpu.rack() == config.rack) {
    if (every_port_is_taken(fabric_switch))
      return {NoRoute::not_expected, who + " is of this rack, and all gpu ports are for others"};
    return {NoRoute::unknown_gpu, who + " is of this rack and has not been heard of"};
  }
  if (config.uplink < 0) {
    return {NoRoute::no_uplink, who + " is of another rack, and this switch has no link to others"};
  }
  const auto uplink = static_cast<PortIndex>(config.uplink);
  if (!fabric_switch.carries(uplink)) {
    return {NoRoute::uplink_down,
            who + " is of another rack, and the link to other switches, " + port_name(uplink) + ", is down"};
  }
  return {NoRoute::unknown_gpu, who + " is of another rack, and no switch has announced it"};
}

std::optional<Fault> fault_of(const Switch& fabric_switch, const PeerPlace& place) {
  if (place.port) return std::nullopt;
  if (const std::optional<PortIndex> home = home_of(fabric_switch, place.gpu))
    return fault_at_home(fabric_switch, place.gpu, *home);
  return fault_elsewhere(fabric_switch, place.gpu);
}

std::optional<Fault> fault_between(const Switch& fabric_switch, const PeerPlace& a, const PeerPlace& b) {
  if (a.gpu == b.gpu) return Fault{NoRoute::same_gpu, "a GPU reaches itself without the fabric"};
  if (std::optional<Fault> fault = fault_of(fabric_switch, a)) return fault;
  if (std::optional<Fault> fault = fault_of(fabric_switch, b)) return fault;
  if (*a.port == *b.port) {
    return Fault{NoRoute::same_link,
                 "both are behind " + port_name(*a.port) + ", so their frames do not pass this switch"};
  }
  return std::nullopt;
}

}  // namespace

std::string_view name(NoRoute reason) {
  switch (reason) {
    case NoRoute::same_gpu:
      return "same_gpu";
    case NoRoute::admin_down:
      return "admin_down";
    case NoRoute::absent:
      return "absent";
    case NoRoute::silent:
      return "silent";
    case NoRoute::not_expected:
      return "not_expected";
    case NoRoute::unknown_gpu:
      return "unknown_gpu";
    case NoRoute::uplink_down:
      return "uplink_down";
    case NoRoute::no_uplink:
      return "no_uplink";
    case NoRoute::same_link:
      return "same_link";
  }
  return "?";
}

PeerRoute route_between(const Switch& fabric_switch, GpuId a, GpuId b) {
  PeerRoute route{place_of(fabric_switch, a), place_of(fabric_switch, b), std::nullopt, {}};
  if (std::optional<Fault> fault = fault_between(fabric_switch, route.a, route.b)) {
    route.fault = fault->code;
    route.reason = std::move(fault->text);
  } else {
    route.reason =
        "frames pass this switch between " + port_name(*route.a.port) + " and " + port_name(*route.b.port);
  }
  return route;
}

}  // namespace cnuas::live
