#include "core/ccl/fold_kernels.h"

namespace cnuas::ccl {

FoldLevels fold_levels() {
  FoldLevels found{{portable_fold_level()}, 1};
#if defined(__x86_64__)
  __builtin_cpu_init();
  if (avx2_fold_level() != nullptr && __builtin_cpu_supports("avx2"))
    found.levels[found.count++] = avx2_fold_level();
  // The kernels do not need VBMI2. It tells the processors that run vectors of 64 bytes at full speed from
  // the first ones, which slow down everything on the core for them.
  if (avx512_fold_level() != nullptr && __builtin_cpu_supports("avx512f") &&
      __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512dq") &&
      __builtin_cpu_supports("avx512vbmi2"))
    found.levels[found.count++] = avx512_fold_level();
#endif
  return found;
}

}  // namespace cnuas::ccl
