// Bruck's all_to_all: log2(N) rounds of half the data each, instead of N - 1 messages.
#pragma once

#include "core/ccl/blocks.h"
#include "core/ccl/schedule.h"

#include <memory>

namespace cnuas::ccl {

// Slot i of rank r starts with the block for rank r + i. In round j every slot with bit j set moves on by 2^j
// ranks; a block has then gone as far as the bits of its slot say, which is where it belongs. A round's slots
// travel as one packed message. Precondition: ranks >= 2 and a problem that make_schedule has checked.
// Source: Bruck, Ho, Kipnis, Upfal and Weathersby 1997.
std::unique_ptr<Schedule> bruck_all_to_all(const Problem& problem);

// Elements in the slots below `slot` that `rank` sends in `round`; with slot == ranks, in all of them.
std::uint64_t bruck_packed(const Blocks& blocks, Rank rank, unsigned round, std::uint64_t slot);

}  // namespace cnuas::ccl
