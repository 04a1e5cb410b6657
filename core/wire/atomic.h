// The payload of an ATOMIC frame: one operation on eight bytes of the destination's memory, or the answer to
// it. Little-endian.
//
//   offset  size  field
//   0       1     operation
//   1       3     0
//   4       4     tag, which the answer carries; 0: no answer is wanted
//   8       8     address, in the destination's memory
//   16      8     value
//   24      8     compare_swap only: the value that must be found for the new one to be written
//
// The answer:
//
//   0       1     0x80
//   1       1     status
//   2       2     0
//   4       4     tag, not 0
//   8       8     what the memory held before; 0 unless the status is ok
#pragma once

#include "core/wire/descriptor_error.h"
#include "core/wire/window.h"

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
inline constexpr std::size_t kAtomicReplyBytes = 16;
inline constexpr std::uint8_t kAtomicReply = 0x80;  // in the place of an operation

struct Atomic {
  AtomicOp op = AtomicOp::add;
  std::uint64_t address = 0;
  std::uint64_t value = 0;
  std::uint64_t compare = 0;  // 0 unless op is compare_swap
  std::uint32_t tag = 0;
  constexpr std::size_t bytes() const {
    return op == AtomicOp::compare_swap ? kCompareSwapBytes : kAtomicBytes;
  }
  constexpr bool operator==(const Atomic&) const = default;
};

struct AtomicReply {
  WindowStatus status = WindowStatus::ok;
  std::uint32_t tag = 0;
  std::uint64_t before = 0;
  constexpr bool operator==(const AtomicReply&) const = default;
};

// What memory holds after `atomic` met `before`.
std::uint64_t apply(const Atomic& atomic, std::uint64_t before);

// Errors, in the order in which they are checked: too_short, unknown_operation, reserved_not_zero, too_short
// and too_long by what the operation needs.
tl::expected<Atomic, DescriptorError> decode_atomic(std::span<const std::byte> payload);

// Whether the payload of an ATOMIC frame calls itself an answer.
bool is_atomic_reply(std::span<const std::byte> payload);

// Errors, in this order: too_short, unknown_operation, too_long, reserved_not_zero, unknown_data_type (a
// status that is none).
tl::expected<AtomicReply, DescriptorError> decode_atomic_reply(std::span<const std::byte> payload);

void encode(const AtomicReply& reply, std::span<std::byte, kAtomicReplyBytes> out);

// Writes atomic.bytes() and returns how many. Precondition: out has room for them.
std::size_t encode(const Atomic& atomic, std::span<std::byte> out);

}  // namespace cnuas::wire
