// The arithmetic that generators stand on.
#include "core/ccl/blocks.h"
#include "core/ccl/bruck.h"
#include "core/ccl/core_ranks.h"
#include "core/ccl/pipelined_tree.h"
#include "tests/ccl/shipped.h"

#include <algorithm>
#include <bit>

#include <gtest/gtest.h>
#include <rapidcheck.h>
#include <rapidcheck/gtest.h>

namespace cnuas::ccl {
namespace {

RC_GTEST_PROP(BlocksTest, AgreesWithPartition, ()) {
  const auto count = *rc::gen::inRange<std::uint64_t>(0, 1000);
  const auto parts = *rc::gen::inRange<std::uint64_t>(1, 70);
  const Blocks blocks(count, parts);
  std::uint64_t next = 0;
  for (std::uint64_t i = 0; i < parts; ++i) {
    const Block block = partition(count, parts, i);
    RC_ASSERT(blocks.at(i).offset == block.offset);
    RC_ASSERT(blocks.at(i).count == block.count);
    RC_ASSERT(block.offset == next);
    RC_ASSERT(block.count <= blocks.largest());
    RC_ASSERT(block.count >= blocks.smallest());
    next += block.count;
  }
  RC_ASSERT(next == count);
  RC_ASSERT(blocks.offset(parts) == count);
}

TEST(PipelineChunksTest, NoMoreThanElementsAndAtLeastOne) {
  EXPECT_EQ(pipeline_chunks(10, 4).parts(), 4u);
  EXPECT_EQ(pipeline_chunks(3, 4).parts(), 3u);
  EXPECT_EQ(pipeline_chunks(0, 4).parts(), 1u);
}

TEST(CoreRanksTest, ExtrasLeanOnTheirLowerNeighbour) {
  for (Rank ranks = 1; ranks <= 70; ++ranks) {
    const CoreRanks core(ranks);
    EXPECT_EQ(core.size(), std::bit_floor(ranks));
    EXPECT_EQ(core.rank_of(core.size()), ranks);
    Rank next = 0;
    for (Rank c = 0; c < core.size(); ++c) {
      EXPECT_EQ(core.rank_of(c), next);
      EXPECT_FALSE(core.is_extra(next));
      EXPECT_EQ(core.core_of(next), c);
      ++next;
      if (!core.has_extra(c)) continue;
      EXPECT_TRUE(core.is_extra(next));
      ++next;
    }
    EXPECT_EQ(next, ranks);
  }
}

class TreeLayoutTest : public testing::TestWithParam<TreeLayout> {};
INSTANTIATE_TEST_SUITE_P(Layouts, TreeLayoutTest,
                         testing::Values(TreeLayout::ascending, TreeLayout::mirrored, TreeLayout::shifted));

TEST_P(TreeLayoutTest, IsOneTreeOfLeastDepth) {
  for (Rank ranks = 1; ranks <= 70; ++ranks) {
    const PipelinedTree tree(ranks, GetParam(), Block{0, 8}, 1, 0, 0);
    Rank roots = 0;
    for (Rank rank = 0; rank < ranks; ++rank) {
      const PipelinedTree::Links links = tree.links(rank);
      roots += links.parent == PipelinedTree::kNone ? 1 : 0;
      for (const Rank child : {links.lower, links.upper}) {
        if (child != PipelinedTree::kNone) {
          EXPECT_EQ(tree.links(child).parent, rank);
        }
      }
      int depth = 0;
      for (Rank up = links.parent; up != PipelinedTree::kNone; up = tree.links(up).parent)
        ASSERT_LE(++depth, std::bit_width(ranks) - 1) << ranks << " ranks, rank " << rank;
    }
    EXPECT_EQ(roots, 1u);
  }
}

TEST(DoubleTreeTest, InnerRanksOfOneTreeAreLeavesOfTheOther) {
  for (Rank ranks = 2; ranks <= 70; ++ranks) {
    const TreeLayout layout = ranks % 2 == 0 ? TreeLayout::mirrored : TreeLayout::shifted;
    const PipelinedTree first(ranks, TreeLayout::ascending, Block{0, 8}, 1, 0, 0);
    const PipelinedTree second(ranks, layout, Block{0, 8}, 1, 0, 0);
    for (Rank rank = 0; rank < ranks; ++rank)
      EXPECT_FALSE(first.links(rank).children() > 0 && second.links(rank).children() > 0)
          << ranks << " ranks, rank " << rank;
  }
}

RC_GTEST_PROP(BruckTest, PackedIsTheSumOfTheSlotsBefore, ()) {
  const auto ranks = *rc::gen::inRange<Rank>(2, 70);
  const auto count = *rc::gen::inRange<std::uint64_t>(0, 300);
  const auto rank = *rc::gen::inRange<Rank>(0, ranks);
  const Blocks blocks(count, ranks);
  for (unsigned round = 0; (Rank{1} << round) < ranks; ++round) {
    const Rank bit = Rank{1} << round;
    std::uint64_t sum = 0;
    for (Rank slot = 0; slot < ranks; ++slot) {
      if ((slot & bit) == 0) continue;
      RC_ASSERT(bruck_packed(blocks, rank, round, slot) == sum);
      sum += blocks.count((rank + (slot & ~(bit - 1))) % ranks);
    }
    RC_ASSERT(bruck_packed(blocks, rank, round, ranks) == sum);
  }
}

}  // namespace
}  // namespace cnuas::ccl
