#include "core/ccl/bruck.h"

#include "core/ccl/make_step.h"

#include <algorithm>
#include <array>
#include <bit>
#include <limits>

namespace cnuas::ccl {
namespace {

constexpr Lane kSend = 0;
constexpr Lane kReceive = 1;

// Among the first `terms` of start, start + 2^log_stride, ...: how many are below `bound`.
std::uint64_t count_below(std::uint64_t start, unsigned log_stride, std::uint64_t terms,
                          std::uint64_t bound) {
  if (bound <= start) return 0;
  return std::min(terms, ((bound - start - 1) >> log_stride) + 1);
}

// Received messages stay where they are, an area of scratch for each round, and blocks are packed for their
// next round, or copied to the output, from there.
class BruckAllToAll final : public Schedule {
 public:
  explicit BruckAllToAll(const Problem& problem)
      : Schedule(problem),
        ranks_(problem.ranks),
        rounds_(static_cast<unsigned>(std::bit_width(problem.ranks - 1))),
        blocks_(problem.count, problem.ranks) {
    first_step_[0] = 1;
    for (unsigned round = 0; round < rounds_; ++round)
      first_step_[round + 1] = first_step_[round] + packed_slots(round) + 1 + final_slots(round);
  }

  Lane lanes() const override { return 2; }

  std::uint64_t steps(Rank, Lane lane) const override {
    return lane == kSend ? rounds_ : first_step_[rounds_];
  }

  Step step(Rank rank, Lane lane, std::uint64_t index) const override {
    if (lane == kSend) {
      const unsigned round = static_cast<unsigned>(index);
      return make_send(rank_after(rank, distance(round), ranks_), in_scratch(0),
                       bruck_packed(blocks_, rank, round, ranks_),
                       after(kReceive, first_step_[round] + packed_slots(round)));
    }
    if (index == 0) {
      const Block own = blocks_.at(rank);
      return make_copy(in_input(own.offset), in_output(rank * own.count), own.count);
    }
    unsigned round = 0;
    while (first_step_[round + 1] <= index)
      ++round;
    return receive_step(rank, round, index - first_step_[round]);
  }

  std::uint64_t scratch_elements(Rank) const override { return (1 + rounds_) * area_size(); }

 private:
  static std::uint64_t distance(unsigned round) { return std::uint64_t{1} << round; }

  // Slots that a round sends, and slots whose last round it is.
  std::uint64_t packed_slots(unsigned round) const {
    const std::uint64_t below = distance(round);
    const std::uint64_t rest = ranks_ & (2 * below - 1);
    return (ranks_ >> (round + 1)) * below + (rest > below ? rest - below : 0);
  }
  std::uint64_t final_slots(unsigned round) const {
    return std::min<std::uint64_t>(2 * distance(round), ranks_) - distance(round);
  }
  // At most half of the slots have any one bit set.
  std::uint64_t area_size() const { return ranks_ / 2 * blocks_.largest(); }
  Location received(unsigned round, std::uint64_t offset) const {
    return in_scratch((1 + round) * area_size() + offset);
  }
  Location received_slot(Rank rank, unsigned round, std::uint64_t slot) const {
    const Rank sender = rank_before(rank, distance(round), ranks_);
    return received(round, bruck_packed(blocks_, sender, round, slot));
  }

  Step receive_step(Rank rank, unsigned round, std::uint64_t index) const {
    const std::uint64_t packed = packed_slots(round);
    if (index < packed) return pack_step(rank, round, index);
    if (index == packed) {
      const Rank sender = rank_before(rank, distance(round), ranks_);
      return make_recv(sender, received(round, 0), bruck_packed(blocks_, sender, round, ranks_));
    }
    const std::uint64_t slot = distance(round) + index - packed - 1;
    const std::uint64_t own = blocks_.count(rank);
    return make_copy(received_slot(rank, round, slot), in_output(rank_before(rank, slot, ranks_) * own), own);
  }

  Step pack_step(Rank rank, unsigned round, std::uint64_t index) const {
    const std::uint64_t low_bits = distance(round) - 1;
    const std::uint64_t slot = (index >> round << (round + 1)) | distance(round) | (index & low_bits);
    const Rank target = rank_after(rank, slot & ~low_bits, ranks_);
    // The last round in which this slot has moved says where it is.
    const std::uint64_t moved = slot & low_bits;
    const Location src = moved == 0
                             ? in_input(blocks_.offset(target))
                             : received_slot(rank, static_cast<unsigned>(std::bit_width(moved)) - 1, slot);
    // The message before this one was packed in the same place.
    return make_copy(src, in_scratch(bruck_packed(blocks_, rank, round, slot)), blocks_.count(target),
                     index == 0 ? after(kSend, round) : Dependency{});
  }

  const Rank ranks_;
  const unsigned rounds_;
  const Blocks blocks_;
  // The first of the receiving lane's steps that belong to a round: pack, receive, place.
  std::array<std::uint64_t, std::numeric_limits<Rank>::digits + 1> first_step_{};
};

}  // namespace

// Slots with bit `round` set come in runs of 2^round, and all of a run hold blocks for the same rank.
std::uint64_t bruck_packed(const Blocks& blocks, Rank rank, unsigned round, std::uint64_t slot) {
  const std::uint64_t run = std::uint64_t{1} << round;
  const std::uint64_t ranks = blocks.parts();
  const std::uint64_t full_runs = slot >> (round + 1);
  const std::uint64_t rest = (slot & run) != 0 ? slot & (run - 1) : 0;
  const std::uint64_t first = rank + run;  // target of the first run, not yet modulo ranks
  const auto larger_below = [&](std::uint64_t bound) {
    return count_below(first, round + 1, full_runs, bound);
  };
  const std::uint64_t larger_runs =
      blocks.even()
          ? 0
          : larger_below(blocks.larger()) + larger_below(ranks + blocks.larger()) - larger_below(ranks);
  std::uint64_t elements = blocks.smallest() * (full_runs * run) + larger_runs * run;
  if (rest == 0) return elements;
  const std::uint64_t target = first + full_runs * 2 * run;
  elements += rest * blocks.count(target < ranks ? target : target - ranks);
  return elements;
}

std::unique_ptr<Schedule> bruck_all_to_all(const Problem& problem) {
  return std::make_unique<BruckAllToAll>(problem);
}

}  // namespace cnuas::ccl
