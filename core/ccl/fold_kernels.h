// The kernels behind fold.h, one set for each level of vector instructions. All levels give the same bits.
#pragma once

#include <cstddef>
#include <cstdint>

namespace cnuas::ccl {

// fold() of one type and operator; its contract is fold's.
using FoldKernel = void (*)(const std::byte* left, const std::byte* right, std::byte* out,
                            std::uint64_t count);

struct FoldLevel {
  const char* name;
  FoldKernel kernels[8][4];  // by DataType and Operator
};

// The levels that this processor runs, from the slowest on: at least "portable".
struct FoldLevels {
  const FoldLevel* levels[3];
  std::uint32_t count;

  const FoldLevel* const* begin() const { return levels; }
  const FoldLevel* const* end() const { return levels + count; }
  const FoldLevel& fastest() const { return *levels[count - 1]; }
};
FoldLevels fold_levels();

// A level whether or not this processor runs it; null where the package was built without it.
const FoldLevel* portable_fold_level();
const FoldLevel* avx2_fold_level();
const FoldLevel* avx512_fold_level();

}  // namespace cnuas::ccl
