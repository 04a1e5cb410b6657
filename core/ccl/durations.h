// Sums of spans of time that stay kNever instead of overflowing.
#pragma once

#include "core/engine/time.h"

#include <cstdint>

namespace cnuas::ccl {

// Precondition of both: no span is negative.
constexpr Picoseconds plus(Picoseconds a, Picoseconds b) {
  return a > kNever - b ? kNever : a + b;
}

template <class... More>
constexpr Picoseconds plus(Picoseconds a, Picoseconds b, More... more) {
  return plus(plus(a, b), more...);
}

constexpr Picoseconds times(std::uint64_t n, Picoseconds span) {
  if (span != 0 && n > static_cast<std::uint64_t>(kNever / span)) return kNever;
  return static_cast<Picoseconds>(n) * span;
}

}  // namespace cnuas::ccl
