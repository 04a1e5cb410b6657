// From a fabric's description to the configuration of the switch of one rack.
#pragma once

#include "core/engine/error.h"
#include "core/switch/switch.h"
#include "core/topology/fabric.h"

#include <optional>
#include <string>

namespace cnuas::live {

// Which switch of a fabric a daemon is.
struct Place {
  std::optional<unsigned> rack;
  std::string switch_name;  // instead of the rack: a spine, or one of several switches of a rack
};

// Ports: the switch's GPUs from port 0 on in order of their slots, each expected at its port; its first cable
// at port 8; further cables at the ports after the GPUs. A switch without GPUs has its cables from port 0 on.
// Ports that are left over are gpu ports of the rack that expect nobody. Limits are the fabric's.
// Errors: a place that is not in the fabric, or ambiguous; more GPUs or cables than there are ports.
Result<fabric_switch::SwitchConfig> switch_config(const Fabric& fabric, const Place& place);

// Without a fabric: eight gpu ports that belong to the first GPU of the rack that uses them, and the uplink.
fabric_switch::SwitchConfig plain_config(unsigned rack);

}  // namespace cnuas::live
