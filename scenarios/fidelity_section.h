// What the fidelity that a scenario will run in asks of the rest of it.
#pragma once

#include "core/topology/fabric.h"
#include "core/workload/workload.h"
#include "scenarios/diagnostics.h"
#include "scenarios/document.h"

namespace cnuas::scenarios {

inline constexpr std::size_t kMostPorts = 1023;  // of one switch, where frames are simulated

// All take the whole file, over which check() has been.

// As asked for; automatic when it says nothing that can be read.
Fidelity read_fidelity(const Node& scenario);

// Whether it will run in frame fidelity, told before there is a Scenario for fidelity_of().
bool runs_frames(const Node& scenario);

// Faults without frames are an error, settings of frames without frames are warned about.
void check_fidelity(const Node& scenario, Diagnostics& diagnostics);

// Frames follow tables that switches learn: between any two switches there may be only one way. Errors: links
// that close a circle; too many ports at one switch.
void check_for_frames(const Node& scenario, const Fabric& fabric, Diagnostics& diagnostics);

}  // namespace cnuas::scenarios
