// Fluid fidelity: each message of a schedule is a flow; links are shared max-min; time is the core's
// picoseconds.
#pragma once

#include "core/engine/error.h"
#include "core/topology/routes.h"
#include "core/workload/workload.h"
#include "sim/simgrid/kernel.h"

#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

namespace cnuas::sim {

struct FluidOptions {
  bool simgrid_flows = false;  // give every flow to SimGrid: slower, same result
};

// What happened in one run, on the way from its begin.
struct FluidOutcome {
  struct PhaseOutcome {
    Picoseconds begin_ps = 0;      // first rank's start
    Picoseconds end_ps = 0;        // last rank's end
    std::uint64_t wire_bytes = 0;  // put on the wire by all GPU ports, packet headers included
    std::uint64_t messages = 0;
  };
  std::vector<PhaseOutcome> phases;
  Picoseconds time_ps = 0;
  Picoseconds compute_ps = 0;  // longest time one GPU spent in computation phases
  std::uint64_t events = 0;    // messages sent, messages received, computations
  std::uint64_t digest = 0;
  std::vector<std::uint64_t> link_bytes;  // payload carried, by LinkIndex
};

// How messages move, per GPU and collective: one at a time in the order in which they became ready, each at
// the rate that max-min sharing gives it from end to end; it has arrived one route latency after its last
// byte was sent. Messages of different collectives on one GPU share its port.
class FluidEngine {
 public:
  // Keeps references. The kernel must have been built from the same fabric and background flows.
  FluidEngine(const Fabric& fabric, const RouteTable& routes, Kernel& kernel,
              const std::vector<BackgroundFlow>& background, FluidOptions options);
  ~FluidEngine();

  // Called every some ten thousand events with the virtual time since the run began and the events so far.
  std::function<void(Picoseconds, std::uint64_t)> progress;

  // Runs the phases on an idle fabric; every GPU goes through those it takes part in, in order. Errors: what
  // make_schedule refuses; out_of_range (beyond kMaxKernelTime); mismatch (a schedule that does not finish:
  // the message says who waits for whom).
  Result<FluidOutcome> run(const std::vector<Phase>& phases);

 private:
  class Run;
  const Fabric& fabric_;
  const RouteTable& routes_;
  Kernel& kernel_;
  const std::vector<BackgroundFlow>& background_;
  FluidOptions options_;
};

}  // namespace cnuas::sim
