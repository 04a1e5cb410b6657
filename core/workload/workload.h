// What runs on a fabric, as plain data.
#pragma once

#include "core/ccl/collective.h"
#include "core/ccl/schedule.h"
#include "core/engine/time.h"
#include "core/topology/fabric.h"
#include "core/topology/gpu_id.h"

#include <cstdint>
#include <optional>
#include <string>
#include <variant>
#include <vector>

namespace cnuas {

enum class Fidelity : std::uint8_t { automatic, fluid, frame };

// What runs where `asked` is asked for; never automatic. Left to choose, it is fluid unless there is
// something that only frames show (faults): a message costs the fluid engine less than one frame costs the
// frame engine, so it is the cheaper one whatever the sizes.
constexpr Fidelity chosen_fidelity(Fidelity asked, bool faults) {
  if (asked != Fidelity::automatic) return asked;
  return faults ? Fidelity::frame : Fidelity::fluid;
}

// One collective on one set of GPUs.
struct CollectiveCall {
  ccl::Collective collective = ccl::Collective::all_reduce;
  ccl::Algorithm algorithm = ccl::Algorithm::ring;
  std::uint64_t size_bytes = 0;  // the size column of nccl-tests; whole elements of `type`
  ccl::DataType type = ccl::DataType::float32;
  ccl::Operator op = ccl::Operator::sum;
  std::vector<GpuId> ranks;  // rank r is ranks[r]; never empty
  ccl::Rank root = 0;        // broadcast
  std::uint64_t chunks = 0;  // pieces of a pipelined algorithm; 0: ccl::default_chunks
};

// The schedule's problem for a call: elements instead of bytes, the number of chunks decided.
ccl::Problem problem_of(const CollectiveCall& call);

// A measurement: each call runs alone on an idle fabric (but for the background flows) and gives one result.
struct Measurement {
  std::vector<CollectiveCall> calls;
};

// Kernels of one training step and the like: every GPU of `ranks` computes for `duration_ps` of its own time.
struct ComputePhase {
  Picoseconds duration_ps = 0;
  std::vector<GpuId> ranks;
};

enum class TrafficPattern : std::uint8_t {
  point_to_point,  // senders[i] to receivers[i]
  incast,          // every sender to the one receiver
  uniform,         // each message to any receiver but the sender itself, all equally likely
  hotspot,         // to receivers[0] with probability hot_fraction, else as uniform
};
enum class TrafficKind : std::uint8_t { data, doorbell, atomic };  // the type of the frames

// Messages outside of any collective. A sender sends one after the other, each when the port is free for it
// and, with an interval, not before its turn.
struct TrafficPhase {
  TrafficPattern pattern = TrafficPattern::point_to_point;
  TrafficKind kind = TrafficKind::data;
  std::vector<GpuId> senders;    // never empty
  std::vector<GpuId> receivers;  // never empty; as many as senders for point_to_point, one for incast
  std::uint64_t size_bytes = 0;  // of each message; doorbells and atomics have their own
  std::uint64_t messages = 1;    // of each sender
  std::optional<Picoseconds> interval_ps;
  double hot_fraction = 0.5;  // hotspot
};

// Phases run one after the other; an overlapping phase starts in its turn but does not hold up those after it
// (two phases that overlap share the ports, and the processors where both compute). The step ends with the
// last phase.
struct Phase {
  std::variant<ComputePhase, CollectiveCall, TrafficPhase> work;
  bool overlap = false;
};
struct TrainingStep {
  std::string name;
  std::vector<Phase> phases;
};

using WorkItem = std::variant<Measurement, TrainingStep>;

// A flow that shares the links with the work, from start_ps of each run on.
struct BackgroundFlow {
  GpuId from;
  GpuId to;
  std::optional<std::uint64_t> rate_bytes_per_s;  // none: takes its fair share of whatever there is
  Picoseconds start_ps = 0;
  std::optional<Picoseconds> duration_ps;  // none: as long as the run
};

// A GPU that computes slower than the others.
struct Straggler {
  GpuId gpu;
  double speed = 1.0;  // fraction of the normal speed, above 0, at most 1
};

// What breaks, and when, counted from the begin of each run; frame fidelity only. GPU ports are named by
// their GPU, cables by their position in Fabric::cables.
using LinkTarget = std::variant<GpuId, CableIndex>;

struct LinkDown {  // both directions; frames in queues and on the wire are lost, and counted
  LinkTarget link;
};
struct SlowReceiver {  // the GPU holds one frame at a time, each for this long
  GpuId gpu;
  Picoseconds hold_ps = 0;
};
struct DeadReceiver {  // the GPU takes one more frame and then none
  GpuId gpu;
};
struct LanesLost {  // both directions go on with a fraction of the rate
  LinkTarget link;
  double rate_left = 1.0;  // above 0, below 1
};
struct BitErrorRate {  // both directions; nothing is lost, packets are sent again
  LinkTarget link;
  double rate = 0;  // probability that a bit is wrong, above 0, below 0.01
};
struct SwitchRestart {  // queues and tables are lost; without an end it stays down
  SwitchIndex target = 0;
};

struct Fault {
  Picoseconds at_ps = 0;
  std::optional<Picoseconds> duration_ps;  // none: for the rest of the run
  std::variant<LinkDown, SlowReceiver, DeadReceiver, LanesLost, BitErrorRate, SwitchRestart> what;
};

struct Workload {
  std::vector<WorkItem> items;
  std::vector<BackgroundFlow> background;
  std::vector<Straggler> stragglers;
  std::vector<Fault> faults;
};

}  // namespace cnuas
