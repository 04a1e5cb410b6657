// How long frames took, as a histogram of fixed size.
#pragma once

#include "core/engine/time.h"

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>

namespace cnuas::fabric_switch {

// Log-linear: exact below 16 ps, then 16 buckets of one width for each power of two, up to the end of
// Picoseconds. The midpoint of a bucket, which is what quantile() returns, is off by at most 1/32 of any
// value in it.
class LatencyHistogram {
 public:
  static constexpr unsigned kLinearBits = 4;
  static constexpr std::size_t kBuckets = (63 - kLinearBits + 1) << kLinearBits;

  // A negative span counts as 0.
  void record(Picoseconds latency_ps) {
    ++buckets_[bucket_of(latency_ps)];
    ++count_;
  }

  std::uint64_t count() const { return count_; }

  // The latency that `numerator`/`denominator` of all recorded ones do not exceed (1/2: the median, the lower
  // one of two); 0 when nothing is recorded. Precondition: 0 <= numerator <= denominator, denominator > 0.
  Picoseconds quantile(unsigned numerator, unsigned denominator) const {
    if (count_ == 0) return 0;
    __extension__ using Wide = unsigned __int128;
    const Wide scaled = static_cast<Wide>(count_) * numerator;
    std::uint64_t rank =
        static_cast<std::uint64_t>((scaled + denominator - 1) / denominator);  // 1 is the least
    if (rank == 0) rank = 1;
    std::size_t bucket = 0;
    for (std::uint64_t below = buckets_[0]; below < rank; below += buckets_[bucket])
      ++bucket;
    return midpoint(bucket);
  }
  Picoseconds p50_ps() const { return quantile(50, 100); }
  Picoseconds p99_ps() const { return quantile(99, 100); }

  static constexpr std::size_t bucket_of(Picoseconds latency_ps) {
    const auto value = static_cast<std::uint64_t>(latency_ps < 0 ? 0 : latency_ps);
    if (value < kLinear) return value;
    const unsigned octave = static_cast<unsigned>(std::bit_width(value)) - 1 - kLinearBits;
    return (static_cast<std::size_t>(octave) << kLinearBits) + (value >> octave);
  }

  static constexpr Picoseconds midpoint(std::size_t bucket) {
    if (bucket < kLinear) return static_cast<Picoseconds>(bucket);
    const std::size_t octave = (bucket >> kLinearBits) - 1;
    const std::uint64_t low = (kLinear + (bucket & (kLinear - 1))) << octave;
    return static_cast<Picoseconds>(low + ((std::uint64_t{1} << octave) - 1) / 2);
  }

 private:
  static constexpr std::uint64_t kLinear = std::uint64_t{1} << kLinearBits;

  std::array<std::uint64_t, kBuckets> buckets_{};
  std::uint64_t count_ = 0;
};

}  // namespace cnuas::fabric_switch
