// What a link does for other GPUs: it keeps its windows.
#include "live/endpoint/link.h"

#include <algorithm>
#include <array>

namespace cnuas::live::endpoint {

// --- Requests --------------------------------------------------------------------------------------------

// False: it is a message, just as it is.
bool Link::take_window_traffic(const wire::FrameHeader& header, std::span<const std::byte> payload,
                               std::size_t slot) {
  const auto traffic = wire::decode_window(payload);
  if (!traffic) return false;
  const GpuId source = header.source;
  if (std::holds_alternative<wire::WrappedMessage>(*traffic)) {
    take_message(header, payload.subspan(wire::kWindowHeadBytes), slot);
  } else if (const auto* put = std::get_if<wire::Put>(&*traffic)) {
    take_put(source, *put, payload.subspan(wire::kWindowHeadBytes));
  } else if (const auto* get = std::get_if<wire::Get>(&*traffic)) {
    replies_.push({source, GetToAnswer{*get}});
  } else if (const auto* reply = std::get_if<wire::GetReply>(&*traffic)) {
    take_get_reply(source, *reply, payload.subspan(wire::kGetReplyBytes));
  } else if (const auto* flush = std::get_if<wire::Flush>(&*traffic)) {
    take_flush(source, *flush);
  } else if (const auto* flushed = std::get_if<wire::FlushReply>(&*traffic)) {
    take_flush_reply(source, *flushed);
  }
  return true;
}

Link::PutsFrom& Link::puts_from(GpuId source, std::uint32_t epoch) {
  PutsFrom& puts = puts_from_[source.value];
  if (puts.epoch != epoch) puts = PutsFrom{epoch};
  return puts;
}

void Link::take_put(GpuId source, const wire::Put& put, std::span<const std::byte> segments) {
  PutsFrom& puts = puts_from(source, put.epoch);
  const Windows::PutOutcome outcome = windows_.put(put.window, segments);
  if (outcome.status == wire::WindowStatus::ok) {
    ++puts.applied;
    ++counters_.served_put_frames;
    counters_.served_put_bytes += outcome.bytes;
  } else {
    ++puts.refused;
    puts.last_refusal = outcome.status;
    ++counters_.refused_requests;
  }
}

void Link::take_flush(GpuId source, const wire::Flush& flush) {
  const PutsFrom& puts = puts_from(source, flush.epoch);
  replies_.push(
      {source, wire::FlushReply{flush.tag, flush.epoch, puts.last_refusal, puts.applied, puts.refused}});
}

void Link::take_atomic(GpuId source, std::span<const std::byte> payload) {
  if (wire::is_atomic_reply(payload)) {
    const auto reply = wire::decode_atomic_reply(payload);
    if (!reply) {
      ++counters_.invalid_frames;
      return;
    }
    return take_atomic_reply(source, *reply);
  }
  const auto atomic = wire::decode_atomic(payload);
  if (!atomic) {
    ++counters_.invalid_frames;
    return;
  }
  const tl::expected<std::uint64_t, wire::WindowStatus> before = windows_.apply(*atomic);
  ++(before ? counters_.served_atomics : counters_.refused_requests);
  if (atomic->tag == 0) return;  // nobody wants to know
  wire::AtomicReply reply{wire::WindowStatus::ok, atomic->tag, 0};
  if (before) {
    reply.before = *before;
  } else {
    reply.status = before.error();
  }
  replies_.push({source, reply});
}

// --- Answers ---------------------------------------------------------------------------------------------

// Sends what waits, as far as the socket takes it.
void Link::answer() {
  while (!replies_.empty() && state_ != CNUASLINK_DOWN) {
    const cnuaslink_result result = try_answer(replies_.front());
    if (result == CNUASLINK_AGAIN) break;
    // What cannot be sent for another reason is not tried for ever.
    if (result != CNUASLINK_OK) ++counters_.replies_dropped;
    if (!replies_.empty()) replies_.pop();
  }
  look_at_room();
  const bool waits = !replies_.empty();
  if (waits == replies_wait_) return;
  replies_wait_ = waits;
  if (waits) {
    waiting_.want_writable();
  } else {
    waiting_.unwant_writable();
  }
}

void Link::drop_replies() {
  counters_.replies_dropped += replies_.size();
  replies_.clear();
}

cnuaslink_result Link::try_answer(Reply& reply) {
  if (auto* get = std::get_if<GetToAnswer>(&reply.what)) return try_answer_get(reply.to, *get);
  if (const auto* refusal = std::get_if<wire::GetReply>(&reply.what)) {
    std::array<std::byte, wire::kGetReplyBytes> payload;
    wire::encode(*refusal, payload);
    return try_send(header(wire::FrameType::data, reply.to, payload.size()), payload);
  }
  if (const auto* atomic = std::get_if<wire::AtomicReply>(&reply.what)) {
    std::array<std::byte, wire::kAtomicReplyBytes> payload;
    wire::encode(*atomic, payload);
    return try_send(header(wire::FrameType::atomic, reply.to, payload.size()), payload);
  }
  std::array<std::byte, wire::kFlushReplyBytes> payload;
  wire::encode(std::get<wire::FlushReply>(reply.what), payload);
  return try_send(header(wire::FrameType::data, reply.to, payload.size()), payload);
}

cnuaslink_result Link::try_answer_get(GpuId to, GetToAnswer& answer) {
  const auto bytes = windows_.get(answer.get.window, answer.get.offset, answer.get.bytes);
  std::array<std::byte, wire::kGetReplyBytes> head;
  if (!bytes) {
    wire::encode(wire::GetReply{answer.get.tag, bytes.error(), 0}, head);
    const cnuaslink_result result = try_send(header(wire::FrameType::data, to, head.size()), head);
    if (result == CNUASLINK_OK) ++counters_.refused_requests;
    return result;
  }
  const std::size_t room = max_message() - wire::kGetReplyBytes;
  while (answer.done < answer.get.bytes) {
    const std::span<const std::byte> piece =
        bytes->subspan(answer.done, std::min<std::size_t>(room, answer.get.bytes - answer.done));
    wire::encode(wire::GetReply{answer.get.tag, wire::WindowStatus::ok, answer.done}, head);
    const cnuaslink_result result =
        try_send(header(wire::FrameType::data, to, head.size() + piece.size()), head, piece);
    if (result != CNUASLINK_OK) return result;
    answer.done += static_cast<std::uint32_t>(piece.size());
  }
  ++counters_.served_gets;
  counters_.served_get_bytes += answer.get.bytes;
  return CNUASLINK_OK;
}

}  // namespace cnuas::live::endpoint
