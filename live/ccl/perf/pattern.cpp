#include "live/ccl/perf/pattern.h"

#include <cmath>
#include <cstring>
#include <limits>
#include <type_traits>

namespace cnuas::live::perf {
namespace {

// SplitMix64's finaliser over a position: any element is found without those before it.
std::uint64_t hash(std::uint64_t rank, std::uint64_t index) {
  std::uint64_t z = (rank + 1) * 0x9E3779B97F4A7C15u + index * 0xD1B54A32D192ED03u;
  z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9u;
  z = (z ^ (z >> 27)) * 0x94D049BB133111EBu;
  return z ^ (z >> 31);
}

template <class T>
T power_of_two(int exponent) {
  using Bits = std::conditional_t<sizeof(T) == 4, std::uint32_t, std::uint64_t>;
  constexpr int kMantissa = std::numeric_limits<T>::digits - 1;
  const Bits bits = static_cast<Bits>(exponent + std::numeric_limits<T>::max_exponent - 1) << kMantissa;
  T value;
  std::memcpy(&value, &bits, sizeof value);
  return value;
}

// Sums: mixed magnitudes, so that every order of additions rounds to another result. Products: near one, so
// that they neither overflow nor vanish. Minimum and maximum: among zeros the left one wins, whatever its
// sign.
template <class T>
T value_at(cnuasccl_op_t op, int rank, std::uint64_t index) {
  const std::uint64_t bits = hash(static_cast<std::uint64_t>(rank), index);
  if constexpr (std::is_integral_v<T>) {
    return static_cast<T>(bits);
  } else {
    // [1, 2), of as many bits as there are: the low ones of `bits` have a use of their own.
    constexpr int kDigits = std::numeric_limits<T>::digits - 1;
    const T unit = T{1} + static_cast<T>(bits >> (64 - kDigits)) * power_of_two<T>(-kDigits);
    const T sign = (bits & 1) != 0 ? static_cast<T>(-1) : static_cast<T>(1);
    switch (op) {
      case CNUASCCL_PRODUCT:
        return sign * unit * power_of_two<T>((bits & 2) != 0 ? -1 : 0);
      case CNUASCCL_MIN:
      case CNUASCCL_MAX:
        if ((hash(~std::uint64_t{0}, index) & 7) == 0) return sign * T{0};
        return sign * unit;
      case CNUASCCL_SUM:
        break;
    }
    return sign * unit * power_of_two<T>(static_cast<int>(bits >> 8 & 15) - 8);
  }
}

template <class T>
T fold(cnuasccl_op_t op, T left, T right) {
  switch (op) {
    case CNUASCCL_SUM:
    case CNUASCCL_PRODUCT:
      if constexpr (std::is_integral_v<T>) {
        const auto a = static_cast<std::uint64_t>(left);
        const auto b = static_cast<std::uint64_t>(right);
        return static_cast<T>(op == CNUASCCL_SUM ? a + b : a * b);
      } else {
        return op == CNUASCCL_SUM ? left + right : left * right;
      }
    case CNUASCCL_MIN:
      return right < left ? right : left;
    case CNUASCCL_MAX:
      return right > left ? right : left;
  }
  return left;
}

template <class T>
T folded_at(cnuasccl_op_t op, int ranks, std::uint64_t index) {
  T result = value_at<T>(op, 0, index);
  for (int rank = 1; rank < ranks; ++rank)
    result = fold(op, result, value_at<T>(op, rank, index));
  return result;
}

template <class T>
T expected_at(const Row& row, int rank, int ranks, std::uint64_t at) {
  const std::uint64_t own = static_cast<std::uint64_t>(rank) * row.count;
  switch (row.collective) {
    case CNUASCCL_ALL_REDUCE:
      return folded_at<T>(row.op, ranks, at);
    case CNUASCCL_BROADCAST:
      return value_at<T>(row.op, row.root, at);
    case CNUASCCL_ALL_GATHER:
      return value_at<T>(row.op, static_cast<int>(at / row.count), at % row.count);
    case CNUASCCL_REDUCE_SCATTER:
      return folded_at<T>(row.op, ranks, own + at);
    case CNUASCCL_ALL_TO_ALL:
      break;
  }
  return value_at<T>(row.op, static_cast<int>(at / row.count), own + at % row.count);
}

// Whether two results of different orders of the same fold are near enough.
template <class T>
bool is_near(const Row& row, int rank, int ranks, std::uint64_t at, T got, T expected) {
  if (got == expected) return true;
  if constexpr (std::is_floating_point_v<T>) {
    if (!reduces(row.collective) || row.op == CNUASCCL_MIN || row.op == CNUASCCL_MAX) return false;
    const std::uint64_t index =
        row.collective == CNUASCCL_ALL_REDUCE ? at : static_cast<std::uint64_t>(rank) * row.count + at;
    double scale = std::fabs(static_cast<double>(expected));
    if (row.op == CNUASCCL_SUM) {
      scale = 0;
      for (int each = 0; each < ranks; ++each)
        scale += std::fabs(static_cast<double>(value_at<T>(row.op, each, index)));
    }
    const double difference = std::fabs(static_cast<double>(got) - static_cast<double>(expected));
    return difference <= scale * ranks * static_cast<double>(std::numeric_limits<T>::epsilon());
  }
  return false;
}

template <class T>
std::uint64_t count_wrong_of(const Row& row, int rank, int ranks, std::span<const std::byte> recv,
                             bool exact) {
  std::uint64_t wrong = 0;
  for (std::uint64_t at = 0; at < recv.size() / sizeof(T); ++at) {
    const T expected = expected_at<T>(row, rank, ranks, at);
    T got;
    std::memcpy(&got, recv.data() + at * sizeof(T), sizeof(T));
    if (std::memcmp(&got, &expected, sizeof(T)) == 0) continue;
    if (exact || !is_near(row, rank, ranks, at, got, expected)) ++wrong;
  }
  return wrong;
}

template <class Use>
auto with_type(cnuasccl_type_t type, const Use& use) {
  switch (type) {
    case CNUASCCL_INT8:
      return use(std::int8_t{});
    case CNUASCCL_UINT8:
      return use(std::uint8_t{});
    case CNUASCCL_INT32:
      return use(std::int32_t{});
    case CNUASCCL_UINT32:
      return use(std::uint32_t{});
    case CNUASCCL_INT64:
      return use(std::int64_t{});
    case CNUASCCL_UINT64:
      return use(std::uint64_t{});
    case CNUASCCL_FLOAT32:
      return use(float{});
    case CNUASCCL_FLOAT64:
      break;
  }
  return use(double{});
}

}  // namespace

void contribute(const Row& row, int rank, int ranks, std::span<std::byte> send) {
  with_type(row.type, [&](auto zero) {
    using T = decltype(zero);
    const std::uint64_t count = row.send_elements(ranks);
    for (std::uint64_t at = 0; at < count; ++at) {
      const T value = value_at<T>(row.op, rank, at);
      std::memcpy(send.data() + at * sizeof(T), &value, sizeof(T));
    }
  });
}

std::uint64_t count_wrong(const Row& row, int rank, int ranks, std::span<const std::byte> recv, bool exact) {
  return with_type(row.type,
                   [&](auto zero) { return count_wrong_of<decltype(zero)>(row, rank, ranks, recv, exact); });
}

}  // namespace cnuas::live::perf
