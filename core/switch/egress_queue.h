// The frames that wait to leave by one port.
#pragma once

#include "core/engine/time.h"
#include "core/switch/frame_ref.h"
#include "core/switch/shared_buffers.h"

#include <cassert>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace cnuas::fabric_switch {

struct QueuedFrame {
  FrameRef frame;
  SharedBuffers::Slot shared = SharedBuffers::kSole;
  Picoseconds received_ps = 0;
};
static_assert(sizeof(QueuedFrame) == 32);  // as SwitchConfig::overrun_bytes counts

// A ring that grows to what was ever needed and then allocates nothing. It knows no limit: who pushes asks
// bytes() first.
class EgressQueue {
 public:
  bool empty() const { return size_ == 0; }
  std::size_t frames() const { return size_; }
  std::size_t own_frames() const { return own_frames_; }
  std::uint64_t bytes() const { return bytes_; }

  // Precondition: not empty. Valid until the next push or pop.
  const QueuedFrame& front() const {
    assert(size_ > 0);
    return ring_[head_];
  }

  // Precondition: index < frames(). 0 is the front; valid until the next push or pop.
  const QueuedFrame& at(std::size_t index) const {
    assert(index < size_);
    return ring_[(head_ + index) & (ring_.size() - 1)];
  }

  // `order` is the one to send the header in.
  void push(const FrameRef& frame, wire::ByteOrder order, SharedBuffers::Slot shared,
            Picoseconds received_ps) {
    if (size_ == ring_.size()) [[unlikely]]
      grow();
    QueuedFrame& queued = ring_[(head_ + size_) & (ring_.size() - 1)];
    queued.frame = frame;
    queued.frame.header.order = order;
    queued.shared = shared;
    queued.received_ps = received_ps;
    ++size_;
    bytes_ += frame.bytes();
    own_frames_ += frame.buffer == kOwnFrame ? 1 : 0;
  }

  // Precondition: not empty.
  void pop() {
    const FrameRef& frame = front().frame;
    bytes_ -= frame.bytes();
    own_frames_ -= frame.buffer == kOwnFrame ? 1 : 0;
    head_ = (head_ + 1) & (ring_.size() - 1);
    --size_;
  }

  // Calls visit(const QueuedFrame&) for each, the front first.
  template <class Visitor>
  void for_each(Visitor visit) const {
    for (std::size_t i = 0; i < size_; ++i)
      visit(ring_[(head_ + i) & (ring_.size() - 1)]);
  }

 private:
  static constexpr std::size_t kLeast = 16;  // a power of two, as every size of the ring

  void grow() {
    std::vector<QueuedFrame> larger(ring_.empty() ? kLeast : 2 * ring_.size());
    for (std::size_t i = 0; i < size_; ++i)
      larger[i] = ring_[(head_ + i) & (ring_.size() - 1)];
    ring_.swap(larger);
    head_ = 0;
  }

  std::vector<QueuedFrame> ring_;
  std::size_t head_ = 0;
  std::size_t size_ = 0;
  std::size_t own_frames_ = 0;
  std::uint64_t bytes_ = 0;
};

}  // namespace cnuas::fabric_switch
