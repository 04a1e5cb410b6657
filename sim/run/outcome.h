// What happened in one run, counted from its begin.
#pragma once

#include "core/engine/time.h"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace cnuas::sim {

// Of a traffic phase.
struct TrafficOutcome {
  std::uint64_t messages = 0;  // sent
  std::uint64_t arrived = 0;
  std::uint64_t bytes = 0;         // arrived
  Picoseconds latency_p50_ps = 0;  // of a message, from when it was due to its arrival
  Picoseconds latency_p99_ps = 0;
};

struct PhaseOutcome {
  Picoseconds begin_ps = 0;      // first rank's start
  Picoseconds end_ps = 0;        // last rank's end
  std::uint64_t wire_bytes = 0;  // put on the wire by all GPU ports, headers included
  std::uint64_t messages = 0;
  std::optional<TrafficOutcome> traffic;
  std::string wrong_data;  // where real data, if carried, came out wrong; "" when right
  std::string incomplete;  // why it did not end: "rank 3 waits for a message from rank 2"; "" when it did
};

struct Outcome {
  std::vector<PhaseOutcome> phases;
  Picoseconds time_ps = 0;
  Picoseconds compute_ps = 0;  // longest time one GPU spent computing; what overlapped counts once
  std::uint64_t events = 0;    // messages sent, messages received, computations
  std::uint64_t frames = 0;    // put on a wire, each hop counted
  std::uint64_t digest = 0;    // of every arrival and when it was
  // Bytes carried, by LinkIndex: payload in fluid, frames in frame fidelity.
  std::vector<std::uint64_t> link_bytes;
};

}  // namespace cnuas::sim
