// Which algorithms a collective is asked to run with.
#pragma once

#include "core/ccl/collective.h"
#include "core/ccl/cost.h"
#include "core/ccl/racks.h"
#include "core/engine/error.h"
#include "core/topology/routes.h"
#include "core/workload/workload.h"
#include "scenarios/diagnostics.h"
#include "scenarios/document.h"

#include <optional>
#include <vector>

namespace cnuas::scenarios {

// No value: auto, to be resolved for each size.
using AlgorithmChoice = std::optional<ccl::Algorithm>;

// `algorithm` or `algorithms` of an item; auto when it has neither. Errors: an algorithm of other collectives
// only, one that is not available in this version, one listed twice; the result is empty then, and when
// check() found the keys not good.
std::vector<AlgorithmChoice> read_algorithms(const Node& item, ccl::Collective collective,
                                             Diagnostics& diagnostics);

// What the cost model knows of the GPUs `ranks`: the payload rate of the first one's link, and the longest
// way between any two. Precondition: all are in the fabric.
ccl::PortModel port_model(const Fabric& fabric, const RouteTable& routes, const std::vector<GpuId>& ranks);

// In which racks the GPUs `ranks` are: those at one switch are one, and its links are all its cables.
// Precondition: all are in the fabric.
ccl::Racks racks_of(const Fabric& fabric, const std::vector<GpuId>& ranks);

// The algorithm with the least estimated time for a call whose other settings are made. Errors: those of
// ccl::select.
Result<ccl::Algorithm> fastest(const CollectiveCall& call, const ccl::PortModel& port,
                               const ccl::Racks& racks);

}  // namespace cnuas::scenarios
