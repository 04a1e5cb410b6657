// Virtual time and the time that bytes take: integers, so that every platform and build agrees to the last
// digit.
#pragma once

#include <cstdint>
#include <limits>

namespace cnuas {

// A point in virtual time, or a span of it, in picoseconds. int64 reaches 106 days.
using Picoseconds = std::int64_t;

inline constexpr Picoseconds kNanosecond = 1'000;
inline constexpr Picoseconds kMicrosecond = 1'000'000;
inline constexpr Picoseconds kMillisecond = 1'000'000'000;
inline constexpr Picoseconds kSecond = 1'000'000'000'000;
inline constexpr Picoseconds kNever = std::numeric_limits<Picoseconds>::max();

// Time to put `bytes` on a wire of `rate_bytes_per_s`, rounded to the nearest picosecond; kNever for a rate
// of 0 or a result that does not fit.
constexpr Picoseconds transmission_ps(std::uint64_t bytes, std::uint64_t rate_bytes_per_s) {
  if (bytes == 0) return 0;
  if (rate_bytes_per_s == 0) return kNever;
  __extension__ using Wide = unsigned __int128;
  const Wide scaled = static_cast<Wide>(bytes) * static_cast<Wide>(kSecond);
  const Wide rounded = (scaled + rate_bytes_per_s / 2) / rate_bytes_per_s;
  return rounded > static_cast<Wide>(kNever) ? kNever : static_cast<Picoseconds>(rounded);
}

}  // namespace cnuas
