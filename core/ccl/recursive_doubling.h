// Recursive doubling: in round j ranks exchange all they have with the rank whose number differs in bit j.
#pragma once

#include "core/ccl/schedule.h"

#include <memory>

namespace cnuas::ccl {

// Precondition of each: ranks >= 2 and a problem that make_schedule has checked. Ranks beyond a power of two:
// see core_ranks.h.
//
// The lower half of a group is the left operand, so the fold is a balanced tree over ranks in their order.
std::unique_ptr<Schedule> recursive_doubling_all_reduce(const Problem& problem);
std::unique_ptr<Schedule> recursive_doubling_all_gather(const Problem& problem);

}  // namespace cnuas::ccl
