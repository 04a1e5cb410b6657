// The last collectives of a communicator, as one rank saw them.
#pragma once

#include "core/ccl/chunk.h"
#include "core/ccl/envelope.h"
#include "live/ccl/failure.h"
#include "live/ccl/membership.h"

#include <cstddef>
#include <cstdint>
#include <mutex>
#include <string>
#include <vector>

namespace cnuas::live::collectives {

struct FlightEntry {
  ccl::EnvelopeKind kind = ccl::EnvelopeKind::barrier;
  std::uint32_t sequence = 0;
  ccl::Signature signature;
  bool canonical = true;
  bool in_place = false;
  std::int64_t began_ns = 0;  // CLOCK_REALTIME, so that the dumps of several hosts can be laid side by side
  std::int64_t took_ns = -1;  // CLOCK_MONOTONIC; -1: it runs
  std::uint64_t frames_sent = 0;
  std::uint64_t frames_received = 0;
  cnuasccl_status_t status = CNUASCCL_OK;
  Rank culprit = ~Rank{0};  // whom it waited for or heard from last when it failed
  std::string text;         // why it failed
};

// Any thread.
class FlightRecorder {
 public:
  explicit FlightRecorder(std::size_t entries) : most_(entries) {}

  // Forgets the oldest entries beyond.
  void resize(std::size_t entries);
  void begin(const FlightEntry& entry);
  // Replaces the entry that was begun last.
  void end(const FlightEntry& entry);

  struct Context {
    std::uint32_t communicator = 0;
    const Membership* membership = nullptr;
    std::string carrier;
  };
  // JSON, "cnuasccl.flight/1".
  std::string dump(const Context& context) const;

 private:
  mutable std::mutex mutex_;
  std::size_t most_;
  std::size_t first_ = 0;  // of entries_, once it is full
  std::uint64_t begun_ = 0;
  std::vector<FlightEntry> entries_;
};

}  // namespace cnuas::live::collectives
