// Folding allocates nothing: this program counts every operator new.
#include "core/ccl/fold.h"
#include "core/ccl/fold_kernels.h"
#include "tests/counted_allocations.h"

#include <gtest/gtest.h>

namespace cnuas::ccl {
namespace {

using cnuas::test::allocations;

TEST(FoldAllocation, TheCounterCounts) {
  const std::uint64_t before = allocations;
  delete new int(1);
  EXPECT_EQ(allocations, before + 1);
}

// Not even the first time, when the level is chosen; whole vectors and parts, aligned and not.
TEST(FoldAllocation, None) {
  alignas(64) std::byte left[4096] = {};
  alignas(64) std::byte right[4096] = {};
  const std::uint64_t before = allocations;
  for (unsigned type = 0; type < 8; ++type)
    for (unsigned op = 0; op < 4; ++op)
      for (const std::size_t offset : {0, 1, 4})
        for (const std::uint64_t count : {0, 1, 100, 500}) {
          fold(static_cast<DataType>(type), static_cast<Operator>(op), left + offset, right, left + offset,
               count);
          for (const FoldLevel* level : fold_levels())
            level->kernels[type][op](left, right + offset, left, count);
        }
  EXPECT_EQ(allocations, before);
}

}  // namespace
}  // namespace cnuas::ccl
