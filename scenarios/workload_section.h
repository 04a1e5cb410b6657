// From `workload`, `background`, `stragglers` and `faults` to a Workload.
#pragma once

#include "core/topology/fabric.h"
#include "core/workload/workload.h"
#include "scenarios/diagnostics.h"
#include "scenarios/document.h"

namespace cnuas::scenarios {

// `scenario` is the whole file, over which check() has been. What is not good is left out: the result counts
// only when no error has been reported.
Workload read_workload(const Node& scenario, const Fabric& fabric, Diagnostics& diagnostics);

// What can be said of the workload without a fabric, for files whose fabric is wrong: which algorithms there
// are.
void check_algorithms(const Node& scenario, Diagnostics& diagnostics);

}  // namespace cnuas::scenarios
