// For every processor: vectors of 16 bytes, which the compiler takes apart where there are none.
#include "core/ccl/fold_vectors.h"

namespace cnuas::ccl {
namespace {

// The compiler may swap the operands of + and *, and processors differ in which of two NaNs they return.
// Where the left operand is NaN it is therefore both of them.
struct Portable {
  static constexpr std::size_t kVectorBytes = 16;

  template <class Floats>
  [[gnu::always_inline]] static inline Floats add(Floats a, Floats b) {
    return a + (a != a ? a : b);
  }
  template <class Floats>
  [[gnu::always_inline]] static inline Floats multiply(Floats a, Floats b) {
    return a * (a != a ? a : b);
  }
};

}  // namespace

const FoldLevel* portable_fold_level() {
  static constexpr FoldLevel kLevel = make_fold_level<Portable>("portable");
  return &kLevel;
}

}  // namespace cnuas::ccl
