// Several frames to one socket with one system call.
#pragma once

#include "core/switch/switch.h"
#include "live/switchd/frame_pool.h"

#include <array>
#include <cstddef>

#include <sys/socket.h>

namespace cnuas::live {

class SendBatch {
 public:
  static constexpr std::size_t kMost = 64;

  // The pool must outlive it.
  explicit SendBatch(FramePool& pool);
  SendBatch(const SendBatch&) = delete;
  SendBatch& operator=(const SendBatch&) = delete;

  enum class End : std::uint8_t {
    sent,     // all that was asked for
    blocked,  // the peer's queue is full
    closed,   // the peer does not receive any more
  };
  struct Sent {
    std::size_t frames = 0;  // the first so many of the queue
    End end = End::sent;
  };
  // Sends the first frames of a port's queue, at most kMost, and leaves them in the queue.
  Sent send(int fd, const fabric_switch::Switch& fabric, fabric_switch::PortIndex port);

 private:
  iovec bytes_of(const fabric_switch::FrameRef& frame, std::size_t slot);

  FramePool& pool_;
  std::array<mmsghdr, kMost> headers_{};
  std::array<iovec, kMost> vectors_{};
  std::array<std::array<std::byte, wire::kHeaderBytes>, kMost> own_frames_{};
};

}  // namespace cnuas::live
