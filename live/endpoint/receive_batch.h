// Several packets with one call to the kernel.
#pragma once

#include "live/endpoint/frame_memory.h"

#include <array>
#include <cstddef>
#include <span>

#include <sys/socket.h>

namespace cnuas::live::endpoint {

// One thread at a time. Every slot has memory of its own, which may be exchanged for other.
class ReceiveBatch {
 public:
  static constexpr std::size_t kSlots = 16;

  // False when there is no memory.
  bool allocate();

  // Packets read into slots 0 to n-1, at most `most`, or -errno; never waits. Precondition: most <= kSlots.
  int receive(int socket, std::size_t most = kSlots);

  std::span<const std::byte> packet(std::size_t slot) const {
    return {memory_[slot].get() + kFrameAt, headers_[slot].msg_len};
  }
  // The packet was larger than any frame, and what did not fit is lost.
  bool truncated(std::size_t slot) const { return (headers_[slot].msg_hdr.msg_flags & MSG_TRUNC) != 0; }

  // What holds packet(slot), at kFrameAt. Null memory is refused.
  AlignedBytes exchange(std::size_t slot, AlignedBytes memory);

 private:
  std::array<AlignedBytes, kSlots> memory_;
  std::array<iovec, kSlots> pieces_{};
  std::array<mmsghdr, kSlots> headers_{};
};

}  // namespace cnuas::live::endpoint
