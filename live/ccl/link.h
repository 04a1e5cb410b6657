// One transport, and the communicators whose frames it carries.
#pragma once

#include "core/ccl/envelope.h"
#include "core/topology/gpu_id.h"
#include "live/ccl/cnuasccl.h"
#include "live/ccl/failure.h"

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <mutex>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace cnuas::live::collectives {

inline constexpr std::size_t kMaxFrameBytes = ccl::kEnvelopeBytes + ccl::kMaxChunkBytes;

// Whoever frames are for: a communicator.
class Recipient {
 public:
  virtual ~Recipient() = default;
  virtual std::uint32_t communicator() const = 0;
  // A frame with this communicator's ID. `envelope` is that of `payload`, and not checked yet.
  virtual void deliver(GpuId source, const ccl::Envelope& envelope, std::span<const std::byte> payload) = 0;
  // A frame that cannot be attributed, from a GPU on a link where this is the only recipient.
  virtual void deliver_stray(GpuId source, const Failure& why) = 0;
};

// Unless said otherwise, a function is called with mutex() held; so is what it calls.
class Link {
 public:
  enum class Sent { done, again, failed };

  // A frame that the transport has lent. Given back, with mutex() held, before the link ends.
  class Lent {
   public:
    Lent() = default;
    Lent(Lent&& other) noexcept : link_(std::exchange(other.link_, nullptr)), frame_(other.frame_) {}
    Lent& operator=(Lent&& other) noexcept {
      std::swap(link_, other.link_);
      std::swap(frame_, other.frame_);
      return *this;
    }
    ~Lent() {
      if (link_ != nullptr) link_->give_back(frame_);
    }
    explicit operator bool() const { return link_ != nullptr; }

   private:
    friend class Link;
    Lent(Link& link, const void* frame) : link_(&link), frame_(frame) {}
    Link* link_ = nullptr;
    const void* frame_ = nullptr;
  };

  // Keeps copies. `extension` may be null.
  Link(const cnuasccl_link_transport& transport, const cnuasccl_link_extension* extension,
       const char* default_name);

  std::mutex& mutex() { return mutex_; }
  const std::string& name() const { return name_; }
  // What it delivers is what was sent. Needs no mutex().
  bool keeps_bytes() const { return extension_.keeps_bytes != 0; }
  // Frames to send to one receiver in one go.
  std::uint32_t burst() const { return burst_; }
  bool available();
  // Whether it is the link of `gpu`. Fails with WRONG_GPU, LINK_FAILED.
  Failure check_gpu(GpuId gpu);

  // Frames that came for it before are delivered at once. False if the communicator's ID is taken.
  bool attach(Recipient& recipient);
  void detach(Recipient& recipient);

  // A frame in two pieces. failed: the transport's status is in `why`.
  Sent send(GpuId to, std::span<const std::byte> head, std::span<const std::byte> body, Failure& why);
  // Frames in order; `sent` grows by how many were sent, whatever is returned.
  Sent send(GpuId to, std::span<const cnuasccl_frame> frames, std::size_t& sent, Failure& why);

  // Hands over what has come, at most `most` frames. How many those were; fails with LINK_FAILED.
  std::size_t receive(std::size_t most, Failure& why);

  // Keeps the frame that is being delivered where it is. Empty: its recipient has to copy what it needs
  // later.
  Lent keep();

  // Waits until something may have come, or for so long. Frames that come meanwhile may be handed over; fails
  // with LINK_FAILED. Called without mutex().
  Failure wait(std::int64_t timeout_ns);

  // What is known about frames from a GPU that never reached a recipient: why they did not. OK: nothing. Only
  // those that came after the first `since` ones.
  Failure suspicion(GpuId source, std::uint64_t since) const;
  std::uint64_t suspicious_frames() const { return suspicious_; }

  // Whether several calls use it just now; then nobody waits with mutex() held. Needs no mutex().
  bool crowded() const { return users_ > 1; }
  // One call that uses it.
  class Use {
   public:
    explicit Use(Link& link) : link_(link) { ++link_.users_; }
    ~Use() { --link_.users_; }
    Use(const Use&) = delete;
    Use& operator=(const Use&) = delete;

   private:
    Link& link_;
  };

 private:
  struct Unclaimed {
    std::uint32_t communicator;
    GpuId source;
    std::uint64_t number;
    bool abort;
    std::vector<std::byte> payload;
  };
  struct Suspicion {
    GpuId source;
    std::uint64_t number;
    Failure why;
  };

  // Takes one frame, waiting for so long at most. done, again, failed.
  Sent take(std::int64_t timeout_ns, Failure& why);
  cnuasccl_status_t send_one(GpuId to, const cnuasccl_frame& frame);
  cnuasccl_status_t receive_copy(GpuId& source, std::span<const std::byte>& frame, std::int64_t timeout_ns);
  bool waits_by_itself() const { return extension_.recv_wait != nullptr || borrows(); }
  void watch_descriptor();
  bool borrows() const { return extension_.borrow != nullptr && extension_.give_back != nullptr; }
  cnuasccl_status_t receive_lent(GpuId& source, std::span<const std::byte>& frame, std::int64_t timeout_ns);
  void give_back(const void* frame);
  void dispatch(GpuId source, std::span<const std::byte> frame);
  void stray(GpuId source, Failure why);
  void keep_unclaimed(GpuId source, const ccl::Envelope& envelope, std::span<const std::byte> payload);
  Recipient* recipient_of(std::uint32_t communicator) const;
  Failure transport_failed(const char* what, cnuasccl_status_t status) const;

  std::mutex mutex_;
  const cnuasccl_link_transport transport_;
  cnuasccl_link_extension extension_{};  // zero where the caller's is shorter
  std::string name_;
  std::uint32_t burst_ = 1;
  std::atomic<int> descriptor_{
      -1};  // watched while waiting; without it the transport waits, with mutex() held
  std::atomic<int> users_{0};
  std::vector<Recipient*> recipients_;
  // Frames for communicators that are not there (yet): a peer may be ahead in making one.
  std::deque<Unclaimed> unclaimed_;
  std::size_t unclaimed_bytes_ = 0;
  std::deque<Suspicion> suspicions_;
  std::uint64_t suspicious_ = 0;  // frames that reached no recipient at once
  // Copies of frames, where the transport knows no better.
  std::vector<std::byte> incoming_;
  std::vector<std::byte> outgoing_;
  std::size_t lent_ = 0;  // frames that the transport has lent
  Lent delivered_;        // the one that is being delivered
};

}  // namespace cnuas::live::collectives
