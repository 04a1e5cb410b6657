// Several messages from one socket with one system call.
#pragma once

#include "live/switchd/frame_pool.h"

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

#include <sys/socket.h>

namespace cnuas::live {

class ReceiveBatch {
 public:
  static constexpr std::size_t kMost = 32;

  // The pool must outlive it.
  explicit ReceiveBatch(FramePool& pool);
  ReceiveBatch(const ReceiveBatch&) = delete;
  ReceiveBatch& operator=(const ReceiveBatch&) = delete;

  struct Message {
    fabric_switch::BufferId buffer = 0;
    std::uint64_t bytes = 0;  // as sent; the buffer has at most FramePool::kBlockBytes of them
  };
  enum class End : std::uint8_t {
    more,     // there may be more
    drained,  // there was no more at that moment
    closed,   // the peer sends nothing any more, and all that it had sent has been read
  };
  struct Received {
    std::span<const Message> messages;  // the caller owns their buffers from now on; until the next call
    End end = End::drained;
  };
  Received receive(int fd);

 private:
  void fill(std::size_t slot);
  void refill(std::size_t slots);
  std::size_t messages_a_call() const;
  void learn_size(std::span<const Message> messages);

  FramePool& pool_;
  std::size_t given_away_ = 0;  // slots at the front whose buffers the caller has got
  std::size_t filled_ = 0;      // slots that have a buffer, those at the front as if they had
  std::uint64_t usual_bytes_ = 0;
  std::array<mmsghdr, kMost> headers_{};
  std::array<iovec, kMost> vectors_{};
  std::array<fabric_switch::BufferId, kMost> buffers_{};
  std::array<Message, kMost> messages_{};
};

}  // namespace cnuas::live
