// Ranks in racks: what one rack has for another goes over the links between them.
#pragma once

#include "core/ccl/schedule.h"
#include "core/engine/time.h"

#include <cstdint>
#include <vector>

namespace cnuas::ccl {

struct Racks {
  std::vector<std::uint32_t> of_rank;  // by rank, an index into uplink_bytes_per_s; empty: all are in one
  std::vector<std::uint64_t> uplink_bytes_per_s;  // by rack: all its links to other racks together, one way

  bool several() const { return uplink_bytes_per_s.size() > 1; }
};

// Of more ranks than these, what crosses is not added up when an algorithm is chosen: it would take seconds.
inline constexpr Rank kMostRanksWeighed = 1024;

// The least time that the links of a rack need for what the schedule has leave the rack or enter it,
// whichever is more; of the rack for which that is longest. Full duplex, without latency. It looks at every
// step.
Picoseconds uplink_time(const Schedule& schedule, std::uint32_t element_bytes, const Racks& racks);

}  // namespace cnuas::ccl
