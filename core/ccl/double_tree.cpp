#include "core/ccl/double_tree.h"

#include <algorithm>

namespace cnuas::ccl {
namespace {

class DoubleTreeAllReduce final : public Schedule {
 public:
  explicit DoubleTreeAllReduce(const Problem& problem)
      : Schedule(problem), trees_(double_tree_parts(problem)) {}

  Lane lanes() const override { return 2 * PipelinedTree::kLanes; }
  std::uint64_t steps(Rank rank, Lane lane) const override {
    return tree_of(lane).steps(rank, lane % PipelinedTree::kLanes);
  }
  Step step(Rank rank, Lane lane, std::uint64_t index) const override {
    return tree_of(lane).step(rank, lane % PipelinedTree::kLanes, index);
  }
  std::uint64_t scratch_elements(Rank) const override { return 0; }

 private:
  const PipelinedTree& tree_of(Lane lane) const { return trees_[lane / PipelinedTree::kLanes]; }

  const std::array<PipelinedTree, 2> trees_;
};

}  // namespace

std::array<PipelinedTree, 2> double_tree_parts(const Problem& problem) {
  const TreeLayout other = problem.ranks % 2 == 0 ? TreeLayout::mirrored : TreeLayout::shifted;
  const Blocks halves(problem.count, 2);
  const Blocks chunks(problem.chunks, 2);
  return {PipelinedTree(problem.ranks, TreeLayout::ascending, halves.at(0), chunks.count(0), 0, 0),
          PipelinedTree(problem.ranks, other, halves.at(1), std::max<std::uint64_t>(chunks.count(1), 1),
                        PipelinedTree::kLanes, 2)};
}

std::unique_ptr<Schedule> double_tree_all_reduce(const Problem& problem) {
  return std::make_unique<DoubleTreeAllReduce>(problem);
}

}  // namespace cnuas::ccl
