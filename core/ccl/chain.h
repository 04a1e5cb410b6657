// Chain algorithms: the vector travels from rank to rank in chunks, each hop working on another one.
#pragma once

#include "core/ccl/schedule.h"

#include <memory>

namespace cnuas::ccl {

// Precondition of each: ranks >= 2 and a problem that make_schedule has checked.
//
// Fold 0 -> 1 -> ... -> N-1, canonical, then hand the result on N-1 -> 0 -> 1 -> ... -> N-2: in the same
// direction, so that no ingress ever has two senders.
std::unique_ptr<Schedule> chain_all_reduce(const Problem& problem);
// root -> root+1 -> ... -> root-1.
std::unique_ptr<Schedule> chain_broadcast(const Problem& problem);

}  // namespace cnuas::ccl
