#include "core/ccl/ring.h"

#include "core/ccl/blocks.h"
#include "core/ccl/make_step.h"

namespace cnuas::ccl {
namespace {

constexpr Lane kSend = 0;
constexpr Lane kReceive = 1;

class Ring : public Schedule {
 public:
  explicit Ring(const Problem& problem)
      : Schedule(problem), ranks_(problem.ranks), blocks_(problem.count, problem.ranks) {}

  Lane lanes() const final { return 2; }

 protected:
  Rank right(Rank rank) const { return rank_after(rank, 1, ranks_); }
  Rank left(Rank rank) const { return rank_before(rank, 1, ranks_); }

  const Rank ranks_;
  const Blocks blocks_;
};

// First N-1 rounds fold, the next N-1 hand the finished blocks around. In round k a rank sends block
// rank-1-k and receives block rank-2-k.
class RingAllReduce final : public Ring {
 public:
  using Ring::Ring;

  std::uint64_t steps(Rank, Lane) const override { return 2 * (ranks_ - 1); }

  Step step(Rank rank, Lane lane, std::uint64_t index) const override {
    const std::uint64_t round = index >= ranks_ - 1 ? index - (ranks_ - 1) : index;
    if (lane == kSend) {
      const Block block = blocks_.at(sent_block(rank, round, index));
      const Location src = index == 0 ? in_input(block.offset) : in_output(block.offset);
      return make_send(right(rank), src, block.count, after(kReceive, index));
    }
    const Block block = blocks_.at(sent_block(left(rank), round, index));
    const Location dst = in_output(block.offset);
    if (index < ranks_ - 1)
      return make_recv_reduce(left(rank), true, in_input(block.offset), dst, block.count);
    // The partial that this result replaces was sent in folding round `round`.
    return make_recv(left(rank), dst, block.count, after(kSend, round + 1));
  }

  std::uint64_t scratch_elements(Rank) const override { return 0; }

 private:
  Rank sent_block(Rank rank, std::uint64_t round, std::uint64_t index) const {
    return rank_before(rank, index < ranks_ - 1 ? round + 1 : round, ranks_);
  }
};

// The folding half alone. Partials live in two halves of scratch in turn: one is sent while the next one
// arrives.
class RingReduceScatter final : public Ring {
 public:
  using Ring::Ring;

  std::uint64_t steps(Rank, Lane) const override { return ranks_ - 1; }

  Step step(Rank rank, Lane lane, std::uint64_t index) const override {
    if (lane == kSend) {
      const Block block = blocks_.at(rank_before(rank, index + 1, ranks_));
      const Location src = index == 0 ? in_input(block.offset) : partial(index - 1);
      return make_send(right(rank), src, block.count, after(kReceive, index));
    }
    const Block block = blocks_.at(rank_before(left(rank), index + 1, ranks_));
    const bool last = index == ranks_ - 2;
    // The half that is written now was last read by the send of round index - 1.
    return make_recv_reduce(left(rank), true, in_input(block.offset), last ? in_output(0) : partial(index),
                            block.count, last || index < 2 ? Dependency{} : after(kSend, index));
  }

  std::uint64_t scratch_elements(Rank) const override { return 2 * blocks_.largest(); }

 private:
  Location partial(std::uint64_t round) const { return in_scratch((round & 1) * blocks_.largest()); }
};

class RingAllGather final : public Ring {
 public:
  using Ring::Ring;

  std::uint64_t steps(Rank, Lane lane) const override { return lane == kSend ? ranks_ - 1 : ranks_; }

  Step step(Rank rank, Lane lane, std::uint64_t index) const override {
    if (lane == kSend) {
      const Block block = blocks_.at(rank_before(rank, index, ranks_));
      if (index == 0) return make_send(right(rank), in_input(0), block.count);
      return make_send(right(rank), in_output(block.offset), block.count, after(kReceive, index + 1));
    }
    const Block block = blocks_.at(rank_before(rank, index, ranks_));
    if (index == 0) return make_copy(in_input(0), in_output(block.offset), block.count);
    return make_recv(left(rank), in_output(block.offset), block.count);
  }

  std::uint64_t scratch_elements(Rank) const override { return 0; }
};

}  // namespace

std::unique_ptr<Schedule> ring_all_reduce(const Problem& problem) {
  return std::make_unique<RingAllReduce>(problem);
}
std::unique_ptr<Schedule> ring_reduce_scatter(const Problem& problem) {
  return std::make_unique<RingReduceScatter>(problem);
}
std::unique_ptr<Schedule> ring_all_gather(const Problem& problem) {
  return std::make_unique<RingAllGather>(problem);
}

}  // namespace cnuas::ccl
