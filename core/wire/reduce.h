// The payload of a COLLECTIVE_REDUCE frame: a partial result of a reduction, on its way to be folded further
// or back to those who wait for it. Little-endian.
//
//   offset  size  field
//   0       1     operator
//   1       1     type of the elements
//   2       2     rank: the first that the partial holds
//   4       4     group, as the switch's group table numbers it
//   8       4     sequence: which reduction of the group, counted from 0
//   12      4     chunk: which piece of the vector, counted from 0
//   16      4     count of elements in the partial, at least 1
//   20      2     contributions: ranks rank, rank + 1, ... are folded in, so many of them, at least 1
//   22      2     0
//   24      ...   the partial, count elements
//
// A reduction is a left fold in rank order. So whoever holds ranks 0..k-1 may fold in a partial whose rank is
// k, and knows from `contributions` how far that gets it; once all ranks of the group are in, it is the
// result.
#pragma once

#include "core/wire/descriptor_error.h"
#include "core/wire/frame.h"

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include <tl/expected.hpp>

namespace cnuas::wire {

// The values are those on the wire.
enum class ReduceOp : std::uint8_t { sum = 0, product = 1, min = 2, max = 3 };
inline constexpr std::size_t kReduceOps = 4;
std::string_view name(ReduceOp op);

enum class ElementType : std::uint8_t {
  int8 = 0,
  uint8 = 1,
  int32 = 2,
  uint32 = 3,
  int64 = 4,
  uint64 = 5,
  float32 = 6,
  float64 = 7,
};
inline constexpr std::size_t kElementTypes = 8;
std::string_view name(ElementType type);
std::size_t size_of(ElementType type);  // bytes

inline constexpr std::size_t kReduceBytes = 24;  // before the partial
inline constexpr std::size_t kMaxPartialBytes = kMaxPayloadBytes - kReduceBytes;
inline constexpr std::uint32_t kMaxRanks = 65'536;

struct Reduce {
  ReduceOp op = ReduceOp::sum;
  ElementType type = ElementType::int8;
  std::uint16_t rank = 0;
  std::uint32_t group = 0;
  std::uint32_t sequence = 0;
  std::uint32_t chunk = 0;
  std::uint32_t count = 0;
  std::uint16_t contributions = 1;
  std::uint64_t partial_bytes() const { return std::uint64_t{count} * size_of(type); }
  constexpr bool operator==(const Reduce&) const = default;
};

// The partial is payload.subspan(kReduceBytes). Errors, in the order in which they are checked: too_short,
// unknown_operation, unknown_data_type, reserved_not_zero, no_contribution, rank_out_of_range (rank +
// contributions > kMaxRanks), no_elements, count_mismatch.
tl::expected<Reduce, DescriptorError> decode_reduce(std::span<const std::byte> payload);

void encode(const Reduce& reduce, std::span<std::byte, kReduceBytes> out);

}  // namespace cnuas::wire
