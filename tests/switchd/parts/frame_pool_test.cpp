#include "live/switchd/frame_pool.h"

#include <cstdint>
#include <cstring>
#include <set>
#include <vector>

#include <gtest/gtest.h>

namespace cnuas::live {
namespace {

TEST(FramePool, GivesBuffersThatDoNotOverlap) {
  FramePool pool;
  std::vector<FramePool::BufferId> taken;
  for (int i = 0; i < 100; ++i) {
    taken.push_back(pool.take());
    std::memset(pool.data(taken.back()), i, FramePool::kBlockBytes);
  }
  EXPECT_EQ(std::set<FramePool::BufferId>(taken.begin(), taken.end()).size(), 100u);
  for (std::size_t i = 0; i < taken.size(); ++i) {
    EXPECT_EQ(pool.data(taken[i])[0], std::byte{static_cast<unsigned char>(i)});
    EXPECT_EQ(pool.data(taken[i])[FramePool::kBlockBytes - 1], std::byte{static_cast<unsigned char>(i)});
  }
}

TEST(FramePool, ReusesTheLastOneFirst) {
  FramePool pool;
  pool.take();
  const FramePool::BufferId second = pool.take();
  std::byte* const block = pool.data(second);
  pool.give_back(second);
  EXPECT_FALSE(pool.in_use(second));
  const FramePool::BufferId again = pool.take();
  EXPECT_EQ(again, second);
  EXPECT_EQ(pool.data(again), block);
}

TEST(FramePool, BlocksBeginWithAPage) {
  FramePool pool;
  for (int i = 0; i < 50; ++i)
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(pool.data(pool.take())) % 4096, 0u);
}

TEST(FramePool, LeavesFramesWhereTheyAreWhileFewWait) {
  FramePool pool;
  const FramePool::BufferId small = pool.take();
  std::byte* const block = pool.data(small);
  pool.shrink(small, 100);
  EXPECT_EQ(pool.data(small), block);
}

TEST(FramePool, ShrinkingKeepsTheBytesAndFreesTheBlock) {
  FramePool pool;
  for (std::size_t i = 0; i < FramePool::kBlocksAtHand; ++i)
    pool.take();
  const FramePool::BufferId small = pool.take();
  std::byte* const block = pool.data(small);
  std::memset(block, 7, 100);
  pool.shrink(small, 100);
  EXPECT_NE(pool.data(small), block);
  const FramePool::BufferId next = pool.take();
  EXPECT_EQ(pool.data(next), block);
  std::memset(pool.data(next), 9, FramePool::kBlockBytes);
  for (int i = 0; i < 100; ++i)
    ASSERT_EQ(pool.data(small)[i], std::byte{7});
  pool.shrink(small, 50);  // once more does nothing
  EXPECT_EQ(pool.data(small)[0], std::byte{7});
  pool.give_back(small);
  EXPECT_EQ(pool.buffers_in_use(), FramePool::kBlocksAtHand + 1);
}

TEST(FramePool, LeavesLargeFramesWhereTheyAre) {
  FramePool pool;
  for (std::size_t i = 0; i < FramePool::kBlocksAtHand; ++i)
    pool.take();
  const FramePool::BufferId large = pool.take();
  std::byte* const block = pool.data(large);
  pool.shrink(large, 60'000);
  EXPECT_EQ(pool.data(large), block);
}

}  // namespace
}  // namespace cnuas::live
