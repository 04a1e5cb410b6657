#include "live/ccl/scratch.h"

#include <cstring>
#include <limits>
#include <new>

#include <gtest/gtest.h>

namespace cnuas::live::collectives {
namespace {

TEST(ScratchTest, IsKeptWhileItIsNeeded) {
  Scratch scratch;
  EXPECT_EQ(scratch.take(0), nullptr);
  std::byte* first = scratch.take(1000);
  ASSERT_NE(first, nullptr);
  std::memset(first, 1, 1000);
  EXPECT_EQ(scratch.take(10), first);
  constexpr std::size_t kMuch = Scratch::kAlwaysKept + (8 << 20);
  std::byte* much = scratch.take(kMuch);
  EXPECT_GE(scratch.capacity(), kMuch);
  much[kMuch - 1] = std::byte{1};
  for (int round = 0; round < 3; ++round) {
    for (int i = 0; i + 1 < Scratch::kIdleCalls; ++i)
      EXPECT_EQ(scratch.take(10), much);
    EXPECT_EQ(scratch.take(kMuch), much);
  }
}

TEST(ScratchTest, IsGivenBackWhenItIsNot) {
  Scratch scratch;
  scratch.take(Scratch::kAlwaysKept + 1);
  for (int i = 0; i < Scratch::kIdleCalls; ++i)
    ASSERT_NE(scratch.take(100), nullptr);
  EXPECT_LT(scratch.capacity(), Scratch::kAlwaysKept);
  scratch.take(Scratch::kAlwaysKept);
  const std::size_t kept = scratch.capacity();
  for (int i = 0; i < 3 * Scratch::kIdleCalls; ++i)
    scratch.take(100);
  EXPECT_EQ(scratch.capacity(), kept);
}

TEST(ScratchTest, ThatCannotBeHadLeavesNone) {
  Scratch scratch;
  scratch.take(1000);
  EXPECT_THROW(scratch.take(std::numeric_limits<std::size_t>::max()), std::bad_alloc);
  EXPECT_EQ(scratch.capacity(), 0u);
  EXPECT_NE(scratch.take(1000), nullptr);
}

}  // namespace
}  // namespace cnuas::live::collectives
