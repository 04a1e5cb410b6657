// Pairwise exchange: N - 1 rounds, in round k everyone sends to the rank k after it.
#pragma once

#include "core/ccl/schedule.h"

#include <memory>

namespace cnuas::ccl {

// A round waits for the one before, so a rank has at most one message each way under way. Precondition:
// ranks >= 2 and a problem that make_schedule has checked.
std::unique_ptr<Schedule> pairwise_all_to_all(const Problem& problem);

}  // namespace cnuas::ccl
