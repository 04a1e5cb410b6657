// One collective, as one rank carries it out: drives the executor of its schedule over a mailbox and a link.
#pragma once

#include "core/ccl/chunk.h"
#include "core/ccl/envelope.h"
#include "core/ccl/executor.h"
#include "core/ccl/schedule.h"
#include "live/ccl/call_identity.h"
#include "live/ccl/failure.h"
#include "live/ccl/link.h"
#include "live/ccl/mailbox.h"
#include "live/ccl/membership.h"

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace cnuas::live::collectives {

// What is called, beyond the schedule.
struct Call {
  ccl::EnvelopeKind kind = ccl::EnvelopeKind::all_reduce;
  std::uint32_t sequence = 0;
  ccl::DataType type = ccl::DataType::uint8;
  ccl::Operator op = ccl::Operator::sum;
  std::uint32_t chunk_limit = ccl::kMaxChunkBytes;
  bool checksum = true;
};

// The caller's memory and the schedule's own. No schedule writes to its input.
struct Memory {
  const std::byte* input = nullptr;
  std::byte* output = nullptr;
  std::byte* scratch = nullptr;
};

ccl::Signature signature_of(const ccl::Problem& problem, const Call& call);

// Fails with TOO_LARGE if a message of the schedule from `rank` is more than envelopes can express.
Failure check_messages(const ccl::Schedule& schedule, Rank rank, const Call& call);

// All functions: with the link's mutex held. Everything given outlives it. `mailbox` and `link` may be null
// for a schedule of one rank.
class Operation final : public Mailbox::Consumer {
 public:
  Operation(const ccl::Schedule& schedule, const Membership& membership, const Call& call,
            const Memory& memory, Mailbox* mailbox, Link* link);

  void start();
  // Sends what can be sent, and uses what is held and due. Fails with LINK_FAILED.
  void advance(Failure& why);
  bool finished() const { return executor_.finished(); }
  // Grows with every chunk that is sent or used.
  std::uint64_t progress() const { return progress_; }
  // A send stands still because the link takes no more just now: waiting for frames will not tell when it
  // does.
  bool link_is_full() const { return link_is_full_; }

  // What it waits for, one sentence, and whose frames on which channel (kNoRank: nobody's).
  std::string describe_wait() const;
  struct Awaited {
    Rank peer = kNoRank;
    std::uint8_t channel = 0;
  };
  Awaited awaited() const;

  const CallIdentity& identity() const override { return identity_; }
  bool take(const Frame& frame, Failure& why) override;

 private:
  static constexpr std::size_t kHeadBytes =
      ccl::kEnvelopeBytes + ccl::kChunkHeaderBytes + ccl::kSignatureBytes;
  static constexpr std::size_t kChunksAtATime = 8;
  // A chunk that is ready to be sent.
  struct Ready {
    ccl::ChunkHeader header;
    std::array<std::byte, kHeadBytes> head{};
    std::size_t head_bytes = 0;
    std::span<const std::byte> body;
  };
  // A lane's message on its way out.
  struct Outgoing {
    bool active = false;
    ccl::Step step;
    ccl::ChunkPlan plan;
    std::uint64_t index = 0;  // of the next chunk to send
    std::size_t ready = 0;    // chunks[0] is that one, and so many are ready
    std::array<Ready, kChunksAtATime> chunks;
  };
  // A lane's message on its way in.
  struct Incoming {
    std::uint64_t index = 0;  // of the next chunk
  };

  bool finds_lane(Rank source, std::uint8_t channel, ccl::Lane& lane, ccl::Step& step) const;
  Failure check_chunk(const Frame& frame, const ccl::ChunkPlan& plan, std::uint64_t index) const;
  void use_data(const ccl::Step& step, std::uint64_t offset_bytes, std::span<const std::byte> data);
  void carry_out();
  void carry_out_local(const ccl::Step& step);
  // Has up to `most` chunks ready, as far as the peer takes them.
  void prepare(Outgoing& out, std::size_t most);
  void prepare(const Outgoing& out, std::uint64_t index, std::uint32_t ahead, Ready& chunk);
  Link::Sent send_ready(Outgoing& out, std::size_t& sent, Failure& why);
  // Sends chunks of one lane: whether any was sent.
  bool send_chunks(ccl::Lane lane, Failure& why);
  bool use_held();
  std::uint64_t bytes_of(const ccl::Step& step) const { return step.count * element_; }
  const std::byte* readable(const ccl::Location& location) const;
  std::byte* writable(const ccl::Location& location) const;
  std::string describe_lane(ccl::Lane lane) const;

  const ccl::Schedule& schedule_;
  const Membership& membership_;
  const Call call_;
  const Memory memory_;
  const CallIdentity identity_;
  const std::uint32_t element_;
  Mailbox* mailbox_;
  Link* link_;
  ccl::Executor executor_;
  ccl::Executor::Actions actions_;
  ccl::Executor::Actions doing_;
  std::array<Outgoing, ccl::kMaxLanes> out_;
  std::array<Incoming, ccl::kMaxLanes> in_;
  ccl::Lane lanes_;
  ccl::Lane turn_ = 0;
  std::uint64_t progress_ = 0;
  bool link_is_full_ = false;
};

}  // namespace cnuas::live::collectives
