// Window traffic: what endpoints write to each other in DATA frames to put into, and get from, each other's
// memory. A window is a piece of memory that an endpoint has opened to others, with a number of its choice.
//
// A payload is window traffic if it is exactly one of the following, with the frame addressed to one GPU.
// Every other payload is a message, just as it is. A message that begins with the eight bytes of the magic is
// sent behind a head of kind `message`, so that it cannot be taken for anything else. Little-endian.
//
//   offset  size  field
//   0       8     magic: F5 'C' 'N' 'W' 'I' 'N' 0D 0A
//   8       1     version, 0x01
//   9       1     kind
//   10      2     window; 0 for kinds that are about none
//   12      4     tag; 0 for `message`
//
//   message      16  ...  the message
//   put          16  ...  one segment or more; the tag is the sender's epoch. One segment:
//                         0   8    offset in the window
//                         8   4    bytes, at least 1
//                         12  4    0
//                         16  ...  the bytes
//   get          16  8    offset in the window
//                24  4    bytes, 1 to 1,048,576
//                28  4    0
//   get_reply    16  1    status
//                17  3    0
//                20  4    at: where in what was asked for the bytes belong; 0 unless the status is ok
//                24  ...  the bytes: at least 1 if the status is ok, else none
//   flush        16  4    epoch
//                20  4    0
//   flush_reply  16  4    epoch
//                20  1    status of the last put frame of this epoch that was refused; ok: none was
//                21  3    0
//                24  8    put frames of this epoch that were applied
//                32  8    put frames of this epoch that were refused
//
// Nobody answers a put. Frames from one GPU to another keep their order, so a flush that follows puts learns
// what became of all of them: as many as were sent have been applied or refused, or some were lost on the
// way. An epoch is a number that an endpoint draws when it starts to count anew. Answers carry the tag of
// what they answer; a get has one answer, or several with consecutive pieces of the bytes.
#pragma once

#include "core/wire/descriptor_error.h"
#include "core/wire/frame.h"

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <variant>

#include <tl/expected.hpp>

namespace cnuas::wire {

inline constexpr std::array<std::uint8_t, 8> kWindowMagic{0xF5, 'C', 'N', 'W', 'I', 'N', 0x0D, 0x0A};
inline constexpr std::uint8_t kWindowVersion = 1;
inline constexpr std::size_t kWindowHeadBytes = 16;
inline constexpr std::size_t kPutSegmentBytes = 16;  // before a segment's bytes
inline constexpr std::size_t kGetBytes = 32;
inline constexpr std::size_t kGetReplyBytes = 24;  // before the bytes
inline constexpr std::size_t kFlushBytes = 24;
inline constexpr std::size_t kFlushReplyBytes = 40;
inline constexpr std::uint32_t kMostGetBytes = 1'048'576;  // that one get may ask for

// The values are those on the wire.
enum class WindowKind : std::uint8_t {
  message = 1,
  put = 2,
  get = 3,
  get_reply = 4,
  flush = 5,
  flush_reply = 6,
};

enum class WindowStatus : std::uint8_t {
  ok = 0,
  no_window = 1,      // none of this number
  out_of_bounds = 2,  // not wholly within the window
  not_permitted = 3,  // the window is not open for this
  misaligned = 4,     // an atomic's address is not a multiple of 8
};
inline constexpr std::size_t kWindowStatuses = 5;
std::string_view name(WindowStatus status);  // "ok", "no_window", ...

struct WrappedMessage {
  constexpr bool operator==(const WrappedMessage&) const = default;
};
struct Put {
  std::uint16_t window = 0;
  std::uint32_t epoch = 0;
  constexpr bool operator==(const Put&) const = default;
};
struct Get {
  std::uint16_t window = 0;
  std::uint32_t tag = 0;
  std::uint64_t offset = 0;
  std::uint32_t bytes = 0;
  constexpr bool operator==(const Get&) const = default;
};
struct GetReply {
  std::uint32_t tag = 0;
  WindowStatus status = WindowStatus::ok;
  std::uint32_t at = 0;
  constexpr bool operator==(const GetReply&) const = default;
};
struct Flush {
  std::uint32_t tag = 0;
  std::uint32_t epoch = 0;
  constexpr bool operator==(const Flush&) const = default;
};
struct FlushReply {
  std::uint32_t tag = 0;
  std::uint32_t epoch = 0;
  WindowStatus status = WindowStatus::ok;
  std::uint64_t applied = 0;
  std::uint64_t refused = 0;
  constexpr bool operator==(const FlushReply&) const = default;
};
using WindowTraffic = std::variant<WrappedMessage, Put, Get, GetReply, Flush, FlushReply>;

// Whether a message has to be wrapped.
bool has_window_magic(std::span<const std::byte> payload);

// Reads a whole payload. What follows the descriptor is payload.subspan() of kWindowHeadBytes (a wrapped
// message, a put's segments) or kGetReplyBytes. Errors, in the order in which they are checked: too_short,
// bad_magic, bad_version, unknown_operation, and by kind reserved_not_zero, too_short, too_long, no_elements,
// count_mismatch, unknown_data_type (a status that is none).
tl::expected<WindowTraffic, DescriptorError> decode_window(std::span<const std::byte> payload);

struct PutSegment {
  std::uint64_t offset = 0;
  std::span<const std::byte> bytes;
};
// Cuts the first segment off the segments of a put that decode_window() accepted; none at their end.
std::optional<PutSegment> next_segment(std::span<const std::byte>& segments);

void encode(const WrappedMessage& message, std::span<std::byte, kWindowHeadBytes> out);
void encode(const Put& put, std::span<std::byte, kWindowHeadBytes> out);
void encode_segment(std::uint64_t offset, std::uint32_t bytes, std::span<std::byte, kPutSegmentBytes> out);
void encode(const Get& get, std::span<std::byte, kGetBytes> out);
void encode(const GetReply& reply, std::span<std::byte, kGetReplyBytes> out);
void encode(const Flush& flush, std::span<std::byte, kFlushBytes> out);
void encode(const FlushReply& reply, std::span<std::byte, kFlushReplyBytes> out);

// How an ATOMIC frame's address names a place in a window: its number in the upper 16 bits, the offset below.
inline constexpr std::uint64_t kMostWindowBytes = std::uint64_t{1} << 48;
// Precondition: offset < kMostWindowBytes.
constexpr std::uint64_t window_address(std::uint16_t window, std::uint64_t offset) {
  return std::uint64_t{window} << 48 | offset;
}
constexpr std::uint16_t window_of(std::uint64_t address) {
  return static_cast<std::uint16_t>(address >> 48);
}
constexpr std::uint64_t offset_of(std::uint64_t address) {
  return address & (kMostWindowBytes - 1);
}

}  // namespace cnuas::wire
