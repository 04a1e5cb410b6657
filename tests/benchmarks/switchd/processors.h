// How busy the machine is with other things than the measurement.
#pragma once

#include <chrono>

#include <sys/types.h>

namespace cnuas::benchmark {

// Of all processors together since the machine started; in steps of a tick (10 ms).
double busy_seconds();

// Of one process, user and system. 0 when there is none.
double cpu_seconds(pid_t pid);

// Waits until everything together takes less than a fifth of one processor; false when it still takes more
// after `longest`. Call it when none of the measurement's own processes runs.
bool wait_until_quiet(std::chrono::milliseconds longest);

}  // namespace cnuas::benchmark
