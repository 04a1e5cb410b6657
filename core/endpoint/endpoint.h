// What a GPU does on its link: announces itself, cuts messages into frames, keeps the link alive, takes
// frames in as far as it has room, and puts messages together again by their source. Frames and time come in,
// frames go out; it has no clock and no sockets.
#pragma once

#include "core/engine/time.h"
#include "core/topology/gpu_id.h"
#include "core/wire/frame.h"

#include <cstdint>
#include <deque>
#include <vector>

namespace cnuas {

struct EndpointConfig {
  GpuId id;
  std::uint64_t frame_bytes = wire::kMaxFrameBytes;  // largest frame, header included; more than an envelope
  Picoseconds keepalive_ps = 0;  // LINK_KEEPALIVE after this long without a frame sent; 0: none
};

// A message to be sent. `tag` is the caller's name for it; frames carry it as an envelope does.
struct OutgoingMessage {
  std::uint32_t tag = 0;
  GpuId destination;
  wire::FrameType type = wire::FrameType::data;
  std::uint64_t bytes = 0;
  std::uint64_t envelope_bytes = 0;  // in every frame, before the message's own bytes
};

class Endpoint {
 public:
  explicit Endpoint(const EndpointConfig& config) : config_(config) {}

  // --- link ---
  // The link has come up: the next frame is the announcement. Going down keeps what has not been sent.
  void link_up(Picoseconds now);
  void link_down();
  bool is_up() const { return up_; }

  // --- sending ---
  void send(const OutgoingMessage& message);
  // Whether next() has a frame.
  bool has_frame() const { return up_ && (announce_ || keepalive_due_ || !outbox_.empty()); }
  struct OutFrame {
    wire::FrameHeader header;
    std::uint32_t tag = 0;
    std::uint64_t chunk_bytes = 0;  // of the message
    bool of_message = false;        // else an announcement or a keepalive
    bool last = false;              // of its message
  };
  // The next frame, its sending beginning now. Announcement first, then messages in turn, a frame each; a
  // keepalive only when there is nothing else. Precondition: has_frame().
  OutFrame next(Picoseconds now);
  // A frame that did not come from next() has been sent: no keepalive is needed for a while.
  void sent(Picoseconds now) {
    last_sent_ps_ = now;
    keepalive_due_ = false;
  }

  // --- receiving ---
  // Frames it will take before one has been consumed; all it is sent, unless limited.
  void limit_room(std::uint32_t frames) { room_ = most_room_ = frames; }
  void unlimited_room() { room_ = kPlenty; }
  bool has_room() const { return room_ > 0; }
  bool room_is_limited() const { return room_ != kPlenty; }
  // A frame for it is on the wire / has been dealt with.
  void reserve_room() {
    if (room_ != kPlenty && room_ > 0) --room_;
  }
  void release_room() {
    // What was on its way when the limit came had reserved nothing.
    if (room_ < most_room_) ++room_;
  }
  // `chunk_bytes` of message `tag` from `source`, which has `message_bytes` in all, have arrived. True when
  // that completes it. Frames of several messages of one source may be mixed; those of one message come in
  // order or not.
  bool receive(GpuId source, std::uint32_t tag, std::uint64_t chunk_bytes, std::uint64_t message_bytes);
  // Messages of which something but not all has come.
  std::size_t incomplete_messages() const { return partial_.size(); }

  // --- time ---
  Picoseconds next_deadline() const;
  void on_deadline(Picoseconds now);

 private:
  static constexpr std::uint32_t kPlenty = ~0u;

  struct Sending {
    OutgoingMessage message;
    std::uint64_t left = 0;
  };
  struct Partial {
    GpuId source;
    std::uint32_t tag = 0;
    std::uint64_t arrived = 0;
  };

  wire::FrameHeader header(wire::FrameType type, GpuId destination, std::uint64_t payload) const;

  EndpointConfig config_;
  bool up_ = false;
  bool announce_ = false;
  bool keepalive_due_ = false;
  Picoseconds last_sent_ps_ = 0;
  std::uint32_t room_ = kPlenty;
  std::uint32_t most_room_ = 0;
  std::deque<Sending> outbox_;    // in turn
  std::vector<Partial> partial_;  // few: one or two a source that is sending
};

}  // namespace cnuas
