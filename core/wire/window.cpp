#include "core/wire/window.h"

#include "core/wire/byte_order.h"

#include <algorithm>
#include <cstring>

namespace cnuas::wire {
namespace {

constexpr std::size_t kVersionAt = 8;
constexpr std::size_t kKindAt = 9;
constexpr std::size_t kWindowAt = 10;
constexpr std::size_t kTagAt = 12;

using Decoded = tl::expected<WindowTraffic, DescriptorError>;

Decoded refuse(DescriptorError error) {
  return tl::unexpected<DescriptorError>(error);
}

bool all_zero(std::span<const std::byte> bytes) {
  return std::all_of(bytes.begin(), bytes.end(), [](std::byte each) { return each == std::byte{0}; });
}

std::uint16_t window_in(std::span<const std::byte> payload) {
  return load<std::uint16_t>(&payload[kWindowAt]);
}
std::uint32_t tag_in(std::span<const std::byte> payload) {
  return load<std::uint32_t>(&payload[kTagAt]);
}

std::optional<WindowStatus> status_in(std::byte value) {
  if (std::to_integer<std::size_t>(value) >= kWindowStatuses) return std::nullopt;
  return static_cast<WindowStatus>(value);
}

std::optional<DescriptorError> wrong_length(std::span<const std::byte> payload, std::size_t wanted) {
  if (payload.size() < wanted) return DescriptorError::too_short;
  if (payload.size() > wanted) return DescriptorError::too_long;
  return std::nullopt;
}

Decoded decode_message(std::span<const std::byte> payload) {
  if (window_in(payload) != 0 || tag_in(payload) != 0) return refuse(DescriptorError::reserved_not_zero);
  return WrappedMessage{};
}

Decoded decode_put(std::span<const std::byte> payload) {
  std::span<const std::byte> rest = payload.subspan(kWindowHeadBytes);
  do {
    if (rest.size() < kPutSegmentBytes) return refuse(DescriptorError::too_short);
    if (!all_zero(rest.subspan(12, 4))) return refuse(DescriptorError::reserved_not_zero);
    const auto bytes = load<std::uint32_t>(&rest[8]);
    if (bytes == 0) return refuse(DescriptorError::no_elements);
    if (bytes > rest.size() - kPutSegmentBytes) return refuse(DescriptorError::too_short);
    rest = rest.subspan(kPutSegmentBytes + bytes);
  } while (!rest.empty());
  return Put{window_in(payload), tag_in(payload)};
}

Decoded decode_get(std::span<const std::byte> payload) {
  if (const auto error = wrong_length(payload, kGetBytes)) return refuse(*error);
  if (!all_zero(payload.subspan(28, 4))) return refuse(DescriptorError::reserved_not_zero);
  const Get get{window_in(payload), tag_in(payload), load<std::uint64_t>(&payload[16]),
                load<std::uint32_t>(&payload[24])};
  if (get.bytes == 0) return refuse(DescriptorError::no_elements);
  if (get.bytes > kMostGetBytes) return refuse(DescriptorError::count_mismatch);
  return get;
}

Decoded decode_get_reply(std::span<const std::byte> payload) {
  if (payload.size() < kGetReplyBytes) return refuse(DescriptorError::too_short);
  if (window_in(payload) != 0 || !all_zero(payload.subspan(17, 3)))
    return refuse(DescriptorError::reserved_not_zero);
  const std::optional<WindowStatus> status = status_in(payload[16]);
  if (!status) return refuse(DescriptorError::unknown_data_type);
  const GetReply reply{tag_in(payload), *status, load<std::uint32_t>(&payload[20])};
  const std::size_t bytes = payload.size() - kGetReplyBytes;
  if (*status == WindowStatus::ok) {
    if (bytes == 0) return refuse(DescriptorError::no_elements);
    if (bytes > kMostGetBytes || reply.at > kMostGetBytes - bytes)
      return refuse(DescriptorError::count_mismatch);
  } else {
    if (reply.at != 0) return refuse(DescriptorError::reserved_not_zero);
    if (bytes != 0) return refuse(DescriptorError::too_long);
  }
  return reply;
}

Decoded decode_flush(std::span<const std::byte> payload) {
  if (const auto error = wrong_length(payload, kFlushBytes)) return refuse(*error);
  if (window_in(payload) != 0 || !all_zero(payload.subspan(20, 4)))
    return refuse(DescriptorError::reserved_not_zero);
  return Flush{tag_in(payload), load<std::uint32_t>(&payload[16])};
}

Decoded decode_flush_reply(std::span<const std::byte> payload) {
  if (const auto error = wrong_length(payload, kFlushReplyBytes)) return refuse(*error);
  if (window_in(payload) != 0 || !all_zero(payload.subspan(21, 3)))
    return refuse(DescriptorError::reserved_not_zero);
  const std::optional<WindowStatus> status = status_in(payload[20]);
  if (!status) return refuse(DescriptorError::unknown_data_type);
  return FlushReply{tag_in(payload), load<std::uint32_t>(&payload[16]), *status,
                    load<std::uint64_t>(&payload[24]), load<std::uint64_t>(&payload[32])};
}

void encode_head(WindowKind kind, std::uint16_t window, std::uint32_t tag, std::byte* out) {
  std::memcpy(out, kWindowMagic.data(), kWindowMagic.size());
  out[kVersionAt] = std::byte{kWindowVersion};
  out[kKindAt] = static_cast<std::byte>(kind);
  store(out + kWindowAt, window);
  store(out + kTagAt, tag);
}

}  // namespace

std::string_view name(WindowStatus status) {
  switch (status) {
    case WindowStatus::ok:
      return "ok";
    case WindowStatus::no_window:
      return "no_window";
    case WindowStatus::out_of_bounds:
      return "out_of_bounds";
    case WindowStatus::not_permitted:
      return "not_permitted";
    case WindowStatus::misaligned:
      return "misaligned";
  }
  return "?";
}

bool has_window_magic(std::span<const std::byte> payload) {
  return payload.size() >= kWindowMagic.size() &&
         std::memcmp(payload.data(), kWindowMagic.data(), kWindowMagic.size()) == 0;
}

tl::expected<WindowTraffic, DescriptorError> decode_window(std::span<const std::byte> payload) {
  if (payload.size() < kWindowHeadBytes) return refuse(DescriptorError::too_short);
  if (!has_window_magic(payload)) return refuse(DescriptorError::bad_magic);
  if (std::to_integer<std::uint8_t>(payload[kVersionAt]) != kWindowVersion)
    return refuse(DescriptorError::bad_version);
  switch (static_cast<WindowKind>(payload[kKindAt])) {
    case WindowKind::message:
      return decode_message(payload);
    case WindowKind::put:
      return decode_put(payload);
    case WindowKind::get:
      return decode_get(payload);
    case WindowKind::get_reply:
      return decode_get_reply(payload);
    case WindowKind::flush:
      return decode_flush(payload);
    case WindowKind::flush_reply:
      return decode_flush_reply(payload);
  }
  return refuse(DescriptorError::unknown_operation);
}

std::optional<PutSegment> next_segment(std::span<const std::byte>& segments) {
  if (segments.empty()) return std::nullopt;
  const auto bytes = load<std::uint32_t>(&segments[8]);
  const PutSegment segment{load<std::uint64_t>(segments.data()), segments.subspan(kPutSegmentBytes, bytes)};
  segments = segments.subspan(kPutSegmentBytes + bytes);
  return segment;
}

void encode(const WrappedMessage&, std::span<std::byte, kWindowHeadBytes> out) {
  encode_head(WindowKind::message, 0, 0, out.data());
}

void encode(const Put& put, std::span<std::byte, kWindowHeadBytes> out) {
  encode_head(WindowKind::put, put.window, put.epoch, out.data());
}

void encode_segment(std::uint64_t offset, std::uint32_t bytes, std::span<std::byte, kPutSegmentBytes> out) {
  store(&out[0], offset);
  store(&out[8], bytes);
  store(&out[12], std::uint32_t{0});
}

void encode(const Get& get, std::span<std::byte, kGetBytes> out) {
  encode_head(WindowKind::get, get.window, get.tag, out.data());
  store(&out[16], get.offset);
  store(&out[24], get.bytes);
  store(&out[28], std::uint32_t{0});
}

void encode(const GetReply& reply, std::span<std::byte, kGetReplyBytes> out) {
  encode_head(WindowKind::get_reply, 0, reply.tag, out.data());
  store(&out[16], static_cast<std::uint32_t>(reply.status));
  store(&out[20], reply.at);
}

void encode(const Flush& flush, std::span<std::byte, kFlushBytes> out) {
  encode_head(WindowKind::flush, 0, flush.tag, out.data());
  store(&out[16], flush.epoch);
  store(&out[20], std::uint32_t{0});
}

void encode(const FlushReply& reply, std::span<std::byte, kFlushReplyBytes> out) {
  encode_head(WindowKind::flush_reply, 0, reply.tag, out.data());
  store(&out[16], reply.epoch);
  store(&out[20], static_cast<std::uint32_t>(reply.status));
  store(&out[24], reply.applied);
  store(&out[32], reply.refused);
}

}  // namespace cnuas::wire
