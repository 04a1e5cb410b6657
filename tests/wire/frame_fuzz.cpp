// Any bytes as a frame and as every payload: refused, or a meaning that encodes to the same bytes.

#include "core/wire/atomic.h"
#include "core/wire/doorbell.h"
#include "core/wire/frame.h"
#include "core/wire/gather.h"
#include "core/wire/reduce.h"
#include "core/wire/window.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <span>
#include <vector>

namespace {

using namespace cnuas::wire;

void require(bool holds) {
  if (!holds) std::abort();
}

bool starts_with(std::span<const std::byte> bytes, std::span<const std::byte> start) {
  return bytes.size() >= start.size() && std::equal(start.begin(), start.end(), bytes.begin());
}

// Segments that are encoded anew one after the other are what they were read from.
void check_segments(std::span<const std::byte> segments) {
  std::vector<std::byte> again;
  std::span<const std::byte> rest = segments;
  while (const auto segment = next_segment(rest)) {
    require(!segment->bytes.empty());
    std::array<std::byte, kPutSegmentBytes> head{};
    encode_segment(segment->offset, static_cast<std::uint32_t>(segment->bytes.size()), head);
    again.insert(again.end(), head.begin(), head.end());
    again.insert(again.end(), segment->bytes.begin(), segment->bytes.end());
  }
  require(!again.empty() && std::equal(again.begin(), again.end(), segments.begin(), segments.end()));
}

void check_window(const WindowTraffic& traffic, std::span<const std::byte> payload) {
  require(has_window_magic(payload));
  std::array<std::byte, kFlushReplyBytes> bytes{};
  const std::span<std::byte> out(bytes);
  if (const auto* message = std::get_if<WrappedMessage>(&traffic)) {
    encode(*message, out.first<kWindowHeadBytes>());
    require(starts_with(payload, out.first<kWindowHeadBytes>()));
  } else if (const auto* put = std::get_if<Put>(&traffic)) {
    encode(*put, out.first<kWindowHeadBytes>());
    require(starts_with(payload, out.first<kWindowHeadBytes>()));
    check_segments(payload.subspan(kWindowHeadBytes));
  } else if (const auto* get = std::get_if<Get>(&traffic)) {
    encode(*get, out.first<kGetBytes>());
    require(payload.size() == kGetBytes && starts_with(payload, out.first<kGetBytes>()));
  } else if (const auto* reply = std::get_if<GetReply>(&traffic)) {
    encode(*reply, out.first<kGetReplyBytes>());
    require(starts_with(payload, out.first<kGetReplyBytes>()));
    require((payload.size() > kGetReplyBytes) == (reply->status == WindowStatus::ok));
  } else if (const auto* flush = std::get_if<Flush>(&traffic)) {
    encode(*flush, out.first<kFlushBytes>());
    require(payload.size() == kFlushBytes && starts_with(payload, out.first<kFlushBytes>()));
  } else if (const auto* flushed = std::get_if<FlushReply>(&traffic)) {
    encode(*flushed, out.first<kFlushReplyBytes>());
    require(payload.size() == kFlushReplyBytes && starts_with(payload, out));
  }
}

void check_payload(std::span<const std::byte> payload) {
  std::array<std::byte, 32> bytes{};
  const std::span<std::byte> out(bytes);
  if (const auto doorbell = decode_doorbell(payload)) {
    encode(*doorbell, out.first<kDoorbellBytes>());
    require(starts_with(payload, out.first<kDoorbellBytes>()));
  }
  if (const auto atomic = decode_atomic(payload)) {
    require(encode(*atomic, out) == payload.size());
    require(starts_with(payload, out.first(payload.size())));
  }
  if (const auto reduce = decode_reduce(payload)) {
    encode(*reduce, out.first<kReduceBytes>());
    require(starts_with(payload, out.first<kReduceBytes>()));
    require(reduce->partial_bytes() + kReduceBytes == payload.size());
  }
  if (const auto reply = decode_atomic_reply(payload)) {
    encode(*reply, out.first<kAtomicReplyBytes>());
    require(starts_with(payload, out.first<kAtomicReplyBytes>()) && payload.size() == kAtomicReplyBytes);
  }
  if (const auto window = decode_window(payload)) check_window(*window, payload);
  if (const auto gather = decode_gather(payload)) {
    encode(*gather, out.first<kGatherBytes>());
    require(starts_with(payload, out.first<kGatherBytes>()));
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::span<const std::byte> message = std::as_bytes(std::span(data, size));
  check_payload(message);
  const auto header = decode(message);
  if (!header) return 0;
  std::array<std::byte, kHeaderBytes> bytes{};
  encode(*header, bytes);
  require(starts_with(message, bytes));
  check_payload(message.subspan(kHeaderBytes));

  std::vector<std::byte> turned(message.begin(), message.end());
  const ByteOrder other = header->order == ByteOrder::big ? ByteOrder::little : ByteOrder::big;
  set_byte_order(turned, other);
  require(byte_order(turned) == other && decode(turned).has_value());
  set_byte_order(turned, header->order);
  require(std::equal(turned.begin(), turned.end(), message.begin(), message.end()));
  return 0;
}
