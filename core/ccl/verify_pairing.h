// The static half of verification: every step is well-formed, and sends and receives pair up.
#pragma once

#include "core/ccl/schedule.h"
#include "core/engine/error.h"

#include <cstdint>
#include <limits>
#include <string>
#include <unordered_map>
#include <vector>

namespace cnuas::ccl {

// "rank 3, lane 1, step 7"
std::string place_of(Rank rank, Lane lane, std::uint64_t step);
// "sends to rank 3 on channel 0", "receives from rank 2 on channel 1", "copies"
std::string deed_of(const Step& step);

constexpr bool sends(Op op) {
  return op == Op::send;
}
constexpr bool receives(Op op) {
  return op == Op::recv || op == Op::recv_reduce;
}

// All messages of one (source, destination, channel). The k-th send meets the k-th receive, which is well
// defined because all sends are in one lane, and all receives.
struct Channel {
  Rank source = 0;
  Rank destination = 0;
  std::uint8_t number = 0;
  Lane send_lane = 0;
  Lane receive_lane = 0;
  std::uint64_t sends = 0;
  std::uint64_t receives = 0;
};

class Channels {
 public:
  using Id = std::uint32_t;

  // Precondition: `step`, of `rank`, sends or receives, and is in range.
  Id find(Rank rank, const Step& step) const { return ids_.at(key_of(rank, step)); }
  const Channel& at(Id id) const { return channels_[id]; }
  std::size_t size() const { return channels_.size(); }

  // Counts a step in. Fails if its direction of this channel has a step in another lane.
  Result<void> add(Rank rank, Lane lane, std::uint64_t index, const Step& step);

 private:
  struct Key {
    Rank source;
    Rank destination;
    std::uint8_t number;
    bool operator==(const Key&) const = default;
  };
  struct Hash {
    std::size_t operator()(const Key& key) const {
      const std::uint64_t pair = (static_cast<std::uint64_t>(key.source) << 32) | key.destination;
      return static_cast<std::size_t>(((pair + key.number) * 0x9E3779B97F4A7C15u) >> 16);
    }
  };
  static Key key_of(Rank rank, const Step& step) {
    return sends(step.op) ? Key{rank, step.peer, step.channel} : Key{step.peer, rank, step.channel};
  }

  std::unordered_map<Key, Id, Hash> ids_;  // for look-up only; whatever is listed comes from channels_
  std::vector<Channel> channels_;          // in order of first use
};

// Checks every step of every rank by itself, then the numbers of sends and receives. Errors: mismatch,
// unsupported (steps carried out by a switch), out_of_range (more steps than the verifier can count).
Result<Channels> check_steps(const Schedule& schedule);

// What a lane's counters can hold.
inline constexpr std::uint64_t kMostSteps = std::numeric_limits<std::uint32_t>::max() - 1;

}  // namespace cnuas::ccl
