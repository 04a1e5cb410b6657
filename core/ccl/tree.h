// Tree algorithms: a binomial tree for broadcast, a binary one for all_reduce.
#pragma once

#include "core/ccl/schedule.h"

#include <memory>

namespace cnuas::ccl {

// Precondition of each: ranks >= 2 and a problem that make_schedule has checked.
//
// Ranks count from the root here. A rank sends to the ones 2^j after it, the largest subtree first.
std::unique_ptr<Schedule> tree_broadcast(const Problem& problem);
// Folds up a binary tree and hands the result down, in chunks (pipelined_tree.h). Operands are in the order
// of ranks, grouped by subtree.
std::unique_ptr<Schedule> tree_all_reduce(const Problem& problem);

}  // namespace cnuas::ccl
