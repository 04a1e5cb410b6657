#include "core/ccl/chain.h"

#include "core/ccl/blocks.h"
#include "core/ccl/make_step.h"

namespace cnuas::ccl {
namespace {

class ChainAllReduce final : public Schedule {
 public:
  explicit ChainAllReduce(const Problem& problem)
      : Schedule(problem),
        last_(problem.ranks - 1),
        chunks_(pipeline_chunks(problem.count, problem.chunks)) {}

  Lane lanes() const override { return 4; }

  std::uint64_t steps(Rank rank, Lane lane) const override {
    const bool idle = (lane == kFoldSend && rank == last_) || (lane == kFoldReceive && rank == 0) ||
                      (lane == kResultSend && rank == last_ - 1) || (lane == kResultReceive && rank == last_);
    return idle ? 0 : chunks_.parts();
  }

  Step step(Rank rank, Lane lane, std::uint64_t index) const override {
    const Block chunk = chunks_.at(index);
    const Location input = in_input(chunk.offset);
    const Location output = in_output(chunk.offset);
    const Rank next = rank == last_ ? 0 : rank + 1;
    const Rank previous = rank == 0 ? last_ : rank - 1;
    switch (lane) {
      case kFoldSend:
        if (rank == 0) return make_send(next, input, chunk.count);
        return make_send(next, output, chunk.count, after(kFoldReceive, index + 1));
      case kFoldReceive:
        return make_recv_reduce(previous, true, input, output, chunk.count);
      case kResultSend: {
        const Lane source = rank == last_ ? kFoldReceive : kResultReceive;
        return on_channel(kResult, make_send(next, output, chunk.count, after(source, index + 1)));
      }
      default:  // kResultReceive. It replaces the partial, or in place rank 0's contribution.
        return on_channel(kResult, make_recv(previous, output, chunk.count, after(kFoldSend, index + 1)));
    }
  }

  std::uint64_t scratch_elements(Rank) const override { return 0; }

 private:
  static constexpr Lane kFoldSend = 0;
  static constexpr Lane kFoldReceive = 1;
  static constexpr Lane kResultSend = 2;
  static constexpr Lane kResultReceive = 3;
  static constexpr std::uint8_t kResult = 1;  // channel

  const Rank last_;
  const Blocks chunks_;
};

class ChainBroadcast final : public Schedule {
 public:
  explicit ChainBroadcast(const Problem& problem)
      : Schedule(problem), chunks_(pipeline_chunks(problem.count, problem.chunks)) {}

  Lane lanes() const override { return 2; }

  std::uint64_t steps(Rank rank, Lane lane) const override {
    if (lane == kSend) return rank_after(rank, 1, problem().ranks) == problem().root ? 0 : chunks_.parts();
    return rank == problem().root ? 1 : chunks_.parts();
  }

  Step step(Rank rank, Lane lane, std::uint64_t index) const override {
    const bool root = rank == problem().root;
    if (root && lane == kReceive) return make_copy(in_input(0), in_output(0), problem().count);
    const Block chunk = chunks_.at(index);
    if (lane == kReceive)
      return make_recv(rank_before(rank, 1, problem().ranks), in_output(chunk.offset), chunk.count);
    const Rank next = rank_after(rank, 1, problem().ranks);
    if (root) return make_send(next, in_input(chunk.offset), chunk.count);
    return make_send(next, in_output(chunk.offset), chunk.count, after(kReceive, index + 1));
  }

  std::uint64_t scratch_elements(Rank) const override { return 0; }

 private:
  static constexpr Lane kSend = 0;
  static constexpr Lane kReceive = 1;

  const Blocks chunks_;
};

}  // namespace

std::unique_ptr<Schedule> chain_all_reduce(const Problem& problem) {
  return std::make_unique<ChainAllReduce>(problem);
}
std::unique_ptr<Schedule> chain_broadcast(const Problem& problem) {
  return std::make_unique<ChainBroadcast>(problem);
}

}  // namespace cnuas::ccl
