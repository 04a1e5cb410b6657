// A schedule with something wrong in it.
#pragma once

#include "core/ccl/schedule.h"

#include <cstdint>
#include <functional>
#include <utility>

namespace cnuas::ccl {

// Passes every step of `base` through `edit`. Keeps a reference to `base`.
class MutatedSchedule final : public Schedule {
 public:
  using Edit = std::function<void(Rank rank, Lane lane, std::uint64_t index, Step& step)>;

  MutatedSchedule(const Schedule& base, Edit edit)
      : Schedule(base.problem()), base_(base), edit_(std::move(edit)) {}

  // The last step of this lane is missing.
  void shorten(Rank rank, Lane lane) {
    shortened_rank_ = rank;
    shortened_lane_ = lane;
  }

  Lane lanes() const override { return base_.lanes(); }
  std::uint64_t steps(Rank rank, Lane lane) const override {
    const bool shortened = rank == shortened_rank_ && lane == shortened_lane_;
    return base_.steps(rank, lane) - (shortened ? 1 : 0);
  }
  Step step(Rank rank, Lane lane, std::uint64_t index) const override {
    Step step = base_.step(rank, lane, index);
    edit_(rank, lane, index, step);
    return step;
  }
  std::uint64_t scratch_elements(Rank rank) const override { return base_.scratch_elements(rank); }

 private:
  const Schedule& base_;
  Edit edit_;
  Rank shortened_rank_ = ~Rank{0};
  Lane shortened_lane_ = kMaxLanes;
};

}  // namespace cnuas::ccl
