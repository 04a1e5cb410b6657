#include "core/ccl/racks.h"

#include <algorithm>
#include <limits>

namespace cnuas::ccl {
namespace {

std::uint64_t plus(std::uint64_t a, std::uint64_t b) {
  constexpr std::uint64_t kMost = std::numeric_limits<std::uint64_t>::max();
  return a > kMost - b ? kMost : a + b;
}

}  // namespace

Picoseconds uplink_time(const Schedule& schedule, std::uint32_t element_bytes, const Racks& racks) {
  if (!racks.several()) return 0;
  std::vector<std::uint64_t> out(racks.uplink_bytes_per_s.size());
  std::vector<std::uint64_t> in(out.size());
  const Rank ranks = schedule.problem().ranks;
  for (Rank rank = 0; rank < ranks; ++rank) {
    const std::uint32_t from = racks.of_rank[rank];
    for (Lane lane = 0; lane < schedule.lanes(); ++lane) {
      const std::uint64_t steps = schedule.steps(rank, lane);
      for (std::uint64_t i = 0; i < steps; ++i) {
        const Step step = schedule.step(rank, lane, i);
        if (step.op != Op::send || racks.of_rank[step.peer] == from) continue;
        out[from] = plus(out[from], step.count);
        in[racks.of_rank[step.peer]] = plus(in[racks.of_rank[step.peer]], step.count);
      }
    }
  }
  Picoseconds longest = 0;
  for (std::size_t rack = 0; rack < out.size(); ++rack) {
    const std::uint64_t elements = std::max(out[rack], in[rack]);
    if (elements > std::numeric_limits<std::uint64_t>::max() / element_bytes) return kNever;
    longest = std::max(longest, transmission_ps(elements * element_bytes, racks.uplink_bytes_per_s[rack]));
  }
  return longest;
}

}  // namespace cnuas::ccl
