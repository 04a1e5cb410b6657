// The local fold of N contributions in rank order, N - 1 of them received into slots of scratch.
#pragma once

#include "core/ccl/make_step.h"
#include "core/ccl/schedule.h"

#include <cstdint>

namespace cnuas::ccl {

// Receiving in the order of ranks would make a receiver wait while its ingress is idle, and folding in the
// order of arrival would not be the left fold; so every contribution has a slot, and the fold comes after.
//
// The accumulator is the slot of the first contribution that was received: neither input nor output will do,
// since they may be the same memory and hold the rank's own contribution until its turn.
class OrderedFold {
 public:
  // Contributions of `count` elements, the own one at `own`, the result to `result`. Precondition: ranks
  // >= 2.
  constexpr OrderedFold(Rank ranks, Rank rank, std::uint64_t count, Location own, Location result)
      : ranks_(ranks), rank_(rank), count_(count), own_(own), result_(result) {}

  // Where the contribution of `source` is received.
  constexpr Location slot(Rank source) const {
    return in_scratch((source < rank_ ? source : source - 1) * count_);
  }
  static constexpr std::uint64_t scratch_elements(Rank ranks, std::uint64_t count) {
    return (ranks - 1) * count;
  }

  // N - 1 folds and the copy of the result, which may have to wait until the result may be overwritten.
  static constexpr std::uint64_t steps(Rank ranks) { return ranks; }
  constexpr Step step(std::uint64_t index, Dependency before_result = {}) const {
    const Location accumulator = slot(rank_ == 0 ? 1 : 0);
    if (index == ranks_ - 1) return make_copy(accumulator, result_, count_, before_result);
    if (rank_ == 0 && index == 0) return make_reduce(true, own_, accumulator, count_);
    const Rank source = static_cast<Rank>(index + 1);
    return make_reduce(false, source == rank_ ? own_ : slot(source), accumulator, count_);
  }

 private:
  Rank ranks_;
  Rank rank_;
  std::uint64_t count_;
  Location own_;
  Location result_;
};

}  // namespace cnuas::ccl
