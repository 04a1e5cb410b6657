// Recursive vector halving, alone as a reduce_scatter and followed by doubling as an all_reduce.
#pragma once

#include "core/ccl/blocks.h"
#include "core/ccl/core_ranks.h"
#include "core/ccl/schedule.h"

#include <memory>

namespace cnuas::ccl {

// Precondition of each: ranks >= 2 and a problem that make_schedule has checked. Ranks beyond a power of two:
// see core_ranks.h.
//
// Each element is folded once, at the rank that ends up with it, so all ranks get the same bits.
//
// Rabenseifner's all_reduce. Neighbours exchange first, and most: the fold is a balanced tree over ranks in
// their order.
std::unique_ptr<Schedule> halving_doubling_all_reduce(const Problem& problem);
// Here distant ranks exchange first, so that rank r ends up with block r.
std::unique_ptr<Schedule> halving_reduce_scatter(const Problem& problem);

// What a core rank is left with after `rounds` rounds of halving; after all of them, its final block.
Block halving_doubling_region(const CoreRanks& core, const Blocks& blocks, Rank core_rank, unsigned rounds);
Block halving_region(const CoreRanks& core, const Blocks& blocks, Rank core_rank, unsigned rounds);

}  // namespace cnuas::ccl
