// Answers to other GPUs' requests that wait for the socket.
#pragma once

#include "core/topology/gpu_id.h"
#include "core/wire/atomic.h"
#include "core/wire/window.h"

#include <cstddef>
#include <cstdint>
#include <deque>
#include <variant>

namespace cnuas::live::endpoint {

// A get is answered when its turn comes, from what the window holds then, frame by frame.
struct GetToAnswer {
  wire::Get get;
  std::uint32_t done = 0;  // bytes answered
};

struct Reply {
  GpuId to;
  std::variant<GetToAnswer, wire::GetReply, wire::AtomicReply, wire::FlushReply> what;
};

// One thread at a time. When it is full no more requests may be read.
class Replies {
 public:
  static constexpr std::size_t kFull = 1024;

  bool full() const { return waiting_.size() >= kFull; }
  bool empty() const { return waiting_.empty(); }
  std::size_t size() const { return waiting_.size(); }
  Reply& front() { return waiting_.front(); }
  void push(const Reply& reply) { waiting_.push_back(reply); }
  void pop() { waiting_.pop_front(); }
  void clear() { waiting_.clear(); }

 private:
  std::deque<Reply> waiting_;
};

}  // namespace cnuas::live::endpoint
