#include "live/ccl/mailbox.h"

#include "core/wire/byte_order.h"

#include <algorithm>
#include <new>
#include <string>
#include <utility>

namespace cnuas::live::collectives {
namespace {

constexpr std::size_t kAbortRecordBytes = 16;  // status, culprit, sequence, 0

bool before(std::uint32_t a, std::uint32_t b) {
  return static_cast<std::int32_t>(a - b) < 0;
}

cnuasccl_status_t status_of(ccl::ChunkError error) {
  switch (error) {
    case ccl::ChunkError::too_short:
      return CNUASCCL_FRAME_TOO_SHORT;
    case ccl::ChunkError::bad_checksum:
      return CNUASCCL_CORRUPT;
    case ccl::ChunkError::unknown_flags:
    case ccl::ChunkError::reserved_not_zero:
      break;
  }
  return CNUASCCL_BAD_CHUNK;
}

bool is_control(std::uint16_t kind) {
  return kind == static_cast<std::uint16_t>(ccl::EnvelopeKind::credit) ||
         kind == static_cast<std::uint16_t>(ccl::EnvelopeKind::abort);
}

}  // namespace

Mailbox::Mailbox(const Membership& membership)
    : membership_(membership), window_(window_of(membership.size())), peers_(membership.size()) {}

Mailbox::Channel& Mailbox::channel(Rank peer, std::uint8_t number) {
  if (!peers_[peer]) peers_[peer] = std::make_unique<Channels>();
  return (*peers_[peer])[number];
}

const Mailbox::Channel* Mailbox::existing(Rank peer, std::uint8_t number) const {
  return peers_[peer] ? &(*peers_[peer])[number] : nullptr;
}

void Mailbox::fail(Failure why, Rank culprit) {
  if (failure_.failed()) return;
  failure_ = std::move(why);
  culprit_ = culprit;
}

void Mailbox::deliver_stray(GpuId source, const Failure& why) {
  if (const std::optional<Rank> rank = membership_.rank_of(source)) fail(why, *rank);
}

void Mailbox::deliver(GpuId source, const ccl::Envelope& envelope, std::span<const std::byte> payload) {
  if (failure_.failed()) return;
  try {
    receive(source, envelope, payload);
  } catch (const std::bad_alloc&) {  // a frame is lost, of this communicator, whichever call has received it
    fail({CNUASCCL_NO_MEMORY, {}});
  }
}

void Mailbox::receive(GpuId source, const ccl::Envelope& envelope, std::span<const std::byte> payload) {
  ++counters_.frames_received;
  counters_.bytes_received += payload.size();
  Frame frame;
  frame.source = kNoRank;
  frame.envelope = envelope;
  Failure wrong = admit(source, frame, payload);
  if (!wrong.failed()) wrong = is_control(envelope.kind) ? control(frame) : admit_data(frame);
  if (wrong.failed()) return fail(std::move(wrong), frame.source);
  if (!is_control(envelope.kind)) use(frame);
}

// Whether a frame is what it says it is: from whom, for whom, whole and unchanged.
Failure Mailbox::admit(GpuId source, Frame& frame, std::span<const std::byte> payload) {
  const ccl::Envelope& envelope = frame.envelope;
  const auto from = [&] { return "a frame from GPU " + to_string(source) + " "; };
  const std::optional<Rank> rank = membership_.rank_of(source);
  if (rank) frame.source = *rank;
  if (!rank || envelope.source != *rank || *rank == membership_.rank())
    return collectives::failure(CNUASCCL_WRONG_SOURCE,
                                from() + "says it is from rank " + std::to_string(envelope.source));
  if (envelope.destination != membership_.rank())
    return collectives::failure(CNUASCCL_WRONG_DESTINATION,
                                from() + "is for rank " + std::to_string(envelope.destination) +
                                    ", and this is rank " + std::to_string(membership_.rank()));
  if (envelope.chunk_bytes != payload.size() - ccl::kEnvelopeBytes)
    return collectives::failure(CNUASCCL_WRONG_CHUNK_BYTES,
                                from() + "has " + std::to_string(payload.size() - ccl::kEnvelopeBytes) +
                                    " bytes after its envelope, which says " +
                                    std::to_string(envelope.chunk_bytes));
  const auto header = ccl::decode_chunk_header(payload.subspan(ccl::kEnvelopeBytes));
  if (!header)
    return collectives::failure(status_of(header.error()),
                                from() + "has a chunk that is refused: " + std::string(name(header.error())));
  frame.header = *header;
  frame.rest = payload.subspan(ccl::kEnvelopeBytes + ccl::kChunkHeaderBytes);
  if (header->channel >= kChannels)
    return collectives::failure(CNUASCCL_BAD_CHUNK,
                                from() + "is on channel " + std::to_string(header->channel));
  return {};
}

Failure Mailbox::control(const Frame& frame) {
  const ccl::Envelope& envelope = frame.envelope;
  const bool credit = envelope.kind == static_cast<std::uint16_t>(ccl::EnvelopeKind::credit);
  const std::size_t record = credit ? 0 : kAbortRecordBytes;
  const auto wrong = [&](cnuasccl_status_t status, const char* what) {
    return collectives::failure(status, "a frame from " + membership_.describe(frame.source) +
                                            " says it is a " + (credit ? "credit" : "abort") + " and " +
                                            what);
  };
  // A data frame whose kind was changed looks like this.
  if (frame.rest.size() != record) return wrong(CNUASCCL_WRONG_KIND, "does not look like one");
  if (envelope.chunk_index != 0) return wrong(CNUASCCL_WRONG_CHUNK, "is not the first chunk");
  if (envelope.chunk_count != 1) return wrong(CNUASCCL_WRONG_CHUNK_COUNT, "has not one chunk");
  if (envelope.total_bytes != envelope.chunk_bytes)
    return wrong(CNUASCCL_WRONG_TOTAL, "total_bytes are not chunk_bytes");
  if (credit) return acknowledge(frame.source, frame.header.channel, frame.header.consumed);
  const auto status = static_cast<int>(wire::load<std::uint32_t>(frame.rest.data()));
  const auto culprit = wire::load<std::uint32_t>(frame.rest.data() + 4);
  const auto sequence = wire::load<std::uint32_t>(frame.rest.data() + 8);
  std::string text = membership_.describe(frame.source) + " gave up in sequence " + std::to_string(sequence) +
                     " with " + status_name(status);
  if (culprit < membership_.size()) text += " because of " + membership_.describe(culprit);
  return collectives::failure(CNUASCCL_PEER_ABORTED, std::move(text));
}

Failure Mailbox::acknowledge(Rank peer, std::uint8_t number, std::uint32_t consumed) {
  Channel& here = channel(peer, number);
  if (link_ != nullptr) here.lost_before = link_->suspicious_frames();
  if (before(consumed, here.acknowledged)) return {};  // written before a credit that has overtaken it
  if (before(here.next_out, consumed))
    return collectives::failure(CNUASCCL_BAD_CHUNK, membership_.describe(peer) + " says it has consumed " +
                                                        std::to_string(consumed) + " frames, and was sent " +
                                                        std::to_string(here.next_out));
  here.acknowledged = consumed;
  return {};
}

Failure Mailbox::gap(const Frame& frame, std::uint32_t expected) const {
  if (before(frame.header.number, expected))
    return collectives::failure(CNUASCCL_DUPLICATE_FRAME, "frame " + std::to_string(frame.header.number) +
                                                              " from " + membership_.describe(frame.source) +
                                                              " came again");
  std::string text = "frame " + std::to_string(expected) + " from " + membership_.describe(frame.source) +
                     " is missing: frame " + std::to_string(frame.header.number) + " came instead";
  const Failure suspect = suspicion(frame.source, frame.header.channel);
  if (suspect.failed()) return collectives::failure(suspect.status, text + "; " + suspect.text);
  return collectives::failure(CNUASCCL_LOST_FRAME, std::move(text));
}

Failure Mailbox::suspicion(Rank peer, std::uint8_t number) const {
  if (link_ == nullptr || peer >= membership_.size()) return {};
  const Channel* here = existing(peer, number);
  return link_->suspicion(membership_.gpu_of(peer),
                          std::max(attached_after_, here == nullptr ? 0 : here->lost_before));
}

// Whether a frame is the next one of its channel, and one that may come now.
Failure Mailbox::admit_data(const Frame& frame) {
  Channel& here = channel(frame.source, frame.header.channel);
  if (frame.header.number != here.next_in) return gap(frame, here.next_in);
  ++here.next_in;
  if (Failure wrong = acknowledge(frame.source, frame.header.channel, frame.header.consumed); wrong.failed())
    return wrong;
  if (before(frame.envelope.sequence, sequence_)) return stale(frame);
  if (here.held.size() >= window_)
    return collectives::failure(CNUASCCL_FLOODED, membership_.describe(frame.source) +
                                                      " has sent more than " + std::to_string(window_) +
                                                      " frames that are not due");
  return {};
}

void Mailbox::set_link(Link* link) {
  for (const auto& peer : peers_) {
    if (!peer) continue;
    for (Channel& channel : *peer) {
      for (Held& held : channel.held) {
        if (!held.lent) continue;
        held.copy.assign(held.rest.begin(), held.rest.end());
        held.rest = held.copy;
        held.lent = {};
      }
    }
  }
  link_ = link;
  attached_after_ = link == nullptr ? 0 : link->suspicious_frames();
}

void Mailbox::drop_held() noexcept {
  for (const auto& peer : peers_) {
    if (!peer) continue;
    for (Channel& channel : *peer)
      channel.held.clear();
  }
  counters_.frames_held = 0;
}

void Mailbox::hold(const Frame& frame) {
  Held held{frame.envelope, frame.header, frame.rest, {}, {}};
  if (link_ != nullptr) held.lent = link_->keep();
  if (!held.lent) {
    held.copy.assign(frame.rest.begin(), frame.rest.end());
    held.rest = held.copy;
  }
  channel(frame.source, frame.header.channel).held.push_back(std::move(held));
  ++counters_.frames_held;
}

void Mailbox::use(const Frame& frame) {
  Channel& here = channel(frame.source, frame.header.channel);
  Failure wrong;
  if (consumer_ != nullptr && here.held.empty() && consumer_->take(frame, wrong)) {
    count_consumed(frame.source, frame.header.channel);
  } else if (!wrong.failed()) {
    // It is not due, but tells already whether its sender makes the same call.
    if (consumer_ != nullptr && frame.envelope.sequence == sequence_) wrong = check_call(frame);
    hold(frame);
  }
  if (wrong.failed()) fail(std::move(wrong), frame.source);
}

void Mailbox::count_consumed(Rank peer, std::uint8_t number) {
  Channel& here = channel(peer, number);
  ++here.consumed;
  if (here.owed || here.consumed - here.reported < window_ / 2) return;
  here.owed = true;
  owed_.push_back(Owed{peer, number});
}

bool Mailbox::offer_held(Rank source, std::uint8_t number) {
  Channel& here = channel(source, number);
  std::size_t used = 0;
  Failure wrong;
  while (used < here.held.size()) {
    const Held& held = here.held[used];
    if (!consumer_->take(Frame{source, held.envelope, held.header, held.rest}, wrong)) break;
    ++used;
    count_consumed(source, number);
  }
  here.held.erase(here.held.begin(), here.held.begin() + static_cast<std::ptrdiff_t>(used));
  counters_.frames_held -= used;
  if (wrong.failed()) fail(std::move(wrong), source);
  return used > 0;
}

void Mailbox::set_consumer(Consumer* consumer, std::uint32_t next) {
  if (consumer_ != nullptr) ended_ = consumer_->identity();
  consumer_ = consumer;
  sequence_ = next;
  if (consumer == nullptr || counters_.frames_held == 0) return;
  for (Rank peer = 0; peer < membership_.size(); ++peer) {
    if (!peers_[peer]) continue;
    for (const Channel& each : *peers_[peer]) {
      if (each.held.empty()) continue;
      const Held& held = each.held.front();
      const Frame frame{peer, held.envelope, held.header, held.rest};
      Failure wrong;
      if (before(held.envelope.sequence, next)) wrong = stale(frame);
      if (held.envelope.sequence == next) wrong = check_call(frame);
      if (wrong.failed()) fail(std::move(wrong), peer);
    }
  }
}

Failure Mailbox::check_call(const Frame& frame) const {
  return consumer_->identity().check(frame.envelope, frame.rest, frame.source, membership_);
}

// Of a frame for a call that has ended here without it, it may be known why: its sender made another one.
Failure Mailbox::stale(const Frame& frame) const {
  if (ended_ && ended_->sequence == frame.envelope.sequence) {
    Failure wrong = ended_->check(frame.envelope, frame.rest, frame.source, membership_);
    if (wrong.failed()) return wrong;
  }
  return collectives::failure(CNUASCCL_WRONG_SEQUENCE,
                              "a frame from " + membership_.describe(frame.source) + " is of sequence " +
                                  std::to_string(frame.envelope.sequence) + " (" +
                                  std::string(name(static_cast<ccl::EnvelopeKind>(frame.envelope.kind))) +
                                  "), which has ended here without it; now it is " +
                                  std::to_string(sequence_));
}

bool Mailbox::may_send(Rank peer, std::uint8_t number, std::uint32_t ahead) const {
  const Channel* here = existing(peer, number);
  return (here == nullptr ? 0 : here->next_out - here->acknowledged) + ahead < window_;
}

ccl::ChunkHeader Mailbox::next_header(Rank peer, std::uint8_t number, bool checksum,
                                      std::uint32_t ahead) const {
  const Channel* here = existing(peer, number);
  if (here == nullptr) return ccl::ChunkHeader{ahead, 0, number, checksum};
  return ccl::ChunkHeader{here->next_out + ahead, here->consumed, number, checksum};
}

void Mailbox::sent(Rank peer, const ccl::ChunkHeader& header, std::size_t bytes) {
  Channel& here = channel(peer, header.channel);
  ++here.next_out;
  if (before(here.reported, header.consumed)) here.reported = header.consumed;
  ++counters_.frames_sent;
  counters_.bytes_sent += bytes;
}

std::size_t Mailbox::encode_control(ccl::EnvelopeKind kind, Rank peer, std::uint32_t sequence,
                                    const ccl::ChunkHeader& header, std::span<const std::byte> record,
                                    std::span<std::byte> out) const {
  ccl::Envelope envelope;
  envelope.kind = static_cast<std::uint16_t>(kind);
  envelope.communicator = membership_.id();
  envelope.sequence = sequence;
  envelope.source = membership_.rank();
  envelope.destination = peer;
  envelope.chunk_bytes = static_cast<std::uint32_t>(ccl::kChunkHeaderBytes + record.size());
  envelope.total_bytes = envelope.chunk_bytes;
  encode(envelope, out.first<ccl::kEnvelopeBytes>());
  encode(header, record, {}, out.subspan<ccl::kEnvelopeBytes, ccl::kChunkHeaderBytes>());
  std::copy(record.begin(), record.end(), out.begin() + ccl::kEnvelopeBytes + ccl::kChunkHeaderBytes);
  return ccl::kEnvelopeBytes + envelope.chunk_bytes;
}

void Mailbox::send_credits(Failure& why) {
  std::array<std::byte, ccl::kEnvelopeBytes + ccl::kChunkHeaderBytes> bytes{};
  std::size_t left = 0;
  for (std::size_t i = 0; i < owed_.size(); ++i) {
    const Owed owed = owed_[i];
    Channel& here = channel(owed.peer, owed.channel);
    const bool needed = here.consumed - here.reported >= window_ / 2;  // a frame may have told it meanwhile
    if (needed && !why.failed()) {
      const ccl::ChunkHeader header{0, here.consumed, owed.channel, true};
      encode_control(ccl::EnvelopeKind::credit, owed.peer, sequence_, header, {}, bytes);
      if (link_->send(membership_.gpu_of(owed.peer), bytes, {}, why) == Link::Sent::done) {
        here.reported = here.consumed;
        ++counters_.frames_sent;
        counters_.bytes_sent += bytes.size();
      } else {
        owed_[left++] = owed;
        continue;
      }
    }
    here.owed = false;
  }
  owed_.resize(left);
}

Link::Sent Mailbox::send_abort(Rank peer, std::uint32_t sequence, cnuasccl_status_t status, Rank culprit) {
  std::array<std::byte, kAbortRecordBytes> record{};
  wire::store(record.data(), static_cast<std::uint32_t>(status));
  wire::store(record.data() + 4, culprit);
  wire::store(record.data() + 8, sequence);
  std::array<std::byte, ccl::kEnvelopeBytes + ccl::kChunkHeaderBytes + kAbortRecordBytes> bytes{};
  encode_control(ccl::EnvelopeKind::abort, peer, sequence, ccl::ChunkHeader{}, record, bytes);
  Failure ignored;
  const Link::Sent sent = link_->send(membership_.gpu_of(peer), bytes, {}, ignored);
  if (sent == Link::Sent::done) {
    ++counters_.frames_sent;
    counters_.bytes_sent += bytes.size();
  }
  return sent;
}

}  // namespace cnuas::live::collectives
