// The payload of a COLLECTIVE_GATHER frame: one piece of what one rank brings to a gathering. Little-endian.
//
//   offset  size  field
//   0       4     group, as the switch's group table numbers it
//   4       4     sequence: which gathering of the group, counted from 0
//   8       4     chunk: which piece of the rank's block, counted from 0
//   12      2     rank whose block it is
//   14      2     0
//   16      ...   the piece, any bytes
#pragma once

#include "core/wire/descriptor_error.h"
#include "core/wire/frame.h"

#include <cstddef>
#include <cstdint>
#include <span>

#include <tl/expected.hpp>

namespace cnuas::wire {

inline constexpr std::size_t kGatherBytes = 16;  // before the piece
inline constexpr std::size_t kMaxPieceBytes = kMaxPayloadBytes - kGatherBytes;

struct Gather {
  std::uint32_t group = 0;
  std::uint32_t sequence = 0;
  std::uint32_t chunk = 0;
  std::uint16_t rank = 0;
  constexpr bool operator==(const Gather&) const = default;
};

// The piece is payload.subspan(kGatherBytes). Errors: too_short, reserved_not_zero.
tl::expected<Gather, DescriptorError> decode_gather(std::span<const std::byte> payload);

void encode(const Gather& gather, std::span<std::byte, kGatherBytes> out);

}  // namespace cnuas::wire
