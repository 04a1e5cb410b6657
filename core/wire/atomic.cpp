#include "core/wire/atomic.h"

#include "core/wire/byte_order.h"

#include <algorithm>
#include <cassert>

namespace cnuas::wire {
namespace {

constexpr std::size_t kReservedAt = 1;
constexpr std::size_t kTagAt = 4;
constexpr std::size_t kAddressAt = 8;
constexpr std::size_t kValueAt = 16;
constexpr std::size_t kCompareAt = 24;

}  // namespace

std::string_view name(AtomicOp op) {
  switch (op) {
    case AtomicOp::add:
      return "add";
    case AtomicOp::swap:
      return "swap";
    case AtomicOp::compare_swap:
      return "compare_swap";
    case AtomicOp::bit_and:
      return "and";
    case AtomicOp::bit_or:
      return "or";
    case AtomicOp::bit_xor:
      return "xor";
    case AtomicOp::min:
      return "min";
    case AtomicOp::max:
      return "max";
  }
  return "?";
}

std::uint64_t apply(const Atomic& atomic, std::uint64_t before) {
  switch (atomic.op) {
    case AtomicOp::add:
      return before + atomic.value;
    case AtomicOp::swap:
      return atomic.value;
    case AtomicOp::compare_swap:
      return before == atomic.compare ? atomic.value : before;
    case AtomicOp::bit_and:
      return before & atomic.value;
    case AtomicOp::bit_or:
      return before | atomic.value;
    case AtomicOp::bit_xor:
      return before ^ atomic.value;
    case AtomicOp::min:
      return std::min(before, atomic.value);
    case AtomicOp::max:
      return std::max(before, atomic.value);
  }
  return before;
}

tl::expected<Atomic, DescriptorError> decode_atomic(std::span<const std::byte> payload) {
  const auto refuse = [](DescriptorError error) { return tl::unexpected<DescriptorError>(error); };
  if (payload.size() < kAtomicBytes) return refuse(DescriptorError::too_short);
  const auto op = std::to_integer<std::uint8_t>(payload[0]);
  if (op >= kAtomicOps) return refuse(DescriptorError::unknown_operation);
  const std::span<const std::byte> reserved = payload.subspan(kReservedAt, kTagAt - kReservedAt);
  if (std::any_of(reserved.begin(), reserved.end(), [](std::byte each) { return each != std::byte{0}; })) {
    return refuse(DescriptorError::reserved_not_zero);
  }
  Atomic atomic;
  atomic.op = static_cast<AtomicOp>(op);
  if (payload.size() < atomic.bytes()) return refuse(DescriptorError::too_short);
  if (payload.size() > atomic.bytes()) return refuse(DescriptorError::too_long);
  atomic.tag = load<std::uint32_t>(&payload[kTagAt]);
  atomic.address = load<std::uint64_t>(&payload[kAddressAt]);
  atomic.value = load<std::uint64_t>(&payload[kValueAt]);
  if (atomic.op == AtomicOp::compare_swap) atomic.compare = load<std::uint64_t>(&payload[kCompareAt]);
  return atomic;
}

std::size_t encode(const Atomic& atomic, std::span<std::byte> out) {
  assert(out.size() >= atomic.bytes());
  std::fill_n(out.begin(), kAddressAt, std::byte{0});
  out[0] = static_cast<std::byte>(atomic.op);
  store(&out[kTagAt], atomic.tag);
  store(&out[kAddressAt], atomic.address);
  store(&out[kValueAt], atomic.value);
  if (atomic.op == AtomicOp::compare_swap) store(&out[kCompareAt], atomic.compare);
  return atomic.bytes();
}

bool is_atomic_reply(std::span<const std::byte> payload) {
  return !payload.empty() && std::to_integer<std::uint8_t>(payload[0]) == kAtomicReply;
}

tl::expected<AtomicReply, DescriptorError> decode_atomic_reply(std::span<const std::byte> payload) {
  const auto refuse = [](DescriptorError error) { return tl::unexpected<DescriptorError>(error); };
  if (payload.size() < kAtomicReplyBytes) return refuse(DescriptorError::too_short);
  if (!is_atomic_reply(payload)) return refuse(DescriptorError::unknown_operation);
  if (payload.size() > kAtomicReplyBytes) return refuse(DescriptorError::too_long);
  const auto status = std::to_integer<std::uint8_t>(payload[1]);
  AtomicReply reply;
  reply.tag = load<std::uint32_t>(&payload[kTagAt]);
  reply.before = load<std::uint64_t>(&payload[kAddressAt]);
  const bool refused = status != static_cast<std::uint8_t>(WindowStatus::ok);
  if (load<std::uint16_t>(&payload[2]) != 0 || reply.tag == 0 || (refused && reply.before != 0))
    return refuse(DescriptorError::reserved_not_zero);
  if (status >= kWindowStatuses) return refuse(DescriptorError::unknown_data_type);
  reply.status = static_cast<WindowStatus>(status);
  return reply;
}

void encode(const AtomicReply& reply, std::span<std::byte, kAtomicReplyBytes> out) {
  out[0] = std::byte{kAtomicReply};
  out[1] = static_cast<std::byte>(reply.status);
  store(&out[2], std::uint16_t{0});
  store(&out[kTagAt], reply.tag);
  store(&out[kAddressAt], reply.before);
}

}  // namespace cnuas::wire
