// A communicator's side of the protocol: what it has received and not used, what it still lets each peer
// send, and what each peer still lets it send.
#pragma once

#include "core/ccl/chunk.h"
#include "core/ccl/envelope.h"
#include "live/ccl/call_identity.h"
#include "live/ccl/failure.h"
#include "live/ccl/link.h"
#include "live/ccl/membership.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

namespace cnuas::live::collectives {

inline constexpr std::uint8_t kChannels = 8;
// Frames of one peer on one channel that may be under way or held at a time, the same on all ranks. Each
// channel has its own, so that a message nobody waits for yet never keeps back one that somebody does.
//
// What all peers together may have under way fits into the socket of a receiver that is not running for a
// while (31 of the largest frames in 1 MiB, as the kernel counts): if it did not, a switch would keep the
// rest for 50 ms and then take the receiver for dead.
constexpr std::uint32_t window_of(Rank ranks) {
  constexpr std::uint32_t kAtAReceiver = 24;
  return ranks < 2 ? 16 : std::clamp<std::uint32_t>(kAtAReceiver / (ranks - 1), 2, 16);
}
inline constexpr Rank kNoRank = ~Rank{0};

struct Frame {
  Rank source = 0;
  ccl::Envelope envelope;
  ccl::ChunkHeader header;
  std::span<const std::byte> rest;  // what follows the chunk's header
};

// All functions but the constructor: with the mutex of the link held that it is attached to.
class Mailbox final : public Recipient {
 public:
  // Who uses frames: the operation that runs.
  class Consumer {
   public:
    virtual ~Consumer() = default;
    virtual const CallIdentity& identity() const = 0;
    // Uses a frame if it is what is waited for. False: keep it.
    virtual bool take(const Frame& frame, Failure& why) = 0;
  };

  explicit Mailbox(const Membership& membership);

  std::uint32_t window() const { return window_; }

  std::uint32_t communicator() const override { return membership_.id(); }
  void deliver(GpuId source, const ccl::Envelope& envelope, std::span<const std::byte> payload) override;
  void deliver_stray(GpuId source, const Failure& why) override;

  // The link whose mutex is held from now on; null: none. What the one before has lent is copied and given
  // back.
  void set_link(Link* link);
  void drop_held() noexcept;

  // Frames of sequence numbers before the consumer's are refused from here on, and those that are held are
  // checked. Null: nothing runs, and `next` is the sequence number of what will run next.
  void set_consumer(Consumer* consumer, std::uint32_t next);
  // Offers what is held to the consumer: whether it has used any.
  bool offer_held(Rank source, std::uint8_t channel);

  // What may have become of the next frame of a channel, if it does not come: why one from that peer's GPU,
  // since the last one here, reached nobody. OK: there was none.
  Failure suspicion(Rank peer, std::uint8_t channel) const;

  // The first thing that went wrong; frames that come afterwards are dropped.
  const Failure& failure() const { return failure_; }
  Rank culprit() const { return culprit_; }  // whose frame it was; kNoRank: unknown
  void fail(Failure why, Rank culprit = kNoRank);

  // --- Sending
  // Of the frame behind the next `ahead` ones.
  bool may_send(Rank peer, std::uint8_t channel, std::uint32_t ahead = 0) const;
  // The header of that frame; sent() when the link has it.
  ccl::ChunkHeader next_header(Rank peer, std::uint8_t channel, bool checksum, std::uint32_t ahead = 0) const;
  void sent(Rank peer, const ccl::ChunkHeader& header, std::size_t bytes);
  // Tells peers how far they may go on, as far as the link takes it now.
  void send_credits(Failure& why);
  // The link did not take all of them: peers may be waiting for what they were not told.
  bool owes_credits() const { return !owed_.empty(); }
  // Tells one peer that this rank gives up. done, again, failed.
  Link::Sent send_abort(Rank peer, std::uint32_t sequence, cnuasccl_status_t status, Rank culprit);

  struct Counters {
    std::uint64_t frames_sent = 0;
    std::uint64_t bytes_sent = 0;
    std::uint64_t frames_received = 0;
    std::uint64_t bytes_received = 0;
    std::uint64_t frames_held = 0;
  };
  const Counters& counters() const { return counters_; }

 private:
  struct Held {
    ccl::Envelope envelope;
    ccl::ChunkHeader header;
    std::span<const std::byte> rest;
    Link::Lent lent;  // where `rest` is; or, if it is empty,
    std::vector<std::byte> copy;
  };
  struct Channel {
    std::uint32_t next_out = 0;      // number of the next frame to the peer
    std::uint32_t acknowledged = 0;  // frames that the peer has consumed
    std::uint32_t next_in = 0;       // number of the next frame from the peer
    std::uint32_t consumed = 0;
    std::uint32_t reported = 0;     // of these, what the peer knows
    bool owed = false;              // it is time to tell
    std::uint64_t lost_before = 0;  // frames of the link that reached nobody when the last good one came in
    std::vector<Held> held;         // at most window_, in order
  };
  struct Owed {
    Rank peer;
    std::uint8_t channel;
  };
  using Channels = std::array<Channel, kChannels>;

  Channel& channel(Rank peer, std::uint8_t number);
  const Channel* existing(Rank peer, std::uint8_t number) const;
  Failure check_call(const Frame& frame) const;
  Failure stale(const Frame& frame) const;
  void receive(GpuId source, const ccl::Envelope& envelope, std::span<const std::byte> payload);
  Failure admit(GpuId source, Frame& frame, std::span<const std::byte> payload);
  Failure admit_data(const Frame& frame);
  Failure control(const Frame& frame);
  Failure acknowledge(Rank peer, std::uint8_t channel, std::uint32_t consumed);
  Failure gap(const Frame& frame, std::uint32_t expected) const;
  void use(const Frame& frame);
  void hold(const Frame& frame);
  void count_consumed(Rank peer, std::uint8_t channel);
  std::size_t encode_control(ccl::EnvelopeKind kind, Rank peer, std::uint32_t sequence,
                             const ccl::ChunkHeader& header, std::span<const std::byte> record,
                             std::span<std::byte> out) const;

  const Membership& membership_;
  std::uint32_t window_;
  Link* link_ = nullptr;
  std::uint64_t attached_after_ = 0;  // frames of the link that had reached nobody
  Consumer* consumer_ = nullptr;
  std::uint32_t sequence_ = 0;         // of what runs, or will next
  std::optional<CallIdentity> ended_;  // what ran last
  Failure failure_;
  Rank culprit_ = kNoRank;
  std::vector<std::unique_ptr<Channels>> peers_;
  std::vector<Owed> owed_;
  Counters counters_;
};

}  // namespace cnuas::live::collectives
