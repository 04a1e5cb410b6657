// The CnuasLink frame: a 12-byte header, then the payload. One frame per message of the transport.
//
//   offset  size  field
//   0       2     magic 0x484C: the bytes 'H','L' announce big-endian fields, 'L','H' little-endian ones
//   2       1     version, 0x01
//   3       1     type
//   4       2     source GPU
//   6       2     destination GPU; 0xFFFF: all
//   8       4     payload bytes
#pragma once

#include "core/topology/gpu_id.h"
#include "core/wire/byte_order.h"

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include <tl/expected.hpp>

namespace cnuas::wire {

inline constexpr std::size_t kHeaderBytes = 12;
inline constexpr std::size_t kMaxFrameBytes = 65'536;  // header included: what the QEMU device can send
inline constexpr std::size_t kMaxPayloadBytes = kMaxFrameBytes - kHeaderBytes;
inline constexpr std::uint8_t kVersion = 1;

// The values are those on the wire.
enum class FrameType : std::uint8_t {
  data = 0x01,
  doorbell = 0x02,
  atomic = 0x03,
  collective_reduce = 0x04,
  collective_gather = 0x05,
  discovery = 0x06,
  keepalive = 0x07,
};
inline constexpr std::size_t kFrameTypes = 7;
std::string_view name(FrameType type);  // "DATA", "DOORBELL", "ATOMIC", ...

struct FrameHeader {
  FrameType type = FrameType::data;
  ByteOrder order = ByteOrder::big;  // as received; how to encode
  GpuId source;
  GpuId destination;
  std::uint32_t payload_bytes = 0;
  constexpr bool operator==(const FrameHeader&) const = default;
};

// Why a message is not a frame, in the order in which it is checked.
enum class FrameError : std::uint8_t {
  empty,            // no bytes at all
  short_header,     // fewer than 12
  oversize,         // more than 65,536
  bad_magic,        // neither 'H','L' nor 'L','H'
  bad_version,      // not 0x01
  unknown_type,     // 0x00, or above 0x07
  length_mismatch,  // the payload length is not what follows the header
  bad_source,       // 0x0000 or 0xFFFF
  bad_destination,  // 0x0000
};
inline constexpr std::size_t kFrameErrors = 9;
std::string_view name(FrameError error);  // "bad_magic", ...

// Reads a whole message. Looks at the header alone: what a payload means is for whoever it is addressed to
// (doorbell.h, atomic.h, reduce.h, gather.h), so that a switch need not be as new as its endpoints.
tl::expected<FrameHeader, FrameError> decode(std::span<const std::byte> message);

// Writes the header in header.order. Precondition: payload_bytes <= kMaxPayloadBytes.
void encode(const FrameHeader& header, std::span<std::byte, kHeaderBytes> out);

// The order a frame that decode() accepted is written in.
ByteOrder byte_order(std::span<const std::byte> frame);

// Rewrites the header of a frame that decode() accepted, in place. Payloads are little-endian in either
// order.
void set_byte_order(std::span<std::byte> frame, ByteOrder order);

}  // namespace cnuas::wire
