// A transport between a communicator and a world of threads that counts every frame and byte, and can change,
// drop, repeat, hold back and invent frames. The bootstrap beside it is counted too.
#pragma once

#include "core/ccl/chunk.h"
#include "core/ccl/envelope.h"
#include "tests/cnuasccl/ranks.h"

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <deque>
#include <functional>
#include <span>
#include <vector>

namespace cnuas::live::collectives {

using Payload = std::vector<std::byte>;

struct Outgoing {
  std::uint16_t to = 0;
  Payload bytes;
};

// The link of one rank. What it sends goes through `on_send`, which may return any number of frames.
class FakeLink {
 public:
  using OnSend = std::function<std::vector<Outgoing>(std::uint64_t index, Outgoing frame)>;

  FakeLink(World& world, int rank) { world.link(rank, real_, extension_); }
  FakeLink(const FakeLink&) = delete;
  FakeLink& operator=(const FakeLink&) = delete;

  cnuasccl_link_transport transport() { return {send, recv, local_gpu, this}; }
  // With waiting, and without anything else.
  cnuasccl_link_extension extension() {
    cnuasccl_link_extension extension{};
    extension.struct_bytes = sizeof extension;
    extension.name = name.c_str();
    extension.recv_wait = recv_wait;
    extension.available = is_available;
    return extension;
  }

  OnSend on_send;     // data frames, counted from 0
  OnSend on_control;  // credits and aborts, counted from 0
  std::string name = "fake";
  std::atomic<bool> dead{false};  // takes everything, delivers nothing
  std::atomic<bool> available{true};
  std::atomic<int> fails_with{CNUASCCL_OK};
  std::atomic<std::uint64_t> frames{0};  // data frames that were sent, control frames aside
  std::atomic<std::uint64_t> bytes{0};   // of all frames

 private:
  static FakeLink& self(void* context) { return *static_cast<FakeLink*>(context); }

  static bool is_control(std::span<const std::byte> frame) {
    const auto envelope = ccl::decode_envelope(frame);
    return envelope && envelope->kind > 0x100;
  }

  cnuasccl_status_t flush() {
    while (!waiting_.empty()) {
      const Outgoing& frame = waiting_.front();
      const cnuasccl_status_t status =
          real_.send(frame.to, frame.bytes.data(), frame.bytes.size(), real_.context);
      if (status != CNUASCCL_OK) return status;
      waiting_.pop_front();
    }
    return CNUASCCL_OK;
  }

  static cnuasccl_status_t send(std::uint16_t to, const void* data, std::size_t size, void* context) {
    FakeLink& link = self(context);
    if (const int status = link.fails_with; status != CNUASCCL_OK)
      return static_cast<cnuasccl_status_t>(status);
    if (const cnuasccl_status_t status = link.flush(); status != CNUASCCL_OK) return status;
    const auto* first = static_cast<const std::byte*>(data);
    Outgoing frame{to, {first, first + size}};
    link.bytes += size;
    const bool control = is_control(frame.bytes);
    const std::uint64_t index = control ? link.controls_++ : link.frames++;
    if (link.dead) return CNUASCCL_OK;
    const OnSend& on_send = control ? link.on_control : link.on_send;
    if (!on_send) {
      link.waiting_.push_back(std::move(frame));
    } else {
      for (Outgoing& each : on_send(index, std::move(frame)))
        link.waiting_.push_back(std::move(each));
    }
    link.flush();
    return CNUASCCL_OK;
  }

  static cnuasccl_status_t recv_wait(std::uint16_t* from, void* data, std::size_t capacity, std::size_t* size,
                                     std::int64_t timeout_ns, void* context) {
    FakeLink& link = self(context);
    if (const int status = link.fails_with; status != CNUASCCL_OK)
      return static_cast<cnuasccl_status_t>(status);
    link.flush();
    const cnuasccl_status_t status =
        link.extension_.recv_wait(from, data, capacity, size, timeout_ns, link.real_.context);
    return link.dead && status == CNUASCCL_OK ? CNUASCCL_AGAIN : status;
  }
  static cnuasccl_status_t recv(std::uint16_t* from, void* data, std::size_t capacity, std::size_t* size,
                                void* context) {
    return recv_wait(from, data, capacity, size, 0, context);
  }
  static cnuasccl_status_t local_gpu(std::uint16_t* gpu, void* context) {
    return self(context).real_.local_gpu(gpu, self(context).real_.context);
  }
  static int is_available(void* context) { return self(context).available ? 1 : 0; }

  cnuasccl_link_transport real_{};
  cnuasccl_link_extension extension_{};
  std::deque<Outgoing> waiting_;
  std::uint64_t controls_ = 0;
};

// A bootstrap that counts, around another one.
struct CountedBootstrap {
  cnuasccl_bootstrap real{};
  std::atomic<int> calls{0};
  std::vector<std::size_t> sizes;
  std::vector<Payload> sent;
  std::function<void(int call, std::span<std::byte> all)> change;  // what the rank gets

  cnuasccl_bootstrap get() { return {allgather, this, real.n_ranks, real.rank}; }

 private:
  static cnuasccl_status_t allgather(const void* send, void* recv, std::size_t bytes, void* context) {
    auto& self = *static_cast<CountedBootstrap*>(context);
    const auto* first = static_cast<const std::byte*>(send);
    self.sizes.push_back(bytes);
    self.sent.emplace_back(first, first + bytes);
    const cnuasccl_status_t status = self.real.allgather(send, recv, bytes, self.real.context);
    const std::span all(static_cast<std::byte*>(recv), bytes * static_cast<std::size_t>(self.real.n_ranks));
    if (self.change) self.change(self.calls, all);
    ++self.calls;
    return status;
  }
};

}  // namespace cnuas::live::collectives
