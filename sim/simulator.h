// Runs a scenario: every measurement and training step, one after the other, each on an idle fabric.
#pragma once

#include "core/engine/error.h"
#include "scenarios/scenario.h"
#include "sim/report/result.h"

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>

namespace cnuas::sim {

struct SimulatorOptions {
  bool simgrid_flows = false;  // every flow in SimGrid; see FluidOptions
  bool carry_data = false;  // real bytes in every collective, folded and checked; a wrong result is an error
};

// How far a run has come, for whoever watches.
struct Progress {
  std::size_t item = 0;   // collectives and steps finished
  std::size_t items = 0;  // in all
  std::string what;       // the one under way: "all_reduce ring 1048576 B"
  Picoseconds time_ps = 0;
  std::uint64_t events = 0;
};

// Once per process: SimGrid cannot be set up twice. Errors carry the collective they happened in as `where`.
Result<RunResult> simulate(const scenarios::Scenario& scenario, const SimulatorOptions& options,
                           const std::function<void(const Progress&)>& progress);

}  // namespace cnuas::sim
