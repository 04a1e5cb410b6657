#include "core/wire/frame.h"

#include <cassert>

namespace cnuas::wire {
namespace {

constexpr std::byte kH{0x48};
constexpr std::byte kL{0x4C};

constexpr std::size_t kVersionAt = 2;
constexpr std::size_t kTypeAt = 3;
constexpr std::size_t kSourceAt = 4;
constexpr std::size_t kDestinationAt = 6;
constexpr std::size_t kLengthAt = 8;

}  // namespace

std::string_view name(FrameType type) {
  switch (type) {
    case FrameType::data:
      return "DATA";
    case FrameType::doorbell:
      return "DOORBELL";
    case FrameType::atomic:
      return "ATOMIC";
    case FrameType::collective_reduce:
      return "COLLECTIVE_REDUCE";
    case FrameType::collective_gather:
      return "COLLECTIVE_GATHER";
    case FrameType::discovery:
      return "DISCOVERY";
    case FrameType::keepalive:
      return "LINK_KEEPALIVE";
  }
  return "?";
}

std::string_view name(FrameError error) {
  switch (error) {
    case FrameError::empty:
      return "empty";
    case FrameError::short_header:
      return "short_header";
    case FrameError::oversize:
      return "oversize";
    case FrameError::bad_magic:
      return "bad_magic";
    case FrameError::bad_version:
      return "bad_version";
    case FrameError::unknown_type:
      return "unknown_type";
    case FrameError::length_mismatch:
      return "length_mismatch";
    case FrameError::bad_source:
      return "bad_source";
    case FrameError::bad_destination:
      return "bad_destination";
  }
  return "?";
}

tl::expected<FrameHeader, FrameError> decode(std::span<const std::byte> message) {
  const auto refuse = [](FrameError error) { return tl::unexpected<FrameError>(error); };
  if (message.empty()) return refuse(FrameError::empty);
  if (message.size() < kHeaderBytes) return refuse(FrameError::short_header);
  if (message.size() > kMaxFrameBytes) return refuse(FrameError::oversize);
  const std::byte* bytes = message.data();
  const bool big = bytes[0] == kH && bytes[1] == kL;
  const bool little = bytes[0] == kL && bytes[1] == kH;
  if (!big && !little) return refuse(FrameError::bad_magic);
  if (std::to_integer<std::uint8_t>(bytes[kVersionAt]) != kVersion) return refuse(FrameError::bad_version);
  const auto type = std::to_integer<std::uint8_t>(bytes[kTypeAt]);
  if (type == 0 || type > kFrameTypes) return refuse(FrameError::unknown_type);

  FrameHeader header;
  header.type = static_cast<FrameType>(type);
  header.order = big ? ByteOrder::big : ByteOrder::little;
  header.source = GpuId{load<std::uint16_t>(bytes + kSourceAt, header.order)};
  header.destination = GpuId{load<std::uint16_t>(bytes + kDestinationAt, header.order)};
  header.payload_bytes = load<std::uint32_t>(bytes + kLengthAt, header.order);
  if (header.payload_bytes != message.size() - kHeaderBytes) return refuse(FrameError::length_mismatch);
  if (!header.source.usable()) return refuse(FrameError::bad_source);
  if (header.destination == kNoGpu) return refuse(FrameError::bad_destination);
  return header;
}

void encode(const FrameHeader& header, std::span<std::byte, kHeaderBytes> out) {
  assert(header.payload_bytes <= kMaxPayloadBytes);
  const bool big = header.order == ByteOrder::big;
  out[0] = big ? kH : kL;
  out[1] = big ? kL : kH;
  out[kVersionAt] = std::byte{kVersion};
  out[kTypeAt] = static_cast<std::byte>(header.type);
  store(&out[kSourceAt], header.source.value, header.order);
  store(&out[kDestinationAt], header.destination.value, header.order);
  store(&out[kLengthAt], header.payload_bytes, header.order);
}

ByteOrder byte_order(std::span<const std::byte> frame) {
  return frame[0] == kH ? ByteOrder::big : ByteOrder::little;
}

void set_byte_order(std::span<std::byte> frame, ByteOrder order) {
  const tl::expected<FrameHeader, FrameError> decoded = decode(frame);
  if (!decoded) return;
  FrameHeader header = *decoded;
  header.order = order;
  encode(header, frame.first<kHeaderBytes>());
}

}  // namespace cnuas::wire
