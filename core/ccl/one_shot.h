// One shot: everyone sends everything to everyone and folds locally.
#pragma once

#include "core/ccl/schedule.h"

#include <memory>

namespace cnuas::ccl {

// Least latency of all, N - 1 times the data. Canonical: folded in rank order. Precondition: ranks >= 2 and a
// problem that make_schedule has checked.
std::unique_ptr<Schedule> one_shot_all_reduce(const Problem& problem);

}  // namespace cnuas::ccl
