// What a run found out.
#pragma once

#include "core/ccl/cost.h"
#include "core/engine/time.h"
#include "core/switch/switch.h"
#include "core/workload/workload.h"
#include "sim/run/outcome.h"

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace cnuas::sim {

// One collective, once.
struct CollectiveResult {
  CollectiveCall call;
  bool canonical = false;  // the reduction is the left fold in rank order; true where nothing is reduced
  Fidelity fidelity = Fidelity::fluid;
  Picoseconds time_ps = 0;       // from the first rank's start to the last rank's end
  std::string incomplete;        // why it did not end: a fault took a frame; "" when it did
  std::uint64_t wire_bytes = 0;  // put on the wire by all GPU ports, packet headers included
  Picoseconds lower_bound_ps = 0;
  std::string busiest_link;  // "" when nothing was sent
  double utilisation = 0;    // payload bytes over that link / (its payload rate * time)
  std::uint64_t frames = 0;
  std::uint64_t events = 0;  // messages sent and received, and computations
  std::uint64_t digest = 0;  // of every arrival and when it was: equal runs have equal digests

  // What the model says; see --check-model.
  ccl::ClosedForm model;
  bool model_applies =
      false;  // the fabric is what the formula assumes: one switch, equal ports, nothing else running
};

// One training step: its collectives as rows, and the whole.
struct StepResult {
  std::string name;
  Picoseconds time_ps = 0;
  Picoseconds compute_ps = 0;                                     // longest time one GPU spent computing
  std::vector<std::pair<std::size_t, Picoseconds>> phase_end_ps;  // phase number, since the step began
  std::uint64_t digest = 0;
};

// Messages outside of collectives.
struct TrafficResult {
  std::string step;
  TrafficPhase phase;
  Fidelity fidelity = Fidelity::fluid;
  Picoseconds time_ps = 0;  // from the first sender's start to the last arrival
  std::string incomplete;   // "3 of 4 messages sent arrived"; "" when all did
  TrafficOutcome outcome;
};

struct RunResult {
  Fidelity fidelity = Fidelity::fluid;
  std::vector<CollectiveResult> collectives;  // of measurements and steps, in the order of the scenario
  std::vector<StepResult> steps;
  std::vector<TrafficResult> traffic;
  std::vector<fabric_switch::Switch> switches;  // as the last run left them; frame fidelity only
};

}  // namespace cnuas::sim
