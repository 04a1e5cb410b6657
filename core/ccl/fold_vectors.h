// What the levels of fold_kernels.h share: the loop over vectors, and the operators.
//
// Each level is a source file that is compiled for the processors it is meant for. Its code must not end up
// in place of another file's: a Target is a type of an unnamed namespace, so that everything made from these
// templates belongs to that file alone, and nothing else is called but memcpy.
//
// A Target has kVectorBytes, and add and multiply for vectors of float and of double: one rounding an
// element, and of two NaNs the left one, made quiet.
#pragma once

#include "core/ccl/collective.h"
#include "core/ccl/fold_kernels.h"

#include <cfloat>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <type_traits>

namespace cnuas::ccl {

static_assert(FLT_EVAL_METHOD == 0, "float must be computed as float, or a result is rounded twice");

template <class T, std::size_t bytes>
struct VectorOf {
  typedef T Type __attribute__((vector_size(bytes)));
};
template <class Target, class T>
using Vector = typename VectorOf<T, Target::kVectorBytes>::Type;

template <class Target, class T>
struct Sum {
  [[gnu::always_inline]] static inline Vector<Target, T> of(Vector<Target, T> a, Vector<Target, T> b) {
    if constexpr (std::is_floating_point_v<T>) {
      return Target::add(a, b);
    } else {
      return a + b;
    }
  }
};

template <class Target, class T>
struct Product {
  // x86 multiplies no bytes, and elsewhere this costs little more. Of two bytes taken as one number, the
  // product's low byte is that of the low bytes, and with the left one moved down and the right one's low
  // byte cleared, its high byte that of the high ones.
  [[gnu::always_inline]] static inline Vector<Target, T> bytes_of_pairs(Vector<Target, T> a,
                                                                        Vector<Target, T> b) {
    using Pairs = Vector<Target, std::uint16_t>;
    const Pairs left = reinterpret_cast<Pairs>(a);
    const Pairs right = reinterpret_cast<Pairs>(b);
    return reinterpret_cast<Vector<Target, T>>(((left * right) & 0x00FF) | ((left >> 8) * (right & 0xFF00)));
  }

  [[gnu::always_inline]] static inline Vector<Target, T> of(Vector<Target, T> a, Vector<Target, T> b) {
    if constexpr (std::is_floating_point_v<T>) {
      return Target::multiply(a, b);
    } else if constexpr (sizeof(T) == 1) {
      return bytes_of_pairs(a, b);
    } else {
      return a * b;
    }
  }
};

// b replaces a only where it is strictly better, or where it is NaN and a is not: neither is a NaN better,
// nor is anything better than a NaN.
template <class Target, class T>
struct Min {
  [[gnu::always_inline]] static inline Vector<Target, T> of(Vector<Target, T> a, Vector<Target, T> b) {
    if constexpr (std::is_floating_point_v<T>) {
      return (~(b >= a) & (a == a)) ? b : a;
    } else {
      return b < a ? b : a;
    }
  }
};

template <class Target, class T>
struct Max {
  [[gnu::always_inline]] static inline Vector<Target, T> of(Vector<Target, T> a, Vector<Target, T> b) {
    if constexpr (std::is_floating_point_v<T>) {
      return (~(b <= a) & (a == a)) ? b : a;
    } else {
      return b > a ? b : a;
    }
  }
};

// The vector at an address of any alignment.
template <class Target, class T>
[[gnu::always_inline]] inline Vector<Target, T> load(const std::byte* from) {
  Vector<Target, T> vector;
  std::memcpy(&vector, from, sizeof vector);
  return vector;
}

template <class Target, class T, template <class, class> class Op>
[[gnu::always_inline]] inline Vector<Target, T> folded(const std::byte* left, const std::byte* right) {
  return Op<Target, T>::of(load<Target, T>(left), load<Target, T>(right));
}

// Less than a vector: the same instructions on padded copies.
template <class Target, class T, template <class, class> class Op>
[[gnu::noinline]] void fold_part(const std::byte* left, const std::byte* right, std::byte* out,
                                 std::size_t bytes) {
  std::byte padded_left[Target::kVectorBytes] = {};
  std::byte padded_right[Target::kVectorBytes] = {};
  std::memcpy(padded_left, left, bytes);
  std::memcpy(padded_right, right, bytes);
  const Vector<Target, T> result = folded<Target, T, Op>(padded_left, padded_right);
  std::memcpy(out, &result, bytes);
}

// The first and the last vector overlap their neighbours, so that no element is left over and those between
// begin where `out` is aligned, if it can be: a store that crosses cache lines costs two. Since `out` may be
// an operand, both are computed before anything is written, and written last.
template <class Target, class T, template <class, class> class Op>
void fold_elements(const std::byte* left, const std::byte* right, std::byte* out, std::uint64_t count) {
  constexpr std::size_t kBytes = Target::kVectorBytes;
  const std::size_t bytes = count * sizeof(T);
  if (bytes < kBytes) {
    if (bytes != 0) fold_part<Target, T, Op>(left, right, out, bytes);
    return;
  }
  const std::size_t tail = bytes - kBytes;
  const Vector<Target, T> first = folded<Target, T, Op>(left, right);
  const Vector<Target, T> last = folded<Target, T, Op>(left + tail, right + tail);

  const std::size_t beyond = reinterpret_cast<std::uintptr_t>(out) % kBytes;
  std::size_t at = beyond % sizeof(T) == 0 ? kBytes - beyond : kBytes;
  const auto fold_vector = [&](std::size_t place) __attribute__((always_inline)) {
    const Vector<Target, T> result = folded<Target, T, Op>(left + place, right + place);
    std::memcpy(out + place, &result, kBytes);
  };
  for (; at + 4 * kBytes <= bytes; at += 4 * kBytes) {
    fold_vector(at);
    fold_vector(at + kBytes);
    fold_vector(at + 2 * kBytes);
    fold_vector(at + 3 * kBytes);
  }
  for (; at + kBytes <= bytes; at += kBytes)
    fold_vector(at);

  std::memcpy(out, &first, kBytes);
  std::memcpy(out + tail, &last, kBytes);
}

// Integers are added and multiplied as unsigned ones of their size: they wrap, and signed ones give the same
// bits.
template <class T>
using Wrapping =
    typename std::conditional_t<std::is_integral_v<T>, std::make_unsigned<T>, std::type_identity<T>>::type;

template <class Target, class... Types>
constexpr FoldLevel fold_level_of_types(const char* name) {
  return {name,
          {{&fold_elements<Target, Wrapping<Types>, Sum>, &fold_elements<Target, Wrapping<Types>, Product>,
            &fold_elements<Target, Types, Min>, &fold_elements<Target, Types, Max>}...}};
}

// In the order of DataType and Operator.
template <class Target>
constexpr FoldLevel make_fold_level(const char* name) {
  return fold_level_of_types<Target, std::int8_t, std::uint8_t, std::int32_t, std::uint32_t, std::int64_t,
                             std::uint64_t, float, double>(name);
}

}  // namespace cnuas::ccl
