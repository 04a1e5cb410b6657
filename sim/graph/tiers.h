// Which switches stand above which in a picture.
#pragma once

#include "core/topology/fabric.h"

#include <vector>

namespace cnuas::sim {

struct Tiers {
  std::vector<unsigned> tier;         // by switch: cables to the nearest switch with GPUs
  std::vector<std::size_t> position;  // by switch: in its tier
  std::vector<std::vector<SwitchIndex>>
      members;  // by tier, ascending; a switch without any cable is in tier 1
};

// Cables join switches of one tier or of neighbouring ones. Precondition: a GPU is attached to some switch.
Tiers make_tiers(const Fabric& fabric);

}  // namespace cnuas::sim
