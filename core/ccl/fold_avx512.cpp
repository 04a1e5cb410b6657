// For x86 processors with AVX-512.
#include "core/ccl/fold_vectors.h"

namespace cnuas::ccl {

#if defined(__AVX512F__) && defined(__AVX512BW__) && defined(__AVX512DQ__)

namespace {

// The instructions are written out because the compiler may swap the operands of + and *, and of two NaNs the
// processor returns the first operand.
struct Avx512 {
  static constexpr std::size_t kVectorBytes = 64;
  using Floats = VectorOf<float, kVectorBytes>::Type;
  using Doubles = VectorOf<double, kVectorBytes>::Type;

  [[gnu::always_inline]] static inline Floats add(Floats a, Floats b) {
    asm("vaddps %1, %0, %0" : "+v"(a) : "v"(b));
    return a;
  }
  [[gnu::always_inline]] static inline Doubles add(Doubles a, Doubles b) {
    asm("vaddpd %1, %0, %0" : "+v"(a) : "v"(b));
    return a;
  }
  [[gnu::always_inline]] static inline Floats multiply(Floats a, Floats b) {
    asm("vmulps %1, %0, %0" : "+v"(a) : "v"(b));
    return a;
  }
  [[gnu::always_inline]] static inline Doubles multiply(Doubles a, Doubles b) {
    asm("vmulpd %1, %0, %0" : "+v"(a) : "v"(b));
    return a;
  }
};

}  // namespace

const FoldLevel* avx512_fold_level() {
  static constexpr FoldLevel kLevel = make_fold_level<Avx512>("avx512");
  return &kLevel;
}

#else

const FoldLevel* avx512_fold_level() {
  return nullptr;
}

#endif

}  // namespace cnuas::ccl
