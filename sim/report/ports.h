// What the ports of the switches have counted.
#pragma once

#include "core/switch/switch.h"
#include "core/topology/fabric.h"

#include <optional>
#include <string>
#include <vector>

#include <nlohmann/json_fwd.hpp>

namespace cnuas::sim {

// What a port leads to: a GPU, or else another switch by a cable.
struct PortPeer {
  std::optional<GpuIndex> gpu;
  CableIndex cable = 0;
  SwitchIndex neighbour = 0;
};

// By switch, then port: a switch's GPUs in the order of the fabric, then its cables likewise.
std::vector<std::vector<PortPeer>> port_peers(const Fabric& fabric);

// "GPU 1/3", or "rack2 by cable 0"
std::string describe(const Fabric& fabric, const PortPeer& peer);
// {"gpu": "1/3"}, or {"switch": "rack2", "cable": 0}
nlohmann::ordered_json peer_json(const Fabric& fabric, const PortPeer& peer);

// A table a switch. Reasons that no frame was dropped for and latencies of ports that sent nothing are left
// out. Precondition: `switches` has one entry for each switch of the fabric.
std::string ports_table(const Fabric& fabric, const std::vector<fabric_switch::Switch>& switches);

// An array with an entry a switch: {"switch": name, "ports": [...]}.
nlohmann::ordered_json ports_json(const Fabric& fabric, const std::vector<fabric_switch::Switch>& switches);

}  // namespace cnuas::sim
