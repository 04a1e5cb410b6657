// Watches the ranks until they are done, or until something ends them.
#pragma once

#include "live/ccl/perf/options.h"
#include "live/ccl/perf/results.h"
#include "live/ccl/perf/world.h"

namespace cnuas::live::perf {

// Blocks the signals that end the program, for supervise(); before anything is started.
void hold_signals();

// Returns the exit code; no rank is left.
int supervise(World& world, const Options& options, Results& results);

}  // namespace cnuas::live::perf
