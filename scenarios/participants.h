// GPUs, switches and cables by name, and the ranks of a collective or phase.
#pragma once

#include "core/topology/fabric.h"
#include "scenarios/diagnostics.h"
#include "scenarios/document.h"

#include <optional>
#include <vector>

namespace cnuas::scenarios {

// The GPU a good node names, if the fabric has it; otherwise an error, with the GPUs there are.
std::optional<GpuId> read_gpu(const Node& node, const Fabric& fabric, Diagnostics& diagnostics);

// The `ranks` of an item: the first so many GPUs, those listed, or all. Empty when it is not good or an error
// has been reported (unknown or repeated GPUs, more ranks than GPUs).
std::vector<GpuId> read_ranks(const Node& item, const Fabric& fabric, Diagnostics& diagnostics);

// The GPUs of a good node that names one, lists some or says `all`. A list may name one several times when
// `repeats`. Empty: an error has been reported.
std::vector<GpuId> read_gpus(const Node& node, const Fabric& fabric, bool repeats, Diagnostics& diagnostics);

// The switch a good node names, if the fabric has it; otherwise an error, with a name like it.
std::optional<SwitchIndex> read_switch_name(const Node& name, const Fabric& fabric, Diagnostics& diagnostics);
void report_unknown_switch(const Node& name, const Fabric& fabric, Diagnostics& diagnostics);

// The first cable between the two switches that a good list names.
std::optional<CableIndex> read_cable(const Node& ends, const Fabric& fabric, Diagnostics& diagnostics);

}  // namespace cnuas::scenarios
