// What a mover of messages is made from.
#pragma once

#include "core/topology/routes.h"
#include "core/workload/workload.h"

#include <cstdint>

namespace cnuas::sim {

// References: all of it must outlive whoever is given it.
struct FabricContext {
  const Fabric& fabric;
  const RouteTable& routes;
  const Workload& workload;  // background flows, stragglers, faults
  std::uint64_t seed = 1;
};

}  // namespace cnuas::sim
