#include "core/ccl/one_shot.h"

#include "core/ccl/blocks.h"
#include "core/ccl/make_step.h"
#include "core/ccl/ordered_fold.h"

namespace cnuas::ccl {
namespace {

constexpr Lane kSend = 0;

class OneShotAllReduce final : public Schedule {
 public:
  explicit OneShotAllReduce(const Problem& problem) : Schedule(problem), ranks_(problem.ranks) {}

  Lane lanes() const override { return 2; }

  std::uint64_t steps(Rank, Lane lane) const override {
    return lane == kSend ? ranks_ - 1 : ranks_ - 1 + OrderedFold::steps(ranks_);
  }

  Step step(Rank rank, Lane lane, std::uint64_t index) const override {
    const std::uint64_t count = problem().count;
    if (lane == kSend) return make_send(rank_after(rank, index + 1, ranks_), in_input(0), count);
    const OrderedFold fold(ranks_, rank, count, in_input(0), in_output(0));
    if (index < ranks_ - 1) {
      const Rank peer = rank_before(rank, index + 1, ranks_);
      return make_recv(peer, fold.slot(peer), count);
    }
    // In place, the result replaces what is still being sent.
    return fold.step(index - (ranks_ - 1), after(kSend, ranks_ - 1));
  }

  std::uint64_t scratch_elements(Rank) const override {
    return OrderedFold::scratch_elements(ranks_, problem().count);
  }

 private:
  const Rank ranks_;
};

}  // namespace

std::unique_ptr<Schedule> one_shot_all_reduce(const Problem& problem) {
  return std::make_unique<OneShotAllReduce>(problem);
}

}  // namespace cnuas::ccl
