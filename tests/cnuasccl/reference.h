// What a collective must give: computed serially, with arithmetic of its own.
#pragma once

#include "core/engine/random.h"
#include "live/ccl/cnuasccl.h"

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <type_traits>
#include <vector>

namespace cnuas::live::collectives {

using Bytes = std::vector<std::byte>;

inline std::size_t size_of(cnuasccl_type_t type) {
  constexpr std::size_t kSizes[] = {1, 1, 4, 4, 8, 8, 4, 8};
  return kSizes[type];
}

template <class T>
[[gnu::noinline]] T folded(cnuasccl_op_t op, T left, T right) {
  const auto unordered = [](T value) { return value != value; };
  switch (op) {
    case CNUASCCL_SUM:
    case CNUASCCL_PRODUCT:
      if constexpr (std::is_integral_v<T>) {
        const auto a = static_cast<std::uint64_t>(left);
        const auto b = static_cast<std::uint64_t>(right);
        return static_cast<T>(op == CNUASCCL_SUM ? a + b : a * b);
      } else {
        if (unordered(left)) return left;
        if (unordered(right)) return right;
        return op == CNUASCCL_SUM ? left + right : left * right;
      }
    case CNUASCCL_MIN:
      if (unordered(left)) return left;
      return unordered(right) || right < left ? right : left;
    case CNUASCCL_MAX:
      if (unordered(left)) return left;
      return unordered(right) || right > left ? right : left;
  }
  return left;
}

// Numbers whose sums show the order of the fold: mixed magnitudes, both zeros, infinities, denormals, NaNs.
template <class T>
T drawn(Random& random) {
  if constexpr (std::is_integral_v<T>) {
    return static_cast<T>(random.next());
  } else {
    using Limits = std::numeric_limits<T>;
    const T special[] = {T{0},
                         -T{0},
                         Limits::infinity(),
                         -Limits::infinity(),
                         Limits::quiet_NaN(),
                         Limits::denorm_min(),
                         Limits::max(),
                         Limits::lowest()};
    if (random.below(24) == 0) return special[random.below(8)];
    return static_cast<T>(std::ldexp(random.unit() - 0.5, static_cast<int>(random.below(60)) - 30));
  }
}

template <class Use>
void with_type(cnuasccl_type_t type, const Use& use) {
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
      return use(double{});
  }
}

// What rank `rank` contributes: the same for everyone who asks.
inline Bytes contribution(std::uint64_t seed, int rank, cnuasccl_type_t type, std::size_t count) {
  Bytes bytes(count * size_of(type));
  Random random(seed * 1000 + static_cast<std::uint64_t>(rank));
  with_type(type, [&](auto zero) {
    for (std::size_t i = 0; i < count; ++i) {
      const auto value = drawn<decltype(zero)>(random);
      std::memcpy(bytes.data() + i * sizeof value, &value, sizeof value);
    }
  });
  return bytes;
}

// Folds `from` to the right of `into`.
inline void fold_into(Bytes& into, const Bytes& from, cnuasccl_type_t type, cnuasccl_op_t op) {
  with_type(type, [&](auto zero) {
    using T = decltype(zero);
    for (std::size_t at = 0; at + sizeof(T) <= into.size(); at += sizeof(T)) {
      T left;
      T right;
      std::memcpy(&left, into.data() + at, sizeof(T));
      std::memcpy(&right, from.data() + at, sizeof(T));
      const T result = folded(op, left, right);
      std::memcpy(into.data() + at, &result, sizeof(T));
    }
  });
}

// The fold of all contributions, in the order of `first`, first + 1, ... around.
inline Bytes fold_all(const std::vector<Bytes>& contributions, cnuasccl_type_t type, cnuasccl_op_t op,
                      std::size_t first = 0) {
  Bytes result = contributions[first];
  for (std::size_t rank = 0; rank < contributions.size(); ++rank)
    if (rank != first) fold_into(result, contributions[rank], type, op);
  return result;
}

}  // namespace cnuas::live::collectives
