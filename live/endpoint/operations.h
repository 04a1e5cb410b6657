// What this endpoint has asked of others and not been answered.
#pragma once

#include "core/topology/gpu_id.h"
#include "live/endpoint/cnuaslink.h"

#include <cstddef>
#include <cstdint>
#include <span>
#include <unordered_map>

namespace cnuas::live::endpoint {

// What becomes of one operation or of several together.
struct Completion {
  unsigned pending = 0;
  cnuaslink_result result = CNUASLINK_OK;  // the first failure
  std::uint64_t value = 0;                 // of an atomic: what was there before
};

struct Operation {
  enum class Kind { get, atomic, flush };
  Kind kind = Kind::get;
  GpuId peer;
  std::span<std::byte> into{};   // get: what has not arrived yet goes here
  std::uint32_t arrived = 0;     // get
  std::uint64_t put_frames = 0;  // flush: sent before it
  Completion* completion = nullptr;
};

// One thread at a time. A Completion must live while something of it is pending.
class Operations {
 public:
  static constexpr std::size_t kMost = 1024;

  // `first_tag` is drawn by chance, so that answers to an earlier process are not taken for others.
  explicit Operations(std::uint32_t first_tag) : next_tag_(first_tag) {}

  bool has_room() const { return open_.size() < kMost; }
  // Returns its tag, never 0. Precondition: has_room().
  std::uint32_t begin(const Operation& operation);
  // The operation that an answer from `peer` belongs to; null when there is none.
  Operation* find(std::uint32_t tag, GpuId peer, Operation::Kind kind);
  void finish(std::uint32_t tag, cnuaslink_result result, std::uint64_t value = 0);
  // Answers that still come find nothing.
  void cancel(Completion& completion);
  void fail_all(cnuaslink_result result);

 private:
  std::uint32_t next_tag_;
  std::unordered_map<std::uint32_t, Operation> open_;
};

}  // namespace cnuas::live::endpoint
