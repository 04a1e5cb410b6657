// Traffic outside of collectives, as an item of the workload or a phase of a step.
#pragma once

#include "core/topology/fabric.h"
#include "core/workload/workload.h"
#include "scenarios/diagnostics.h"
#include "scenarios/document.h"

#include <optional>

namespace cnuas::scenarios {

// Precondition: check() has been over `item`. None: an error has been reported, now or by check(). No sender
// of the result is its own and only receiver.
std::optional<TrafficPhase> read_traffic(const Node& item, const Fabric& fabric, Diagnostics& diagnostics);

}  // namespace cnuas::scenarios
