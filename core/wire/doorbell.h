// The payload of a DOORBELL frame.
//
//   offset  size  field
//   0       8     value, little-endian
#pragma once

#include "core/wire/byte_order.h"
#include "core/wire/descriptor_error.h"

#include <cstddef>
#include <cstdint>
#include <span>

#include <tl/expected.hpp>

namespace cnuas::wire {

inline constexpr std::size_t kDoorbellBytes = 8;

struct Doorbell {
  std::uint64_t value = 0;
  constexpr bool operator==(const Doorbell&) const = default;
};

// Errors: too_short, too_long.
inline tl::expected<Doorbell, DescriptorError> decode_doorbell(std::span<const std::byte> payload) {
  if (payload.size() < kDoorbellBytes) return tl::unexpected<DescriptorError>(DescriptorError::too_short);
  if (payload.size() > kDoorbellBytes) return tl::unexpected<DescriptorError>(DescriptorError::too_long);
  return Doorbell{load<std::uint64_t>(payload.data())};
}

inline void encode(const Doorbell& doorbell, std::span<std::byte, kDoorbellBytes> out) {
  store(out.data(), doorbell.value);
}

}  // namespace cnuas::wire
