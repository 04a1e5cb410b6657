// One collective of the workload, as a measurement or as a phase.
#pragma once

#include "core/topology/routes.h"
#include "core/workload/workload.h"
#include "scenarios/algorithm_choice.h"
#include "scenarios/diagnostics.h"
#include "scenarios/document.h"

#include <cstdint>
#include <vector>

namespace cnuas::scenarios {

// Every call lists its ranks; so many in all keep a scenario within some hundred megabytes.
inline constexpr std::uint64_t kMostRanksInCalls = std::uint64_t{1} << 26;

class CollectiveReader {
 public:
  // All must outlive it.
  CollectiveReader(const Fabric& fabric, const RouteTable& routes, Diagnostics& diagnostics)
      : fabric_(fabric), routes_(routes), diagnostics_(diagnostics) {}

  // The calls of an item or phase that check() has been over: sizes outer, algorithms inner. Empty: an error
  // has been reported, now or by check().
  std::vector<CollectiveCall> read(const Node& item);

  // Counts ranks against kMostRanksInCalls; false, with an error, when there are too many.
  bool take_ranks(std::uint64_t calls, std::uint64_t ranks, const Place& place);

 private:
  std::vector<CollectiveCall> expand(CollectiveCall call, const std::vector<std::uint64_t>& sizes,
                                     const std::vector<AlgorithmChoice>& algorithms, const Node& item);

  const Fabric& fabric_;
  const RouteTable& routes_;
  Diagnostics& diagnostics_;
  std::uint64_t ranks_in_calls_ = 0;
};

}  // namespace cnuas::scenarios
