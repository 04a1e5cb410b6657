#include "live/switchd/send_batch.h"

#include <algorithm>
#include <cerrno>

namespace cnuas::live {

SendBatch::SendBatch(FramePool& pool) : pool_(pool) {
  for (std::size_t i = 0; i < kMost; ++i) {
    headers_[i].msg_hdr.msg_iov = &vectors_[i];
    headers_[i].msg_hdr.msg_iovlen = 1;
  }
}

// A buffer may wait for peers that speak different orders: its header is turned for each as it is sent.
iovec SendBatch::bytes_of(const fabric_switch::FrameRef& frame, std::size_t slot) {
  if (frame.buffer == fabric_switch::kOwnFrame) {
    wire::encode(frame.header, own_frames_[slot]);
    return {own_frames_[slot].data(), own_frames_[slot].size()};
  }
  const std::span<std::byte> bytes(pool_.data(frame.buffer), static_cast<std::size_t>(frame.bytes()));
  if (wire::byte_order(bytes) != frame.header.order) wire::set_byte_order(bytes, frame.header.order);
  return {bytes.data(), bytes.size()};
}

SendBatch::Sent SendBatch::send(int fd, const fabric_switch::Switch& fabric, fabric_switch::PortIndex port) {
  const std::size_t count = std::min(fabric.queued(port), kMost);
  for (std::size_t i = 0; i < count; ++i)
    vectors_[i] = bytes_of(fabric.peek(port, i), i);
  const int sent = ::sendmmsg(fd, headers_.data(), static_cast<unsigned>(count), MSG_DONTWAIT | MSG_NOSIGNAL);
  if (sent >= 0) return {static_cast<std::size_t>(sent), End::sent};
  switch (errno) {
    case EAGAIN:
    case EINTR:
    case ENOBUFS:
    case ENOMEM:
      return {0, End::blocked};
    default:
      return {0, End::closed};
  }
}

}  // namespace cnuas::live
