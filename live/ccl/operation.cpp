#include "live/ccl/operation.h"

#include "core/ccl/fold.h"

#include <algorithm>
#include <cstring>
#include <utility>

namespace cnuas::live::collectives {
namespace {

// Of sending and receiving, before others have a turn at the link.
constexpr int kRounds = 32;

bool has_root(const ccl::Problem& problem) {
  return problem.collective == ccl::Collective::broadcast;
}

}  // namespace

ccl::Signature signature_of(const ccl::Problem& problem, const Call& call) {
  ccl::Signature signature;
  signature.op = reduces(problem.collective) ? static_cast<std::uint8_t>(call.op) : ccl::kNoOperator;
  signature.type = static_cast<std::uint8_t>(call.type);
  signature.algorithm = static_cast<std::uint8_t>(problem.algorithm);
  signature.root = has_root(problem) ? problem.root : 0;
  signature.count = problem.count;
  signature.chunks = static_cast<std::uint32_t>(problem.chunks);
  return signature;
}

Failure check_messages(const ccl::Schedule& schedule, Rank rank, const Call& call) {
  const std::uint64_t element = size_of(call.type);
  for (ccl::Lane lane = 0; lane < schedule.lanes(); ++lane) {
    const std::uint64_t steps = schedule.steps(rank, lane);
    for (std::uint64_t i = 0; i < steps; ++i) {
      const std::uint64_t bytes = schedule.step(rank, lane, i).count * element;
      if (!ccl::ChunkPlan(bytes, call.chunk_limit).fits())
        return failure(CNUASCCL_TOO_LARGE, std::string(name(schedule.problem().algorithm)) +
                                               " would send a message of " + std::to_string(bytes) +
                                               " bytes; one may have less than 4 GiB with its headers");
    }
  }
  return {};
}

Operation::Operation(const ccl::Schedule& schedule, const Membership& membership, const Call& call,
                     const Memory& memory, Mailbox* mailbox, Link* link)
    : schedule_(schedule),
      membership_(membership),
      call_(call),
      memory_(memory),
      identity_{call.kind, call.sequence, signature_of(schedule.problem(), call)},
      element_(size_of(call.type)),
      mailbox_(mailbox),
      link_(link),
      executor_(schedule, membership.rank(), true),
      lanes_(schedule.lanes()) {}

const std::byte* Operation::readable(const ccl::Location& location) const {
  switch (location.buffer) {
    case ccl::Buffer::input:
      return memory_.input + location.offset * element_;
    case ccl::Buffer::output:
      return memory_.output + location.offset * element_;
    case ccl::Buffer::scratch:
      break;
  }
  return memory_.scratch + location.offset * element_;
}

std::byte* Operation::writable(const ccl::Location& location) const {
  return (location.buffer == ccl::Buffer::scratch ? memory_.scratch : memory_.output) +
         location.offset * element_;
}

void Operation::start() {
  executor_.start(actions_);
  carry_out();
}

void Operation::advance(Failure& why) {
  bool more = true;
  for (int round = 0; more && round < kRounds && !why.failed(); ++round) {
    more = use_held();
    link_is_full_ = false;
    for (ccl::Lane i = 0; i < lanes_ && !why.failed(); ++i)
      if (send_chunks(static_cast<ccl::Lane>((turn_ + i) % lanes_), why)) more = true;
    turn_ = static_cast<ccl::Lane>((turn_ + 1) % lanes_);
    // Between two rounds of sending, what has come is taken in: with room for one frame at each receiver,
    // ranks that only send would stand still together.
    if (more && !why.failed() && link_ != nullptr) link_->receive(lanes_ * std::size_t{link_->burst()}, why);
    if (mailbox_ != nullptr && mailbox_->failure().failed()) return;
  }
}

bool Operation::use_held() {
  bool any = false;
  for (ccl::Lane lane = 0; lane < lanes_; ++lane) {
    ccl::Step step;
    while (executor_.waits_for_message(lane, step) && !mailbox_->failure().failed() &&
           mailbox_->offer_held(step.peer, step.channel))
      any = true;
  }
  return any;
}

void Operation::carry_out() {
  while (!actions_.empty()) {
    doing_.clear();
    doing_.swap(actions_);
    for (const ccl::Executor::Action& action : doing_) {
      switch (action.step.op) {
        case ccl::Op::send: {
          Outgoing& out = out_[action.lane];
          out.active = true;
          out.step = action.step;
          out.plan = ccl::ChunkPlan(bytes_of(action.step), call_.chunk_limit);
          out.index = 0;
          out.ready = 0;
          break;
        }
        case ccl::Op::copy:
        case ccl::Op::reduce:
          carry_out_local(action.step);
          break;
        default:  // receives: done chunk by chunk, before the executor was told
          break;
      }
    }
  }
}

void Operation::carry_out_local(const ccl::Step& step) {
  if (step.count == 0) return;
  std::byte* to = writable(step.dst);
  const std::byte* from = readable(step.src);
  if (step.op == ccl::Op::copy) {
    if (to != from) std::memmove(to, from, bytes_of(step));
  } else if (step.incoming_left) {
    fold(call_.type, call_.op, from, to, to, step.count);
  } else {
    fold(call_.type, call_.op, to, from, to, step.count);
  }
}

void Operation::prepare(Outgoing& out, std::size_t most) {
  const std::uint64_t left = out.plan.count() - out.index;
  while (out.ready < std::min<std::uint64_t>({most, left, kChunksAtATime})) {
    const auto ahead = static_cast<std::uint32_t>(out.ready);
    if (!mailbox_->may_send(out.step.peer, out.step.channel, ahead)) return;
    prepare(out, out.index + ahead, ahead, out.chunks[out.ready]);
    ++out.ready;
  }
}

void Operation::prepare(const Outgoing& out, std::uint64_t index, std::uint32_t ahead, Ready& chunk) {
  const Rank peer = out.step.peer;
  const bool first = index == 0;
  ccl::Envelope envelope;
  envelope.kind = static_cast<std::uint16_t>(call_.kind);
  envelope.communicator = membership_.id();
  envelope.sequence = call_.sequence;
  envelope.source = membership_.rank();
  envelope.destination = peer;
  envelope.chunk_index = static_cast<std::uint32_t>(index);
  envelope.chunk_count = static_cast<std::uint32_t>(out.plan.count());
  envelope.chunk_bytes = static_cast<std::uint32_t>(out.plan.chunk_bytes(index));
  envelope.total_bytes = static_cast<std::uint32_t>(out.plan.total());

  const std::span<std::byte, kHeadBytes> head(chunk.head);
  chunk.head_bytes = first ? kHeadBytes : kHeadBytes - ccl::kSignatureBytes;
  const std::uint64_t data = out.plan.data_bytes(index);
  chunk.body = {};
  if (data > 0) chunk.body = {readable(out.step.src) + out.plan.offset(index), data};
  encode(envelope, head.first<ccl::kEnvelopeBytes>());
  const auto signature = head.last<ccl::kSignatureBytes>();
  if (first) encode(identity_.signature, signature);
  chunk.header = mailbox_->next_header(peer, out.step.channel, call_.checksum, ahead);
  encode(chunk.header, first ? std::span<const std::byte>(signature) : std::span<const std::byte>(),
         chunk.body, head.subspan<ccl::kEnvelopeBytes, ccl::kChunkHeaderBytes>());
}

Link::Sent Operation::send_ready(Outgoing& out, std::size_t& sent, Failure& why) {
  std::array<cnuasccl_frame, kChunksAtATime> frames;
  for (std::size_t i = 0; i < out.ready; ++i) {
    const Ready& chunk = out.chunks[i];
    frames[i] = {chunk.head.data(), chunk.head_bytes, chunk.body.data(), chunk.body.size()};
  }
  const Link::Sent result =
      link_->send(membership_.gpu_of(out.step.peer), std::span(frames).first(out.ready), sent, why);
  for (std::size_t i = 0; i < sent; ++i) {
    const Ready& chunk = out.chunks[i];
    mailbox_->sent(out.step.peer, chunk.header, chunk.head_bytes + chunk.body.size());
  }
  std::move(out.chunks.begin() + static_cast<std::ptrdiff_t>(sent),
            out.chunks.begin() + static_cast<std::ptrdiff_t>(out.ready), out.chunks.begin());
  out.ready -= sent;
  out.index += sent;
  progress_ += sent;
  return result;
}

bool Operation::send_chunks(ccl::Lane lane, Failure& why) {
  std::size_t all = 0;
  while (all < link_->burst() && out_[lane].active) {
    Outgoing& out = out_[lane];
    prepare(out, link_->burst() - all);
    if (out.ready == 0) break;
    std::size_t sent = 0;
    const Link::Sent result = send_ready(out, sent, why);
    all += sent;
    if (result == Link::Sent::again) link_is_full_ = true;
    if (out.index == out.plan.count()) {
      out.active = false;
      executor_.sent(lane, actions_);
      carry_out();
    }
    if (result != Link::Sent::done) break;
  }
  return all > 0;
}

bool Operation::finds_lane(Rank source, std::uint8_t channel, ccl::Lane& lane, ccl::Step& step) const {
  for (lane = 0; lane < lanes_; ++lane)
    if (executor_.waits_for_message(lane, step) && step.peer == source && step.channel == channel)
      return true;
  return false;
}

bool Operation::take(const Frame& frame, Failure& why) {
  ccl::Lane lane = 0;
  ccl::Step step;
  if (!finds_lane(frame.source, frame.header.channel, lane, step)) return false;
  const ccl::ChunkPlan plan(bytes_of(step), call_.chunk_limit);
  Incoming& in = in_[lane];
  why = check_chunk(frame, plan, in.index);
  if (why.failed()) return false;
  use_data(step, plan.offset(in.index), frame.rest.subspan(in.index == 0 ? ccl::kSignatureBytes : 0));
  ++progress_;
  if (++in.index < plan.count()) return true;
  in.index = 0;
  executor_.arrived(frame.source, frame.header.channel, actions_);
  carry_out();
  return true;
}

void Operation::use_data(const ccl::Step& step, std::uint64_t offset_bytes, std::span<const std::byte> data) {
  if (data.empty()) return;
  std::byte* to = writable(step.dst) + offset_bytes;
  if (step.op == ccl::Op::recv) {
    std::memcpy(to, data.data(), data.size());
    return;
  }
  const std::byte* own = readable(step.src) + offset_bytes;
  const std::uint64_t count = data.size() / element_;
  if (step.incoming_left) {
    fold(call_.type, call_.op, data.data(), own, to, count);
  } else {
    fold(call_.type, call_.op, own, data.data(), to, count);
  }
}

Failure Operation::check_chunk(const Frame& frame, const ccl::ChunkPlan& plan, std::uint64_t index) const {
  const ccl::Envelope& envelope = frame.envelope;
  const std::string who = "a frame from " + membership_.describe(frame.source);
  const auto differs = [&](const char* what, std::uint64_t is, std::uint64_t expected) {
    return who + " has " + what + " " + std::to_string(is) + ", expected is " + std::to_string(expected) +
           " (" + std::string(name(call_.kind)) + ", sequence " + std::to_string(call_.sequence) +
           ", chunk " + std::to_string(index) + " of " + std::to_string(plan.count()) + ")";
  };
  if (envelope.sequence != call_.sequence)
    return failure(CNUASCCL_WRONG_SEQUENCE, differs("sequence", envelope.sequence, call_.sequence));
  if (envelope.kind != static_cast<std::uint16_t>(call_.kind))
    return identity_.check(envelope, frame.rest, frame.source, membership_);
  if (envelope.chunk_index != index)
    return failure(CNUASCCL_WRONG_CHUNK, differs("chunk index", envelope.chunk_index, index));
  if (Failure wrong = identity_.check(envelope, frame.rest, frame.source, membership_); wrong.failed())
    return wrong;
  if (envelope.chunk_count != plan.count())
    return failure(CNUASCCL_WRONG_CHUNK_COUNT, differs("chunk count", envelope.chunk_count, plan.count()));
  if (envelope.chunk_bytes != plan.chunk_bytes(index))
    return failure(CNUASCCL_WRONG_CHUNK_BYTES,
                   differs("chunk bytes", envelope.chunk_bytes, plan.chunk_bytes(index)));
  if (envelope.total_bytes != plan.total())
    return failure(CNUASCCL_WRONG_TOTAL, differs("total bytes", envelope.total_bytes, plan.total()));
  return {};
}

std::string Operation::describe_lane(ccl::Lane lane) const {
  ccl::Step step;
  const std::string place =
      " (lane " + std::to_string(lane) + ", step " + std::to_string(executor_.completed(lane)) + ")";
  if (executor_.waits_for_message(lane, step)) {
    const ccl::ChunkPlan plan(bytes_of(step), call_.chunk_limit);
    return "receiving: waits for chunk " + std::to_string(in_[lane].index) + " of " +
           std::to_string(plan.count()) + " from " + membership_.describe(step.peer) + place;
  }
  const Outgoing& out = out_[lane];
  if (!out.active) return {};
  const bool window = !mailbox_->may_send(out.step.peer, out.step.channel);
  return "sending: chunk " + std::to_string(out.index) + " of " + std::to_string(out.plan.count()) + " to " +
         membership_.describe(out.step.peer) +
         (window          ? ", which has not used the " + std::to_string(mailbox_->window()) + " before it"
          : link_is_full_ ? std::string(", for which the link takes no more")
                          : std::string()) +
         place;
}

std::string Operation::describe_wait() const {
  std::string text = membership_.describe(membership_.rank()) + " in " + std::string(name(call_.kind)) + " " +
                     std::string(name(schedule_.problem().algorithm)) + ", sequence " +
                     std::to_string(call_.sequence);
  const char* separator = ", ";
  for (ccl::Lane lane = 0; lane < lanes_; ++lane) {
    const std::string part = describe_lane(lane);
    if (part.empty()) continue;
    text += separator + part;
    separator = "; ";
  }
  return text;
}

Operation::Awaited Operation::awaited() const {
  ccl::Step step;
  for (ccl::Lane lane = 0; lane < lanes_; ++lane)
    if (executor_.waits_for_message(lane, step)) return {step.peer, step.channel};
  for (ccl::Lane lane = 0; lane < lanes_; ++lane)
    if (out_[lane].active) return {out_[lane].step.peer, out_[lane].step.channel};
  return {};
}

}  // namespace cnuas::live::collectives
