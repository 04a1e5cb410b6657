#include "core/endpoint/endpoint.h"

#include <algorithm>
#include <cassert>

namespace cnuas {

void Endpoint::link_up(Picoseconds now) {
  up_ = true;
  announce_ = true;
  keepalive_due_ = false;
  last_sent_ps_ = now;
}

void Endpoint::link_down() {
  up_ = false;
}

void Endpoint::send(const OutgoingMessage& message) {
  outbox_.push_back({message, message.bytes});
}

wire::FrameHeader Endpoint::header(wire::FrameType type, GpuId destination, std::uint64_t payload) const {
  return {type, wire::ByteOrder::big, config_.id, destination, static_cast<std::uint32_t>(payload)};
}

Endpoint::OutFrame Endpoint::next(Picoseconds now) {
  assert(has_frame());
  last_sent_ps_ = now;
  if (announce_) {
    announce_ = false;
    return {header(wire::FrameType::discovery, kBroadcast, 0)};
  }
  if (outbox_.empty()) {
    keepalive_due_ = false;
    return {header(wire::FrameType::keepalive, kBroadcast, 0)};
  }
  keepalive_due_ = false;  // any frame tells that the link is alive
  Sending sending = outbox_.front();
  outbox_.pop_front();
  const OutgoingMessage& message = sending.message;
  const std::uint64_t room = config_.frame_bytes - wire::kHeaderBytes - message.envelope_bytes;
  const std::uint64_t chunk = std::min(sending.left, room);
  sending.left -= chunk;
  const bool last = sending.left == 0;
  OutFrame frame{header(message.type, message.destination, message.envelope_bytes + chunk), message.tag,
                 chunk, true, last};
  if (!last) outbox_.push_back(sending);
  return frame;
}

bool Endpoint::receive(GpuId source, std::uint32_t tag, std::uint64_t chunk_bytes,
                       std::uint64_t message_bytes) {
  if (chunk_bytes == message_bytes) return true;  // a frame was all of it
  const auto found = std::find_if(partial_.begin(), partial_.end(), [&](const Partial& each) {
    return each.source == source && each.tag == tag;
  });
  if (found == partial_.end()) {
    partial_.push_back({source, tag, chunk_bytes});
    return false;
  }
  found->arrived += chunk_bytes;
  if (found->arrived < message_bytes) return false;
  *found = partial_.back();
  partial_.pop_back();
  return true;
}

Picoseconds Endpoint::next_deadline() const {
  if (!up_ || config_.keepalive_ps == 0 || keepalive_due_) return kNever;
  return last_sent_ps_ + config_.keepalive_ps;
}

void Endpoint::on_deadline(Picoseconds now) {
  if (now >= next_deadline()) keepalive_due_ = true;
}

}  // namespace cnuas
