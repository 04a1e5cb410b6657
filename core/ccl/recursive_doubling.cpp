#include "core/ccl/recursive_doubling.h"

#include "core/ccl/blocks.h"
#include "core/ccl/core_ranks.h"
#include "core/ccl/make_step.h"

namespace cnuas::ccl {
namespace {

constexpr Lane kSend = 0;
constexpr Lane kReceive = 1;

// A round's partial may not be overwritten while it is being sent, and waiting for the send would be a
// deadlock when the partner does the same; so partials alternate between scratch and output.
class AllReduce final : public Schedule {
 public:
  explicit AllReduce(const Problem& problem) : Schedule(problem), core_(problem.ranks) {}

  Lane lanes() const override { return 2; }

  std::uint64_t steps(Rank rank, Lane lane) const override {
    if (core_.is_extra(rank)) return 1;
    const std::uint64_t exchanges = core_.rounds() + folded_in(core_.core_of(rank));
    return lane == kSend ? exchanges : exchanges + (ends_in_scratch() ? 1 : 0);
  }

  Step step(Rank rank, Lane lane, std::uint64_t index) const override {
    if (core_.is_extra(rank)) return extra_step(rank, lane);
    return lane == kSend ? send_step(rank, index) : receive_step(rank, index);
  }

  std::uint64_t scratch_elements(Rank rank) const override {
    return core_.is_extra(rank) ? 0 : problem().count;
  }

 private:
  std::uint64_t folded_in(Rank core) const { return core_.has_extra(core) ? 1 : 0; }
  bool ends_in_scratch() const { return (core_.rounds() & 1) == 1; }

  // What a core rank sends in `round`, and what it has after the last one.
  Location partial(Rank core, std::uint64_t round) const {
    if (round == 0) return core_.has_extra(core) ? in_output(0) : in_input(0);
    return (round & 1) == 1 ? in_scratch(0) : in_output(0);
  }
  Rank partner(Rank core, std::uint64_t round) const { return core ^ (Rank{1} << round); }

  Step extra_step(Rank rank, Lane lane) const {
    if (lane == kSend) return make_send(rank - 1, in_input(0), problem().count);
    return make_recv(rank - 1, in_output(0), problem().count, after(kSend, 1));
  }

  Step send_step(Rank rank, std::uint64_t index) const {
    const Rank core = core_.core_of(rank);
    const Rank peer = index < core_.rounds() ? core_.rank_of(partner(core, index)) : rank + 1;
    return make_send(peer, partial(core, index), problem().count, after(kReceive, folded_in(core) + index));
  }

  Step receive_step(Rank rank, std::uint64_t index) const {
    const std::uint64_t count = problem().count;
    const Rank core = core_.core_of(rank);
    if (index < folded_in(core)) return make_recv_reduce(rank + 1, false, in_input(0), in_output(0), count);
    const std::uint64_t round = index - folded_in(core);
    if (round == core_.rounds()) return make_copy(in_scratch(0), in_output(0), count, after(kSend, round));
    const Rank other = partner(core, round);
    // The place that is written now was sent from in the round before the last.
    return make_recv_reduce(core_.rank_of(other), other < core, partial(core, round),
                            partial(core, round + 1), count, after(kSend, round));
  }

  const CoreRanks core_;
};

class AllGather final : public Schedule {
 public:
  explicit AllGather(const Problem& problem)
      : Schedule(problem), core_(problem.ranks), blocks_(problem.count, problem.ranks) {}

  Lane lanes() const override { return 2; }

  std::uint64_t steps(Rank rank, Lane lane) const override {
    if (core_.is_extra(rank)) return lane == kSend ? 1 : 3;
    const Rank core = core_.core_of(rank);
    // An extra rank's block comes in one message, and all the others go back in two: below and above it.
    return core_.rounds() + (lane == kSend ? 2 * gathered_in(core) : 1 + gathered_in(core));
  }

  Step step(Rank rank, Lane lane, std::uint64_t index) const override {
    if (lane == kReceive && index == 0) {
      const Block own = blocks_.at(rank);
      return make_copy(in_input(0), in_output(own.offset), own.count);
    }
    if (core_.is_extra(rank)) return extra_step(rank, lane, index);
    return lane == kSend ? send_step(rank, index) : receive_step(rank, index - 1);
  }

  std::uint64_t scratch_elements(Rank) const override { return 0; }

 private:
  std::uint64_t gathered_in(Rank core) const { return core_.has_extra(core) ? 1 : 0; }

  // What a core rank has at the start of `round`: the blocks of its group of 2^round core ranks.
  Block group(Rank core, std::uint64_t round) const {
    const Rank first = core & ~((Rank{1} << round) - 1);
    return blocks_.range(core_.rank_of(first), core_.rank_of(first + (Rank{1} << round)));
  }
  // All blocks below (0) or above (1) that of `rank`.
  Block others(Rank rank, std::uint64_t side) const {
    return side == 0 ? blocks_.range(0, rank) : blocks_.range(rank + 1, problem().ranks);
  }

  Step extra_step(Rank rank, Lane lane, std::uint64_t index) const {
    if (lane == kSend) return make_send(rank - 1, in_input(0), blocks_.count(rank));
    const Block block = others(rank, index - 1);
    return make_recv(rank - 1, in_output(block.offset), block.count);
  }

  Step send_step(Rank rank, std::uint64_t index) const {
    const Rank core = core_.core_of(rank);
    const std::uint64_t before = 1 + gathered_in(core);
    if (index < core_.rounds()) {
      const Block block = group(core, index);
      return make_send(core_.rank_of(core ^ (Rank{1} << index)), in_output(block.offset), block.count,
                       after(kReceive, before + index));
    }
    const Block block = others(rank + 1, index - core_.rounds());
    return make_send(rank + 1, in_output(block.offset), block.count,
                     index == core_.rounds() ? after(kReceive, before + index) : Dependency{});
  }

  Step receive_step(Rank rank, std::uint64_t index) const {
    const Rank core = core_.core_of(rank);
    if (index < gathered_in(core)) {
      const Block block = blocks_.at(rank + 1);
      return make_recv(rank + 1, in_output(block.offset), block.count);
    }
    const std::uint64_t round = index - gathered_in(core);
    const Rank other = core ^ (Rank{1} << round);
    const Block block = group(other, round);
    return make_recv(core_.rank_of(other), in_output(block.offset), block.count);
  }

  const CoreRanks core_;
  const Blocks blocks_;
};

}  // namespace

std::unique_ptr<Schedule> recursive_doubling_all_reduce(const Problem& problem) {
  return std::make_unique<AllReduce>(problem);
}
std::unique_ptr<Schedule> recursive_doubling_all_gather(const Problem& problem) {
  return std::make_unique<AllGather>(problem);
}

}  // namespace cnuas::ccl
