// For x86 processors with AVX2.
#include "core/ccl/fold_vectors.h"

namespace cnuas::ccl {

#if defined(__AVX2__)

namespace {

// The instructions are written out because the compiler may swap the operands of + and *, and of two NaNs the
// processor returns the first operand.
struct Avx2 {
  static constexpr std::size_t kVectorBytes = 32;
  using Floats = VectorOf<float, kVectorBytes>::Type;
  using Doubles = VectorOf<double, kVectorBytes>::Type;

  [[gnu::always_inline]] static inline Floats add(Floats a, Floats b) {
    asm("vaddps %1, %0, %0" : "+x"(a) : "x"(b));
    return a;
  }
  [[gnu::always_inline]] static inline Doubles add(Doubles a, Doubles b) {
    asm("vaddpd %1, %0, %0" : "+x"(a) : "x"(b));
    return a;
  }
  [[gnu::always_inline]] static inline Floats multiply(Floats a, Floats b) {
    asm("vmulps %1, %0, %0" : "+x"(a) : "x"(b));
    return a;
  }
  [[gnu::always_inline]] static inline Doubles multiply(Doubles a, Doubles b) {
    asm("vmulpd %1, %0, %0" : "+x"(a) : "x"(b));
    return a;
  }
};

}  // namespace

const FoldLevel* avx2_fold_level() {
  static constexpr FoldLevel kLevel = make_fold_level<Avx2>("avx2");
  return &kLevel;
}

#else

const FoldLevel* avx2_fold_level() {
  return nullptr;
}

#endif

}  // namespace cnuas::ccl
