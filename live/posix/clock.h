// The time that the live programs hand to the core.
#pragma once

#include "core/engine/time.h"

#include <cstdint>

namespace cnuas::live {

// CLOCK_MONOTONIC in picoseconds, counted from the process's first call. Never runs backwards; after 104
// days, as many as fit with some to spare for deadlines, it stands still. Any thread.
Picoseconds monotonic_now();

// CLOCK_MONOTONIC in nanoseconds, which has no such end. Any thread.
std::int64_t monotonic_ns();

}  // namespace cnuas::live
