#include "live/endpoint/receive_batch.h"

#include <cerrno>
#include <utility>

namespace cnuas::live::endpoint {

bool ReceiveBatch::allocate() {
  for (std::size_t slot = 0; slot < kSlots; ++slot) {
    memory_[slot] = allocate_frame();
    if (!memory_[slot]) return false;
    pieces_[slot] = {memory_[slot].get() + kFrameAt, wire::kMaxFrameBytes};
    headers_[slot].msg_hdr.msg_iov = &pieces_[slot];
    headers_[slot].msg_hdr.msg_iovlen = 1;  // and no control data: descriptors that come along are refused
  }
  return true;
}

int ReceiveBatch::receive(int socket, std::size_t most) {
  for (;;) {
    const int packets =
        ::recvmmsg(socket, headers_.data(), static_cast<unsigned>(most), MSG_DONTWAIT, nullptr);
    if (packets >= 0) return packets;
    if (errno != EINTR) return -errno;
  }
}

AlignedBytes ReceiveBatch::exchange(std::size_t slot, AlignedBytes memory) {
  if (!memory) return memory;
  pieces_[slot].iov_base = memory.get() + kFrameAt;
  return std::exchange(memory_[slot], std::move(memory));
}

}  // namespace cnuas::live::endpoint
