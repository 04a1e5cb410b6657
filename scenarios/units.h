// Times, sizes and rates as a scenario writes them ("350 ns", "64 KiB", "400 GB/s"), in exact integers.
#pragma once

#include "core/engine/time.h"

#include <cstdint>
#include <string>
#include <string_view>

#include <tl/expected.hpp>

namespace cnuas::scenarios {

enum class Quantity : std::uint8_t { time, size, rate };

struct UnitError {
  std::string message;  // a sentence without a full stop
  std::string help;
};

// What a scenario may say at most; far beyond any machine, and near enough that sums stay exact.
inline constexpr std::int64_t kLongestTime_ps = 1000 * kSecond;
inline constexpr std::int64_t kLargestSize_bytes = std::int64_t{1} << 50;        // 1 PiB
inline constexpr std::int64_t kHighestRate_bytes_per_s = 1'000'000'000'000'000;  // 1000 TB/s

// Picoseconds, bytes, or bytes a second. A decimal number, a unit, blanks allowed between them. Errors: no
// unit, an unknown unit, not a plain decimal number, not a whole picosecond (byte, byte a second), beyond the
// limits above.
tl::expected<std::int64_t, UnitError> parse_quantity(std::string_view text, Quantity quantity);

// "ps, ns, us, ms or s"
std::string_view unit_names(Quantity quantity);

// A regular expression (ECMA 262) for what parse_quantity takes, but for the limits and whole numbers.
std::string quantity_pattern(Quantity quantity);

// The shortest exact form with a unit, e.g. "1 MiB", "1500 ns", "450 GB/s"; parse_quantity reads it back.
std::string to_text(std::int64_t value, Quantity quantity);

}  // namespace cnuas::scenarios
