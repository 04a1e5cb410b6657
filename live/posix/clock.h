// The time that the live programs hand to the core.
#pragma once

#include "core/engine/time.h"

namespace cnuas::live {

// CLOCK_MONOTONIC in picoseconds, counted from the process's first call: 106 days fit. Never runs backwards.
// Any thread.
Picoseconds monotonic_now();

}  // namespace cnuas::live
