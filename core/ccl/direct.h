// Direct algorithms: every message goes straight from the rank that has the data to the one that needs it.
#pragma once

#include "core/ccl/schedule.h"

#include <memory>

namespace cnuas::ccl {

// Precondition of each: ranks >= 2 and a problem that make_schedule has checked.
//
// All but broadcast send in rotation, rank r to r+1, r+2, ..., so that with blocks of one size every ingress
// has one sender at a time. Reductions receive into slots and fold afterwards in rank order: canonical.
std::unique_ptr<Schedule> direct_all_reduce(const Problem& problem);
std::unique_ptr<Schedule> direct_reduce_scatter(const Problem& problem);
std::unique_ptr<Schedule> direct_all_gather(const Problem& problem);
std::unique_ptr<Schedule> direct_all_to_all(const Problem& problem);
// The root sends everything to every other rank, root+1 first.
std::unique_ptr<Schedule> direct_broadcast(const Problem& problem);

}  // namespace cnuas::ccl
