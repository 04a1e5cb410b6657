#include "live/posix/clock.h"

#include <ctime>

namespace cnuas::live {

// Counted from the first call: a machine may have been up for longer than Picoseconds can say.
Picoseconds monotonic_now() {
  static const timespec start = [] {
    timespec time{};
    ::clock_gettime(CLOCK_MONOTONIC, &time);
    return time;
  }();
  timespec time{};
  ::clock_gettime(CLOCK_MONOTONIC, &time);
  constexpr Picoseconds kMostSeconds = 9'000'000;
  const auto seconds = static_cast<Picoseconds>(time.tv_sec - start.tv_sec);
  if (seconds >= kMostSeconds) return kMostSeconds * kSecond;
  return seconds * kSecond + static_cast<Picoseconds>(time.tv_nsec - start.tv_nsec) * kNanosecond;
}

std::int64_t monotonic_ns() {
  timespec time{};
  ::clock_gettime(CLOCK_MONOTONIC, &time);
  return static_cast<std::int64_t>(time.tv_sec) * 1'000'000'000 + time.tv_nsec;
}

}  // namespace cnuas::live
