// Two binary trees, each for one half of the vector.
#pragma once

#include "core/ccl/pipelined_tree.h"
#include "core/ccl/schedule.h"

#include <array>
#include <memory>

namespace cnuas::ccl {

// An inner rank of one tree is a leaf of the other, so all ports carry about the same. Source: Sanders, Speck
// and Traeff 2009. Precondition: ranks >= 2 and a problem that make_schedule has checked.
std::unique_ptr<Schedule> double_tree_all_reduce(const Problem& problem);

// The two trees: halves of the vector, each in half of problem.chunks pieces, at least one.
std::array<PipelinedTree, 2> double_tree_parts(const Problem& problem);

}  // namespace cnuas::ccl
