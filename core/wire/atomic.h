// The payload of an ATOMIC frame: one operation on eight bytes of the destination's memory. Little-endian.
//
//   offset  size  field
//   0       1     operation
//   1       7     0
//   8       8     address, in the destination's memory
//   16      8     value
//   24      8     compare_swap only: the value that must be found for the new one to be written
#pragma once

#include "core/wire/descriptor_error.h"

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include <tl/expected.hpp>

namespace cnuas::wire {

// The values are those on the wire; min and max take 64 bits without a sign.
enum class AtomicOp : std::uint8_t {
  add = 0,
  swap = 1,
  compare_swap = 2,
  bit_and = 3,
  bit_or = 4,
  bit_xor = 5,
  min = 6,
  max = 7,
};
inline constexpr std::size_t kAtomicOps = 8;
std::string_view name(AtomicOp op);  // "add", ..., "and", "or", "xor"

inline constexpr std::size_t kAtomicBytes = 24;
inline constexpr std::size_t kCompareSwapBytes = 32;

struct Atomic {
  AtomicOp op = AtomicOp::add;
  std::uint64_t address = 0;
  std::uint64_t value = 0;
  std::uint64_t compare = 0;  // 0 unless op is compare_swap
  constexpr std::size_t bytes() const {
    return op == AtomicOp::compare_swap ? kCompareSwapBytes : kAtomicBytes;
  }
  constexpr bool operator==(const Atomic&) const = default;
};

// What memory holds after `atomic` met `before`.
std::uint64_t apply(const Atomic& atomic, std::uint64_t before);

// Errors, in the order in which they are checked: too_short, unknown_operation, reserved_not_zero, too_short
// and too_long by what the operation needs.
tl::expected<Atomic, DescriptorError> decode_atomic(std::span<const std::byte> payload);

// Writes atomic.bytes() and returns how many. Precondition: out has room for them.
std::size_t encode(const Atomic& atomic, std::span<std::byte> out);

}  // namespace cnuas::wire
