#include "core/ccl/fold.h"

#include <cstring>
#include <type_traits>

namespace cnuas::ccl {
namespace {

// Signed integers are folded as unsigned ones of their size: overflow wraps instead of being undefined.
template <class T>
using Wrapping =
    typename std::conditional_t<std::is_integral_v<T>, std::make_unsigned<T>, std::type_identity<T>>::type;

struct Sum {
  template <class T>
  static T apply(T a, T b) {
    return static_cast<T>(static_cast<Wrapping<T>>(a) + static_cast<Wrapping<T>>(b));
  }
};

struct Product {
  template <class T>
  static T apply(T a, T b) {
    // Narrow types would be promoted to int, whose overflow is undefined; 1u promotes them to unsigned.
    if constexpr (std::is_integral_v<T>) {
      return static_cast<T>(1u * static_cast<Wrapping<T>>(a) * static_cast<Wrapping<T>>(b));
    } else {
      return a * b;
    }
  }
};

// b replaces a only where it is strictly better, or where it is NaN and a is not.
struct Min {
  template <class T>
  static T apply(T a, T b) {
    return (b < a || (b != b && a == a)) ? b : a;
  }
};

struct Max {
  template <class T>
  static T apply(T a, T b) {
    return (b > a || (b != b && a == a)) ? b : a;
  }
};

template <class T, class Op>
void fold_elements(const std::byte* left, const std::byte* right, std::byte* out, std::uint64_t count) {
  for (std::uint64_t i = 0; i < count; ++i) {
    T a;
    T b;
    std::memcpy(&a, left + i * sizeof(T), sizeof(T));
    std::memcpy(&b, right + i * sizeof(T), sizeof(T));
    const T result = Op::apply(a, b);
    std::memcpy(out + i * sizeof(T), &result, sizeof(T));
  }
}

template <class T>
void fold_type(Operator op, const std::byte* left, const std::byte* right, std::byte* out,
               std::uint64_t count) {
  switch (op) {
    case Operator::sum:
      return fold_elements<T, Sum>(left, right, out, count);
    case Operator::product:
      return fold_elements<T, Product>(left, right, out, count);
    case Operator::min:
      return fold_elements<T, Min>(left, right, out, count);
    case Operator::max:
      return fold_elements<T, Max>(left, right, out, count);
  }
}

}  // namespace

void fold(DataType type, Operator op, const std::byte* left, const std::byte* right, std::byte* out,
          std::uint64_t count) {
  switch (type) {
    case DataType::int8:
      return fold_type<std::int8_t>(op, left, right, out, count);
    case DataType::uint8:
      return fold_type<std::uint8_t>(op, left, right, out, count);
    case DataType::int32:
      return fold_type<std::int32_t>(op, left, right, out, count);
    case DataType::uint32:
      return fold_type<std::uint32_t>(op, left, right, out, count);
    case DataType::int64:
      return fold_type<std::int64_t>(op, left, right, out, count);
    case DataType::uint64:
      return fold_type<std::uint64_t>(op, left, right, out, count);
    case DataType::float32:
      return fold_type<float>(op, left, right, out, count);
    case DataType::float64:
      return fold_type<double>(op, left, right, out, count);
  }
}

}  // namespace cnuas::ccl
