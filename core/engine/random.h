// The one source of chance: seeded, and the same on every platform.
#pragma once

#include <cstdint>

namespace cnuas {

// SplitMix64 (Steele, Lea, Flood, "Fast splittable pseudorandom number generators", 2014). Whoever needs
// chance is handed one of these; split() gives each part of a system its own, so that one drawing more does
// not disturb another.
class Random {
 public:
  explicit constexpr Random(std::uint64_t seed) : state_(seed) {}

  constexpr std::uint64_t next() {
    state_ += 0x9E3779B97F4A7C15u;
    std::uint64_t z = state_;
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9u;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EBu;
    return z ^ (z >> 31);
  }

  // Uniform below `bound`, without bias; 0 for a bound of 0.
  constexpr std::uint64_t below(std::uint64_t bound) {
    if (bound == 0) return 0;
    const std::uint64_t unfair = (0 - bound) % bound;  // values below this would favour small results
    for (;;) {
      const std::uint64_t value = next();
      if (value >= unfair) return value % bound;
    }
  }

  // Uniform in [0, 1), 53 bits.
  constexpr double unit() { return static_cast<double>(next() >> 11) * 0x1.0p-53; }

  constexpr Random split() { return Random(next()); }

 private:
  std::uint64_t state_;
};

}  // namespace cnuas
