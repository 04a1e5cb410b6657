// A traffic phase under way: who sends what to whom next, and what has become of it.
#pragma once

#include "core/engine/random.h"
#include "core/switch/latency_histogram.h"
#include "core/topology/fabric.h"
#include "core/workload/workload.h"
#include "sim/run/message.h"
#include "sim/run/outcome.h"

#include <cstdint>
#include <vector>

namespace cnuas::sim {

class Traffic {
 public:
  // Keeps a reference to the phase. `senders` and `receivers` are the phase's, as positions in the fabric.
  Traffic(const TrafficPhase& phase, std::vector<GpuIndex> senders, std::vector<GpuIndex> receivers,
          std::uint64_t seed);

  std::size_t senders() const { return states_.size(); }
  GpuIndex gpu(std::uint32_t sender) const { return senders_[sender]; }

  // The sender's part of the phase begins now.
  void begin(std::uint32_t sender, Picoseconds now) { states_[sender].begin_ps = now; }
  // Whether the sender has more to send, and when that is due: not before then.
  bool more(std::uint32_t sender) const { return states_[sender].sent < phase_.messages; }
  Picoseconds due_ps(std::uint32_t sender) const;
  // Takes the sender's next message. Message::from is its number, for sent() and arrived().
  Message next(std::uint32_t job, std::uint32_t sender, Picoseconds now);

  std::uint32_t sender_of(std::uint32_t number) const { return in_flight_[number].sender; }
  // Returns true when it was the last of its sender.
  bool arrived(std::uint32_t number, Picoseconds now);

  TrafficOutcome outcome() const;

 private:
  struct State {
    Picoseconds begin_ps = 0;
    std::uint64_t sent = 0;
    std::uint64_t arrived = 0;
  };
  struct InFlight {
    std::uint32_t sender = 0;
    Picoseconds due_ps = 0;
  };

  GpuIndex receiver_for(std::uint32_t sender);
  std::uint64_t message_bytes() const;

  const TrafficPhase& phase_;
  std::vector<GpuIndex> senders_;
  std::vector<GpuIndex> receivers_;
  Random random_;
  std::vector<State> states_;
  std::vector<InFlight> in_flight_;
  std::vector<std::uint32_t> free_;
  std::uint64_t sent_ = 0;
  std::uint64_t arrived_ = 0;
  fabric_switch::LatencyHistogram latency_;
};

}  // namespace cnuas::sim
