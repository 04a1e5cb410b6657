// Choosing an algorithm by its closed form.
#pragma once

#include "core/ccl/cost.h"
#include "core/engine/error.h"

#include <cstdint>

namespace cnuas::ccl {

// The algorithm of problem.collective with the least closed form; of equals the one listed first
// (algorithms_of). problem.algorithm is ignored. problem.chunks is the number of pieces for every pipelined
// algorithm; 0 stands for each one's default_chunks. A form that is only a lower bound competes with that
// bound, so a pipelined tree may turn out slower than promised.
//
// canonical_only: among those whose result is the left fold for this number of ranks. Errors:
// invalid_argument (the problem, or a rate of 0).
Result<Algorithm> select(const Problem& problem, std::uint32_t element_bytes, const PortModel& port,
                         bool canonical_only);

}  // namespace cnuas::ccl
