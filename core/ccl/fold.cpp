#include "core/ccl/fold.h"

#include "core/ccl/fold_kernels.h"

namespace cnuas::ccl {

void fold(DataType type, Operator op, const std::byte* left, const std::byte* right, std::byte* out,
          std::uint64_t count) {
  static const FoldLevel& level = fold_levels().fastest();
  level.kernels[static_cast<unsigned>(type)][static_cast<unsigned>(op)](left, right, out, count);
}

}  // namespace cnuas::ccl
