// Messages and doorbells that have been received and not taken: in order for each source, and bounded.
#pragma once

#include "core/topology/gpu_id.h"
#include "core/wire/frame.h"
#include "live/endpoint/frame_memory.h"

#include <array>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <span>
#include <unordered_map>

namespace cnuas::live::endpoint {

struct InboxLimits {
  std::size_t bytes = 0;  // of all sources
  std::size_t bytes_per_source = 0;
  bool drops = false;         // what is beyond; else it is held, and full() says so
  std::size_t doorbells = 0;  // beyond: dropped
};

struct HeldDoorbell {
  GpuId source;
  std::uint64_t value = 0;
};

// One thread at a time. `source` is a GPU, or kNoGpu for any.
class Inbox {
 public:
  struct Message {
    wire::FrameHeader header;
    std::span<const std::byte> payload;
    // --- the inbox's own ---
    AlignedBytes memory;
    std::size_t charge = 0;  // what it counts with
    Message* before = nullptr;
    Message* behind = nullptr;
    Message* behind_of_source = nullptr;
  };

  Inbox(const InboxLimits& limits, FrameMemory& frames) : limits_(limits), frames_(frames) {}
  ~Inbox();
  Inbox(const Inbox&) = delete;
  Inbox& operator=(const Inbox&) = delete;

  // Copies a payload in. False: dropped, because it is beyond the limits or there is no memory.
  bool hold(const wire::FrameHeader& header, std::span<const std::byte> payload);
  // The same without a copy: takes over the memory that the payload lies in, if it holds it.
  bool hold(const wire::FrameHeader& header, std::span<const std::byte> payload, AlignedBytes& memory);

  // At a limit, with a policy that does not drop: receive no more until something was taken.
  bool full() const { return !limits_.drops && at_limit(); }

  // The next message; null when there is none. It stays where it is.
  const Message* front(GpuId source) const;
  // Takes front(source) away. Precondition: it is not null.
  void pop(GpuId source);
  // The same, but its payload stays, and counted, until give_back(). Errors: nullptr when there is no memory.
  const Message* lend(GpuId source);
  // False: nothing at this address is lent.
  bool give_back(const std::byte* payload);

  bool hold_doorbell(HeldDoorbell doorbell);  // false: dropped
  std::optional<HeldDoorbell> take_doorbell(GpuId source);

  std::size_t messages() const { return messages_; }
  std::size_t doorbells() const { return doorbells_.size(); }
  std::size_t bytes() const { return bytes_; }

  // From this size on a message keeps the memory it was read into.
  static constexpr std::size_t kKeepsMemoryFrom = 8 * 1024;

 private:
  // Beside its memory: what it takes to know a message.
  static constexpr std::size_t kOverheadBytes = 128;

  struct Source {
    Message* first = nullptr;
    Message* last = nullptr;
    std::size_t bytes = 0;
  };
  using Rack = std::array<Source, kSlotsPerRack>;

  bool at_limit() const { return bytes_ >= limits_.bytes || sources_at_limit_ > 0; }
  bool may_hold(GpuId source) const;
  Source* source_of(GpuId id);
  const Source* source_of(GpuId id) const;
  bool append(const wire::FrameHeader& header, std::span<const std::byte> payload, AlignedBytes memory,
              std::size_t memory_bytes);
  Message* unlink(GpuId source);
  void charge(Source& source, std::size_t bytes);
  void discharge(const Message& message);
  void destroy(Message* message);

  InboxLimits limits_;
  FrameMemory& frames_;
  std::array<std::unique_ptr<Rack>, kMaxRack + 1> racks_;  // made when one of its GPUs first sends
  Message* first_ = nullptr;                               // of all sources, in order of arrival
  Message* last_ = nullptr;
  std::unordered_map<const std::byte*, Message*> lent_;  // by payload
  std::size_t messages_ = 0;
  std::size_t bytes_ = 0;
  std::size_t sources_at_limit_ = 0;
  std::deque<HeldDoorbell> doorbells_;
};

}  // namespace cnuas::live::endpoint
