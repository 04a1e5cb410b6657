// What breaks.
#pragma once

#include "core/topology/fabric.h"
#include "core/workload/workload.h"
#include "scenarios/diagnostics.h"
#include "scenarios/document.h"

#include <vector>

namespace cnuas::scenarios {

// The `faults` of the whole file, over which check() has been. What is not good is left out: the result
// counts only when no error has been reported. Of faults of one kind at one place none begins before another
// has ended.
std::vector<Fault> read_faults(const Node& scenario, const Fabric& fabric, Diagnostics& diagnostics);

}  // namespace cnuas::scenarios
