#include "core/topology/gpu_id.h"
#include "live/abi/growing_struct.h"
#include "live/ccl/cnuasccl.h"

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <cstring>
#include <deque>
#include <exception>
#include <memory>
#include <mutex>
#include <new>
#include <shared_mutex>
#include <unordered_map>
#include <utility>
#include <vector>

namespace {

// One call of the allgather by all ranks: everyone puts in, then everyone takes out, then the next may begin.
class Rendezvous {
 public:
  Rendezvous(std::size_t ranks, std::chrono::nanoseconds timeout) : ranks_(ranks), timeout_(timeout) {}

  cnuasccl_status_t allgather(std::size_t rank, const void* send, void* recv, std::size_t bytes) {
    // As good as for ever, and a point in time that there is.
    constexpr std::chrono::hours kMost{24 * 365 * 100};
    const auto until = std::chrono::steady_clock::now() + std::min<std::chrono::nanoseconds>(timeout_, kMost);
    std::unique_lock lock(mutex_);
    if (!wait(lock, until, [&] { return taken_ == 0; })) return CNUASCCL_TIMEOUT;
    if (put_ == 0) {
      bytes_ = bytes;
      all_.assign(ranks_ * bytes, std::byte{0});
    }
    if (bytes != bytes_) return broken(CNUASCCL_INVALID_ARGUMENT);
    if (bytes > 0) std::memcpy(all_.data() + rank * bytes, send, bytes);
    ++put_;
    changed_.notify_all();
    if (!wait(lock, until, [&] { return put_ == ranks_; })) return broken(CNUASCCL_TIMEOUT);
    if (bytes > 0) std::memcpy(recv, all_.data(), all_.size());
    if (++taken_ == ranks_) {
      put_ = 0;
      taken_ = 0;
      changed_.notify_all();
    }
    return CNUASCCL_OK;
  }

 private:
  // put_ stays at ranks_ until all have taken, so that a rank that comes again early waits for taken_ == 0.
  template <class Ready>
  bool wait(std::unique_lock<std::mutex>& lock, std::chrono::steady_clock::time_point until, Ready ready) {
    changed_.wait_until(lock, until, [&] { return broken_ || ready(); });
    return !broken_ && ready();
  }
  cnuasccl_status_t broken(cnuasccl_status_t status) {
    broken_ = true;
    changed_.notify_all();
    return status;
  }

  const std::size_t ranks_;
  const std::chrono::nanoseconds timeout_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::size_t bytes_ = 0;
  std::size_t put_ = 0;
  std::size_t taken_ = 0;
  bool broken_ = false;
  std::vector<std::byte> all_;
};

struct Frame {
  std::uint16_t source = 0;
  std::vector<std::byte> bytes;
};

// What a rank has been sent.
class Inbox {
 public:
  cnuasccl_status_t put(std::uint16_t source, const void* head, std::size_t head_bytes, const void* body,
                        std::size_t body_bytes, std::size_t most) {
    const std::lock_guard lock(mutex_);
    if (frames_.size() >= most) return CNUASCCL_AGAIN;
    Frame frame;
    frame.source = source;
    frame.bytes.reserve(head_bytes + body_bytes);
    const auto append = [&frame](const void* from, std::size_t bytes) {
      const auto* first = static_cast<const std::byte*>(from);
      if (bytes > 0) frame.bytes.insert(frame.bytes.end(), first, first + bytes);
    };
    append(head, head_bytes);
    append(body, body_bytes);
    frames_.push_back(std::move(frame));
    came_.notify_one();
    return CNUASCCL_OK;
  }

  cnuasccl_status_t take(std::uint16_t& source, void* to, std::size_t capacity, std::size_t& bytes,
                         std::chrono::nanoseconds timeout) {
    Frame frame;
    {
      std::unique_lock lock(mutex_);
      if (frames_.empty() && timeout.count() > 0)
        came_.wait_for(lock, timeout, [&] { return !frames_.empty(); });
      if (frames_.empty()) return CNUASCCL_AGAIN;
      frame = std::move(frames_.front());
      frames_.pop_front();
    }
    source = frame.source;
    bytes = frame.bytes.size();
    if (bytes > 0) std::memcpy(to, frame.bytes.data(), std::min(bytes, capacity));
    return CNUASCCL_OK;
  }

 private:
  std::mutex mutex_;
  std::condition_variable came_;
  std::deque<Frame> frames_;
};

struct Member {
  cnuasccl_inproc* world = nullptr;
  std::size_t rank = 0;
  std::uint16_t gpu = 0;
  Inbox inbox;
};

}  // namespace

struct cnuasccl_inproc {
  cnuasccl_inproc(int ranks, std::uint32_t most_frames, std::int64_t timeout_ns)
      : rendezvous(static_cast<std::size_t>(ranks), std::chrono::nanoseconds(timeout_ns)), most(most_frames) {
    for (int rank = 0; rank < ranks; ++rank) {
      members.push_back(std::make_unique<Member>());
      members.back()->world = this;
      members.back()->rank = static_cast<std::size_t>(rank);
    }
  }

  Member* of_gpu(std::uint16_t gpu) {
    const std::shared_lock lock(mutex);
    const auto found = by_gpu.find(gpu);
    return found == by_gpu.end() ? nullptr : found->second;
  }

  Rendezvous rendezvous;
  const std::size_t most;
  std::vector<std::unique_ptr<Member>> members;
  std::shared_mutex mutex;
  std::unordered_map<std::uint16_t, Member*> by_gpu;
};

namespace {

template <class Call>
cnuasccl_status_t guarded(Call&& call) noexcept {
  try {
    return call();
  } catch (const std::bad_alloc&) {
    return CNUASCCL_NO_MEMORY;
  } catch (const std::exception&) {
    return CNUASCCL_SYSTEM;
  }
}

Member& member(void* context) {
  return *static_cast<Member*>(context);
}

cnuasccl_status_t allgather(const void* send, void* recv, std::size_t bytes, void* context) {
  return guarded(
      [&] { return member(context).world->rendezvous.allgather(member(context).rank, send, recv, bytes); });
}

cnuasccl_status_t send_pieces(std::uint16_t gpu, const void* head, std::size_t head_bytes, const void* body,
                              std::size_t body_bytes, void* context) {
  return guarded([&] {
    Member& from = member(context);
    Member* to = from.world->of_gpu(gpu);
    if (to == nullptr) return CNUASCCL_AGAIN;
    return to->inbox.put(from.gpu, head, head_bytes, body, body_bytes, from.world->most);
  });
}

cnuasccl_status_t send(std::uint16_t gpu, const void* frame, std::size_t bytes, void* context) {
  return send_pieces(gpu, frame, bytes, nullptr, 0, context);
}

cnuasccl_status_t recv_wait(std::uint16_t* gpu, void* frame, std::size_t capacity, std::size_t* bytes,
                            std::int64_t timeout_ns, void* context) {
  return guarded([&] {
    return member(context).inbox.take(*gpu, frame, capacity, *bytes, std::chrono::nanoseconds(timeout_ns));
  });
}

cnuasccl_status_t recv(std::uint16_t* gpu, void* frame, std::size_t capacity, std::size_t* bytes,
                       void* context) {
  return recv_wait(gpu, frame, capacity, bytes, 0, context);
}

cnuasccl_status_t local_gpu(std::uint16_t* gpu, void* context) {
  *gpu = member(context).gpu;
  return CNUASCCL_OK;
}

bool has_rank(const cnuasccl_inproc* world, int rank) {
  return world != nullptr && rank >= 0 && static_cast<std::size_t>(rank) < world->members.size();
}

}  // namespace

extern "C" {

cnuasccl_status_t cnuasccl_inproc_create(int n_ranks, uint32_t frames_per_receiver, int64_t timeout_ns,
                                         struct cnuasccl_inproc** world) {
  if (world == nullptr) return CNUASCCL_INVALID_ARGUMENT;
  *world = nullptr;
  if (n_ranks < 1 || n_ranks > 65'534 || frames_per_receiver < 1 || timeout_ns <= 0)
    return CNUASCCL_INVALID_ARGUMENT;
  return guarded([&] {
    *world = new cnuasccl_inproc(n_ranks, frames_per_receiver, timeout_ns);
    return CNUASCCL_OK;
  });
}

void cnuasccl_inproc_destroy(struct cnuasccl_inproc* world) {
  delete world;
}

cnuasccl_status_t cnuasccl_inproc_bootstrap(struct cnuasccl_inproc* world, int rank,
                                            struct cnuasccl_bootstrap* bootstrap) {
  if (!has_rank(world, rank) || bootstrap == nullptr) return CNUASCCL_INVALID_ARGUMENT;
  Member& here = *world->members[static_cast<std::size_t>(rank)];
  *bootstrap = cnuasccl_bootstrap{allgather, &here, static_cast<int>(world->members.size()), rank};
  return CNUASCCL_OK;
}

cnuasccl_status_t cnuasccl_inproc_link(struct cnuasccl_inproc* world, int rank, uint16_t gpu_id,
                                       struct cnuasccl_link_transport* link,
                                       struct cnuasccl_link_extension* extension, size_t extension_bytes) {
  if (!has_rank(world, rank) || link == nullptr || !cnuas::GpuId{gpu_id}.usable())
    return CNUASCCL_INVALID_ARGUMENT;
  return guarded([&] {
    Member& here = *world->members[static_cast<std::size_t>(rank)];
    {
      const std::unique_lock lock(world->mutex);
      const bool another = here.gpu != 0 && here.gpu != gpu_id;
      if (another || world->by_gpu.emplace(gpu_id, &here).first->second != &here)
        return CNUASCCL_INVALID_ARGUMENT;
      here.gpu = gpu_id;
    }
    *link = cnuasccl_link_transport{send, recv, local_gpu, &here};
    if (extension == nullptr) return CNUASCCL_OK;
    cnuasccl_link_extension own{};
    own.name = "inproc";
    own.frames_per_receiver =
        static_cast<std::uint32_t>(std::min<std::size_t>(world->most, std::size_t{0xFFFF'FFFF}));
    own.send_pieces = send_pieces;
    own.recv_wait = recv_wait;
    own.keeps_bytes = 1;
    return cnuas::live::growing::make(own, extension, extension_bytes) ? CNUASCCL_OK
                                                                       : CNUASCCL_INVALID_ARGUMENT;
  });
}

}  // extern "C"
