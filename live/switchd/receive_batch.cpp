#include "live/switchd/receive_batch.h"

#include <algorithm>
#include <cerrno>

#include <poll.h>

namespace cnuas::live {

namespace {

// What one call may bring, so that it stays in the processor's cache until it has been passed on.
constexpr std::uint64_t kBytesACall = 512 * 1024;
constexpr std::size_t kLeast = 4;

bool peer_has_stopped_sending(int fd) {
  pollfd state{fd, POLLRDHUP, 0};
  return ::poll(&state, 1, 0) == 1 && (state.revents & (POLLRDHUP | POLLHUP)) != 0;
}

}  // namespace

ReceiveBatch::ReceiveBatch(FramePool& pool) : pool_(pool) {
  for (std::size_t i = 0; i < kMost; ++i) {
    headers_[i].msg_hdr.msg_iov = &vectors_[i];
    headers_[i].msg_hdr.msg_iovlen = 1;
    // No msg_control: descriptors that a peer smuggles in are closed by the kernel.
  }
}

void ReceiveBatch::fill(std::size_t slot) {
  buffers_[slot] = pool_.take();
  vectors_[slot] = {pool_.data(buffers_[slot]), FramePool::kBlockBytes};
}

// The front slots first: they get the buffers that were given back last.
void ReceiveBatch::refill(std::size_t slots) {
  for (std::size_t slot = 0; slot < given_away_; ++slot)
    fill(slot);
  given_away_ = 0;
  for (; filled_ < slots; ++filled_)
    fill(filled_);
}

std::size_t ReceiveBatch::messages_a_call() const {
  if (usual_bytes_ == 0) return kMost;
  return std::clamp<std::size_t>(kBytesACall / usual_bytes_, kLeast, kMost);
}

void ReceiveBatch::learn_size(std::span<const Message> messages) {
  std::uint64_t bytes = 0;
  for (const Message& message : messages)
    bytes += message.bytes;
  if (!messages.empty()) usual_bytes_ = (usual_bytes_ + bytes / messages.size() + 1) / 2;
}

ReceiveBatch::Received ReceiveBatch::receive(int fd) {
  const std::size_t asked = messages_a_call();
  refill(asked);
  // MSG_TRUNC: the length as it was sent, whatever fitted.
  const int got =
      ::recvmmsg(fd, headers_.data(), static_cast<unsigned>(asked), MSG_DONTWAIT | MSG_TRUNC, nullptr);
  if (got < 0) {
    if (errno == EAGAIN) return {{}, End::drained};
    if (errno == EINTR) return {{}, End::more};
    // A peer that closed without reading all. What it had sent is still there.
    if (errno == ECONNRESET) return {{}, End::more};
    return {{}, errno == ENOBUFS || errno == ENOMEM ? End::drained : End::closed};
  }
  std::size_t count = static_cast<std::size_t>(got);
  End end = count < asked ? End::drained : End::more;
  // After the end every call fills up with messages of no bytes, for ever. Fewer than asked for: the last one
  // of these was a real, empty message, because the socket was found empty after it.
  if (count == asked && headers_[count - 1].msg_len == 0 && peer_has_stopped_sending(fd)) {
    while (count > 0 && headers_[count - 1].msg_len == 0)
      --count;
    end = End::closed;
  }
  for (std::size_t i = 0; i < count; ++i)
    messages_[i] = {buffers_[i], headers_[i].msg_len};
  given_away_ = count;
  const std::span<const Message> messages(messages_.data(), count);
  learn_size(messages);
  return {messages, end};
}

}  // namespace cnuas::live
