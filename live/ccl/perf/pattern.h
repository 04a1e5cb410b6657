// What ranks contribute, and what must come of it: data whose reductions show the order of the fold.
#pragma once

#include "live/ccl/perf/plan.h"

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace cnuas::live::perf {

// The send buffer of a rank; the same for everyone who asks.
void contribute(const Row& row, int rank, int ranks, std::span<std::byte> send);

// How many elements of a rank's receive buffer are not what they must be: bit by bit the fold in ascending
// rank order, computed here serially, element by element. With `exact` false, sums and products of floating
// point may differ by what the roundings of any order come to.
std::uint64_t count_wrong(const Row& row, int rank, int ranks, std::span<const std::byte> recv, bool exact);

}  // namespace cnuas::live::perf
