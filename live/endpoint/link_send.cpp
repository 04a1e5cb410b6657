#include "core/wire/doorbell.h"
#include "live/endpoint/link.h"
#include "live/endpoint/want_writable.h"
#include "live/posix/os_error.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>

namespace cnuas::live::endpoint {

namespace {

constexpr std::size_t kFramesAtATime = 32;
constexpr unsigned kSendsBetweenReads = 64;

iovec piece(std::span<const std::byte> bytes) {
  return {const_cast<std::byte*>(bytes.data()), bytes.size()};
}

// A message of either kind: its pieces, for which `whole` is room, and its type.
std::span<const iovec> pieces_of(const cnuaslink_outgoing& message, iovec& whole) {
  whole = {const_cast<void*>(message.data), message.bytes};
  return {&whole, 1};
}
std::span<const iovec> pieces_of(const cnuaslink_pieces& message, iovec&) {
  return {message.pieces, message.count};
}
unsigned type_of(const cnuaslink_outgoing& message) {
  return message.type;
}
unsigned type_of(const cnuaslink_pieces&) {
  return CNUASLINK_DATA;
}

}  // namespace

wire::FrameHeader Link::header(wire::FrameType type, GpuId destination, std::size_t payload_bytes) const {
  return {type, options_.order, options_.id, destination, static_cast<std::uint32_t>(payload_bytes)};
}

cnuaslink_result Link::sending_failed(int error) {
  switch (error) {
    case EAGAIN:
      return CNUASLINK_AGAIN;
    case EPIPE:
    case ECONNRESET:
    case ENOTCONN:
      stop_sending(error);
      return later();
    default:
      return result_of_errno(error);
  }
}

void Link::count_sent(std::size_t payload_bytes) {
  ++counters_.frames_sent;
  counters_.bytes_sent += wire::kHeaderBytes + payload_bytes;
  ++sent_since_read_;
}

void Link::keep_alive() {
  if (options_.keepalive_ps > 0) protocol_.sent(monotonic_now());
}

// A program that sends without ever having to wait still receives.
void Link::read_now_and_then() {
  if (sent_since_read_ < kSendsBetweenReads) return;
  make_progress();
  publish();
}

cnuaslink_result Link::try_send(const wire::FrameHeader& header, std::span<const std::byte> first,
                                std::span<const std::byte> second) {
  std::array<std::byte, wire::kHeaderBytes> bytes;
  wire::encode(header, bytes);
  const std::array<iovec, 3> pieces{piece(bytes), piece(first), piece(second)};
  if (const int error = connection_.send(pieces.data(), pieces.size())) return sending_failed(error);
  count_sent(header.payload_bytes);
  keep_alive();
  return CNUASLINK_OK;
}

cnuaslink_result Link::send_frame(Lock& lock, const wire::FrameHeader& header,
                                  std::span<const std::byte> payload, std::int64_t timeout_ns) {
  read_now_and_then();
  WantWritable writable(waiting_);
  return wait(lock, timeout_ns, [&] {
    if (!can_send()) return later();
    cnuaslink_result result = send_combined(header.destination);
    if (result == CNUASLINK_OK) result = try_send(header, payload);
    if (result == CNUASLINK_AGAIN && can_send() && writable.want()) ++counters_.send_waits;
    return result;
  });
}

void Link::send_link_frames() {
  while (protocol_.has_frame()) {
    wire::FrameHeader header = protocol_.next(monotonic_now()).header;
    header.order = options_.order;
    // A socket that is full holds frames that keep the link alive as well.
    if (try_send(header, {}) != CNUASLINK_OK) return;
    ++(header.type == wire::FrameType::discovery ? counters_.announcements_sent : counters_.keepalives_sent);
  }
}

// --- Messages --------------------------------------------------------------------------------------------

void Link::count_message(std::size_t bytes) {
  ++counters_.messages_sent;
  counters_.message_bytes_sent += bytes;
}

bool Link::must_be_wrapped(GpuId to, unsigned type, std::span<const iovec> pieces) const {
  if (options_.raw || type != CNUASLINK_DATA || to == kBroadcast) return false;
  std::array<std::byte, wire::kWindowMagic.size()> front;
  std::size_t have = 0;
  for (const iovec& each : pieces) {
    const std::size_t more = std::min(each.iov_len, front.size() - have);
    if (more > 0) std::memcpy(front.data() + have, each.iov_base, more);
    have += more;
  }
  return wire::has_window_magic(std::span(front).first(have));
}

template <class Message>
cnuaslink_result Link::try_send_messages(std::span<const Message> messages, std::size_t& sent) {
  if (!can_send()) return later();
  if (const cnuaslink_result result =
          send_combined(messages.size() == 1 ? GpuId{messages[0].peer} : kBroadcast);
      result != CNUASLINK_OK)
    return result;
  const std::size_t count = std::min(messages.size(), kFramesAtATime);
  std::array<std::array<std::byte, wire::kHeaderBytes>, kFramesAtATime> headers;
  std::array<std::array<iovec, 2 + CNUASLINK_MOST_PIECES>, kFramesAtATime> pieces;
  std::array<mmsghdr, kFramesAtATime> packets;
  std::array<std::size_t, kFramesAtATime> bytes;  // of the message, without what it is wrapped in
  for (std::size_t i = 0; i < count; ++i) {
    iovec whole;
    const std::span<const iovec> given = pieces_of(messages[i], whole);
    const GpuId to{messages[i].peer};
    const unsigned type = type_of(messages[i]);
    std::span<const std::byte> wrap;
    if (must_be_wrapped(to, type, given)) wrap = wrapped_head_;
    bytes[i] = 0;
    for (const iovec& each : given)
      bytes[i] += each.iov_len;
    wire::encode(header(static_cast<wire::FrameType>(type), to, wrap.size() + bytes[i]), headers[i]);
    pieces[i][0] = piece(headers[i]);
    pieces[i][1] = piece(wrap);
    std::copy(given.begin(), given.end(), pieces[i].begin() + 2);
    packets[i] = {};
    packets[i].msg_hdr.msg_iov = pieces[i].data();
    packets[i].msg_hdr.msg_iovlen = 2 + given.size();
  }
  int error = 0;
  const std::size_t done = connection_.send_many(packets.data(), count, error);
  for (std::size_t i = 0; i < done; ++i) {
    count_sent(bytes[i] + pieces[i][1].iov_len);
    count_message(bytes[i]);
  }
  if (done > 0) keep_alive();
  sent += done;
  return done < count ? sending_failed(error) : CNUASLINK_OK;
}

template <class Message>
cnuaslink_result Link::send_messages(std::span<const Message> messages, std::size_t& sent,
                                     std::int64_t timeout_ns) {
  Lock lock(mutex_);
  read_now_and_then();
  WantWritable writable(waiting_);
  return wait(lock, timeout_ns, [&] {
    cnuaslink_result result = CNUASLINK_OK;
    while (result == CNUASLINK_OK && sent < messages.size())
      result = try_send_messages(messages.subspan(sent), sent);
    if (result == CNUASLINK_AGAIN && can_send() && writable.want()) ++counters_.send_waits;
    return result;
  });
}

cnuaslink_result Link::send(std::span<const cnuaslink_outgoing> messages, std::size_t& sent,
                            std::int64_t timeout_ns) {
  return send_messages(messages, sent, timeout_ns);
}

cnuaslink_result Link::send(std::span<const cnuaslink_pieces> messages, std::size_t& sent,
                            std::int64_t timeout_ns) {
  return send_messages(messages, sent, timeout_ns);
}

cnuaslink_result Link::send_doorbell(GpuId peer, std::uint64_t value, std::int64_t timeout_ns) {
  std::array<std::byte, wire::kDoorbellBytes> payload;
  wire::encode(wire::Doorbell{value}, payload);
  Lock lock(mutex_);
  const cnuaslink_result result =
      send_frame(lock, header(wire::FrameType::doorbell, peer, payload.size()), payload, timeout_ns);
  if (result == CNUASLINK_OK) ++counters_.doorbells_sent;
  return result;
}

}  // namespace cnuas::live::endpoint
