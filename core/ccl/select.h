// Choosing an algorithm by its closed form.
#pragma once

#include "core/ccl/cost.h"
#include "core/ccl/racks.h"
#include "core/engine/error.h"
#include "core/engine/time.h"

#include <cstdint>

namespace cnuas::ccl {

// What an algorithm is expected to take: its closed form. Of trees for which that is only a lower bound, half
// as much again, and half as much again as any algorithm takes: siblings send to their parent at the same
// time and share its port.
//
// Where up to kMostRanksWeighed ranks are in several racks: not less than a latency and what the racks' links
// need for all that crosses them. kNever for a problem that make_schedule refuses.
Picoseconds expected_time(const Problem& problem, std::uint32_t element_bytes, const PortModel& port,
                          const Racks& racks);

// The algorithm of problem.collective with the least expected time. Of those within a twentieth of it, the
// one that needs the least scratch memory: what goes through scratch is copied once more, which no form
// counts; of equals the faster one, then the one listed first (algorithms_of). problem.algorithm is ignored.
// problem.chunks is the number of pieces for every pipelined algorithm; 0 stands for each one's
// default_chunks.
//
// canonical_only: among those whose result is the left fold for this number of ranks. Errors:
// invalid_argument (the problem, or a rate of 0).
Result<Algorithm> select(const Problem& problem, std::uint32_t element_bytes, const PortModel& port,
                         const Racks& racks, bool canonical_only);

}  // namespace cnuas::ccl
