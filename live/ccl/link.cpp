#include "live/ccl/link.h"

#include "live/abi/growing_struct.h"

#include <algorithm>
#include <chrono>
#include <cstring>
#include <thread>
#include <utility>

#include <poll.h>

namespace cnuas::live::collectives {
namespace {

constexpr std::size_t kMostUnclaimed = 4096;
constexpr std::size_t kMostUnclaimedBytes = 16 << 20;
constexpr std::size_t kMostSuspicions = 32;
constexpr std::size_t kMostNameBytes = 31;
constexpr std::uint32_t kMostBurst = 64;

std::string hex(std::uint32_t number) {
  constexpr char kDigits[] = "0123456789abcdef";
  std::string text = "0x";
  for (int shift = 28; shift >= 0; shift -= 4)
    text += kDigits[number >> shift & 0xF];
  return text;
}

bool is(const ccl::Envelope& envelope, ccl::EnvelopeKind kind) {
  return envelope.kind == static_cast<std::uint16_t>(kind);
}

cnuasccl_status_t status_of(ccl::EnvelopeError error) {
  switch (error) {
    case ccl::EnvelopeError::too_short:
      return CNUASCCL_FRAME_TOO_SHORT;
    case ccl::EnvelopeError::bad_version:
      return CNUASCCL_BAD_VERSION;
    default:
      return CNUASCCL_BAD_MAGIC;
  }
}

void sleep_for(std::int64_t nanoseconds) {
  std::this_thread::sleep_for(std::chrono::nanoseconds(nanoseconds));
}

}  // namespace

Link::Link(const cnuasccl_link_transport& transport, const cnuasccl_link_extension* extension,
           const char* default_name)
    : transport_(transport), name_(default_name), incoming_(kMaxFrameBytes + 1), outgoing_(kMaxFrameBytes) {
  if (extension != nullptr) growing::read_over(extension_, *extension);
  if (extension_.name != nullptr)
    name_ = std::string(extension_.name, strnlen(extension_.name, kMostNameBytes));
  burst_ = std::clamp<std::uint32_t>(extension_.frames_per_receiver, 1, kMostBurst);
  if (!waits_by_itself()) watch_descriptor();
}

void Link::watch_descriptor() {
  if (extension_.descriptor != nullptr && descriptor_ < 0)
    descriptor_ = extension_.descriptor(transport_.context);
}

bool Link::available() {
  return extension_.available == nullptr || extension_.available(transport_.context) != 0;
}

Failure Link::check_gpu(GpuId gpu) {
  std::uint16_t local = 0;
  const cnuasccl_status_t status = transport_.local_gpu(&local, transport_.context);
  if (number_of(status) != CNUASCCL_OK) return transport_failed("its GPU", status);
  if (GpuId{local} == gpu) return {};
  return failure(CNUASCCL_WRONG_GPU, "the link '" + name_ + "' is that of GPU " + to_string(GpuId{local}) +
                                         ", and this rank is GPU " + to_string(gpu));
}

Failure Link::transport_failed(const char* what, cnuasccl_status_t status) const {
  return failure(CNUASCCL_LINK_FAILED, "the link '" + name_ + "' failed: " + what + " returned " +
                                           status_name(number_of(status)) + " (" +
                                           std::to_string(number_of(status)) + ")");
}

Recipient* Link::recipient_of(std::uint32_t communicator) const {
  for (Recipient* each : recipients_)
    if (each->communicator() == communicator) return each;
  return nullptr;
}

bool Link::attach(Recipient& recipient) {
  const std::uint32_t communicator = recipient.communicator();
  if (recipient_of(communicator) != nullptr) return false;
  recipients_.push_back(&recipient);
  // Whoever waits for one recipient must not keep those out that use the link for another.
  if (recipients_.size() > 1) watch_descriptor();
  for (const Unclaimed& each : unclaimed_) {
    if (each.communicator != communicator) continue;
    if (const auto envelope = ccl::decode_envelope(each.payload))
      recipient.deliver(each.source, *envelope, each.payload);
  }
  std::erase_if(unclaimed_, [&](const Unclaimed& each) {
    if (each.communicator != communicator) return false;
    unclaimed_bytes_ -= each.payload.size();
    return true;
  });
  return true;
}

void Link::detach(Recipient& recipient) {
  recipients_.erase(std::remove(recipients_.begin(), recipients_.end(), &recipient), recipients_.end());
}

Link::Sent Link::send(GpuId to, std::span<const std::byte> head, std::span<const std::byte> body,
                      Failure& why) {
  const cnuasccl_frame frame{head.data(), head.size(), body.data(), body.size()};
  std::size_t sent = 0;
  return send(to, {&frame, 1}, sent, why);
}

Link::Sent Link::send(GpuId to, std::span<const cnuasccl_frame> frames, std::size_t& sent, Failure& why) {
  const std::size_t before = sent;
  cnuasccl_status_t status = CNUASCCL_OK;
  if (extension_.send_many != nullptr) {
    std::size_t done = 0;
    status = extension_.send_many(to.value, frames.data(), frames.size(), &done, transport_.context);
    sent += std::min(done, frames.size());
  } else {
    for (const cnuasccl_frame& frame : frames) {
      status = send_one(to, frame);
      if (number_of(status) != CNUASCCL_OK) break;
      ++sent;
    }
  }
  const bool all = sent - before == frames.size();
  if (number_of(status) == CNUASCCL_OK) return all ? Sent::done : Sent::again;
  if (number_of(status) == CNUASCCL_AGAIN) return Sent::again;
  why = transport_failed("sending", status);
  return Sent::failed;
}

cnuasccl_status_t Link::send_one(GpuId to, const cnuasccl_frame& frame) {
  if (extension_.send_pieces != nullptr)
    return extension_.send_pieces(to.value, frame.head, frame.head_bytes, frame.body, frame.body_bytes,
                                  transport_.context);
  std::memcpy(outgoing_.data(), frame.head, frame.head_bytes);
  if (frame.body_bytes > 0) std::memcpy(outgoing_.data() + frame.head_bytes, frame.body, frame.body_bytes);
  return transport_.send(to.value, outgoing_.data(), frame.head_bytes + frame.body_bytes, transport_.context);
}

// Into incoming_. A frame that is too long is as long as the transport says, and what is beyond incoming_ is
// not there.
cnuasccl_status_t Link::receive_copy(GpuId& source, std::span<const std::byte>& frame,
                                     std::int64_t timeout_ns) {
  std::size_t bytes = 0;
  const cnuasccl_status_t status =
      timeout_ns > 0 && extension_.recv_wait != nullptr
          ? extension_.recv_wait(&source.value, incoming_.data(), incoming_.size(), &bytes, timeout_ns,
                                 transport_.context)
          : transport_.recv(&source.value, incoming_.data(), incoming_.size(), &bytes, transport_.context);
  frame = {incoming_.data(), std::min(bytes, incoming_.size())};
  return status;
}

cnuasccl_status_t Link::receive_lent(GpuId& source, std::span<const std::byte>& frame,
                                     std::int64_t timeout_ns) {
  const void* data = nullptr;
  std::size_t bytes = 0;
  const cnuasccl_status_t status =
      extension_.borrow(&source.value, &data, &bytes, timeout_ns, transport_.context);
  if (number_of(status) != CNUASCCL_OK || data == nullptr) return status;
  ++lent_;
  delivered_ = Lent(*this, data);
  frame = {static_cast<const std::byte*>(data), bytes};
  return status;
}

void Link::give_back(const void* frame) {
  --lent_;
  extension_.give_back(frame, transport_.context);
}

Link::Lent Link::keep() {
  return lent_ < CNUASCCL_MOST_BORROWED ? std::move(delivered_) : Lent();
}

Link::Sent Link::take(std::int64_t timeout_ns, Failure& why) {
  GpuId source;
  std::span<const std::byte> frame;
  const cnuasccl_status_t status =
      borrows() ? receive_lent(source, frame, timeout_ns) : receive_copy(source, frame, timeout_ns);
  if (number_of(status) == CNUASCCL_AGAIN) return Sent::again;
  if (number_of(status) != CNUASCCL_OK) {
    why = transport_failed("receiving", status);
    return Sent::failed;
  }
  dispatch(source, frame);
  delivered_ = Lent();  // unless its recipient has kept it
  return Sent::done;
}

std::size_t Link::receive(std::size_t most, Failure& why) {
  std::size_t taken = 0;
  while (taken < most && take(0, why) == Sent::done)
    ++taken;
  return taken;
}

Failure Link::wait(std::int64_t timeout_ns) {
  constexpr std::int64_t kSecond = 1'000'000'000;
  constexpr std::int64_t kOthersNs = 50'000;
  const int descriptor = descriptor_;
  if (crowded() || (descriptor < 0 && !waits_by_itself())) {
    sleep_for(std::min(timeout_ns, kOthersNs));
    return {};
  }
  if (descriptor >= 0) {
    pollfd entry{descriptor, POLLIN, 0};
    const timespec limit{timeout_ns / kSecond, timeout_ns % kSecond};
    if (ppoll(&entry, 1, &limit, nullptr) > 0 && (entry.revents & POLLIN) == 0)
      sleep_for(std::min(timeout_ns, kOthersNs));  // an error that receiving will show
    return {};
  }
  const std::lock_guard lock(mutex_);
  Failure why;
  take(timeout_ns, why);
  return why;
}

void Link::dispatch(GpuId source, std::span<const std::byte> frame) {
  const auto from = [&] { return "a frame from GPU " + to_string(source) + " on the link '" + name_ + "' "; };
  if (frame.size() > kMaxFrameBytes)
    return stray(source, failure(CNUASCCL_FRAME_TOO_LONG, from() + "has more than the " +
                                                              std::to_string(kMaxFrameBytes) +
                                                              " bytes of an envelope and 60 KiB"));
  const auto envelope = ccl::decode_envelope(frame);
  if (!envelope)
    return stray(source, failure(status_of(envelope.error()), from() + "is none of a collective: " +
                                                                  std::string(ccl::name(envelope.error()))));
  if (Recipient* recipient = recipient_of(envelope->communicator))
    return recipient->deliver(source, *envelope, frame);
  // What a communicator that is gone was still to be told. An abort may be for one that is still to come.
  if (is(*envelope, ccl::EnvelopeKind::credit)) return;
  keep_unclaimed(source, *envelope, frame);
}

void Link::stray(GpuId source, Failure why) {
  if (recipients_.size() == 1) recipients_[0]->deliver_stray(source, why);
  if (suspicions_.size() == kMostSuspicions) suspicions_.pop_front();
  suspicions_.push_back(Suspicion{source, suspicious_++, std::move(why)});
}

void Link::keep_unclaimed(GpuId source, const ccl::Envelope& envelope, std::span<const std::byte> payload) {
  unclaimed_.push_back(Unclaimed{envelope.communicator,
                                 source,
                                 suspicious_++,
                                 is(envelope, ccl::EnvelopeKind::abort),
                                 {payload.begin(), payload.end()}});
  unclaimed_bytes_ += payload.size();
  while (unclaimed_.size() > kMostUnclaimed || unclaimed_bytes_ > kMostUnclaimedBytes) {
    unclaimed_bytes_ -= unclaimed_.front().payload.size();
    unclaimed_.pop_front();
  }
}

Failure Link::suspicion(GpuId source, std::uint64_t since) const {
  for (const Suspicion& each : suspicions_)
    if (each.source == source && each.number >= since) return each.why;
  for (const Unclaimed& each : unclaimed_)
    if (each.source == source && each.number >= since && !each.abort)
      return failure(CNUASCCL_WRONG_COMM, "a frame from GPU " + to_string(source) + " is for communicator " +
                                              hex(each.communicator) + ", which is not here");
  return {};
}

}  // namespace cnuas::live::collectives
