// A collective of one rank.
#pragma once

#include "core/ccl/schedule.h"

#include <memory>

namespace cnuas::ccl {

// The one rank copies its input to its output, whatever the collective and the algorithm. Precondition:
// ranks == 1.
std::unique_ptr<Schedule> sole_rank(const Problem& problem);

}  // namespace cnuas::ccl
