// What runs on a fabric, as plain data.
#pragma once

#include "core/ccl/collective.h"
#include "core/ccl/schedule.h"
#include "core/engine/time.h"
#include "core/topology/gpu_id.h"

#include <cstdint>
#include <optional>
#include <string>
#include <variant>
#include <vector>

namespace cnuas {

enum class Fidelity : std::uint8_t { automatic, fluid, frame };

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

// Phases run one after the other; an overlapping phase starts in its turn but does not hold up those after it
// (two phases that overlap share the ports, and the processors where both compute). The step ends with the
// last phase.
struct Phase {
  std::variant<ComputePhase, CollectiveCall> work;
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

struct Workload {
  std::vector<WorkItem> items;
  std::vector<BackgroundFlow> background;
  std::vector<Straggler> stragglers;
};

}  // namespace cnuas
