// Ring algorithms: every rank sends to its right neighbour and receives from its left one.
#pragma once

#include "core/ccl/schedule.h"

#include <memory>

namespace cnuas::ccl {

// Precondition of each: ranks >= 2 and a problem that make_schedule has checked.
//
// Block c starts at rank c + 1 and is folded once around the ring into rank c, so it is
// ((r[c+1] + r[c+2]) + ...) + r[c]: the same bits everywhere, but not the left fold.
std::unique_ptr<Schedule> ring_all_reduce(const Problem& problem);
std::unique_ptr<Schedule> ring_reduce_scatter(const Problem& problem);
std::unique_ptr<Schedule> ring_all_gather(const Problem& problem);

}  // namespace cnuas::ccl
