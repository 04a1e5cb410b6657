#include "core/ccl/tree.h"

#include "core/ccl/blocks.h"
#include "core/ccl/make_step.h"
#include "core/ccl/pipelined_tree.h"

#include <bit>

namespace cnuas::ccl {
namespace {

class TreeBroadcast final : public Schedule {
 public:
  explicit TreeBroadcast(const Problem& problem) : Schedule(problem), ranks_(problem.ranks) {}

  Lane lanes() const override { return 2; }

  std::uint64_t steps(Rank rank, Lane lane) const override {
    return lane == kSend ? children(rank_before(rank, problem().root, ranks_)) : 1;
  }

  Step step(Rank rank, Lane lane, std::uint64_t index) const override {
    const std::uint64_t count = problem().count;
    const Rank place = rank_before(rank, problem().root, ranks_);
    if (lane == kReceive) {
      if (place == 0) return make_copy(in_input(0), in_output(0), count);
      const Rank parent = place & (place - 1);
      return make_recv(rank_after(parent, problem().root, ranks_), in_output(0), count);
    }
    const Rank child = place + (Rank{1} << (children(place) - 1 - index));
    const Rank peer = rank_after(child, problem().root, ranks_);
    if (place == 0) return make_send(peer, in_input(0), count);
    return make_send(peer, in_output(0), count, index == 0 ? after(kReceive, 1) : Dependency{});
  }

  std::uint64_t scratch_elements(Rank) const override { return 0; }

 private:
  static constexpr Lane kSend = 0;
  static constexpr Lane kReceive = 1;

  // Distances 1, 2, 4, ... below the lowest bit of a place, as far as there are ranks.
  std::uint64_t children(Rank place) const {
    const auto room = static_cast<std::uint64_t>(std::bit_width(ranks_ - 1 - place));
    const auto bits = static_cast<std::uint64_t>(std::countr_zero(place));
    return bits < room ? bits : room;
  }

  const Rank ranks_;
};

class TreeAllReduce final : public Schedule {
 public:
  explicit TreeAllReduce(const Problem& problem)
      : Schedule(problem),
        tree_(problem.ranks, TreeLayout::ascending, Block{0, problem.count}, problem.chunks, 0, 0) {}

  Lane lanes() const override { return PipelinedTree::kLanes; }
  std::uint64_t steps(Rank rank, Lane lane) const override { return tree_.steps(rank, lane); }
  Step step(Rank rank, Lane lane, std::uint64_t index) const override {
    return tree_.step(rank, lane, index);
  }
  std::uint64_t scratch_elements(Rank) const override { return 0; }

 private:
  const PipelinedTree tree_;
};

}  // namespace

std::unique_ptr<Schedule> tree_broadcast(const Problem& problem) {
  return std::make_unique<TreeBroadcast>(problem);
}
std::unique_ptr<Schedule> tree_all_reduce(const Problem& problem) {
  return std::make_unique<TreeAllReduce>(problem);
}

}  // namespace cnuas::ccl
