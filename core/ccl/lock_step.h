// Timing of algorithms in rounds: in each round every rank sends one message and receives one, and its next
// round waits for both.
#pragma once

#include "core/ccl/collective.h"
#include "core/ccl/durations.h"
#include "core/engine/time.h"

#include <algorithm>
#include <vector>

namespace cnuas::ccl {

// The recurrence of the port model: ready'(r) = max(ready(r) + w(r), ready(p) + w(p) + a), with p the rank
// that r receives from. It leaves out that messages which meet at an ingress slow each other down, so it is
// exact as long as none do, and a lower bound otherwise; exact() says which.
class LockStep {
 public:
  LockStep(Rank ranks, Picoseconds latency) : latency_(latency), ready_(ranks, 0), ingress_until_(ranks, 0) {}

  // Before the first round: `rank` waits for a message that was started at 0 and takes `wire` to transmit.
  void receive_first(Rank rank, Picoseconds wire) {
    ready_[rank] = plus(wire, latency_);
    ingress_until_[rank] = wire;
  }

  // from(rank): whom a rank receives from, each rank being named once. wire(rank): how long its own message
  // takes to transmit.
  template <class From, class Wire>
  void round(const From& from, const Wire& wire) {
    const std::vector<Picoseconds> began = ready_;
    std::vector<Picoseconds> span(began.size());
    for (Rank rank = 0; rank < span.size(); ++rank)
      span[rank] = wire(rank);
    for (Rank rank = 0; rank < span.size(); ++rank) {
      const Rank peer = from(rank);
      const Picoseconds received = plus(began[peer], span[peer]);
      if (span[peer] > 0) {
        exact_ = exact_ && began[peer] >= ingress_until_[rank];
        ingress_until_[rank] = std::max(ingress_until_[rank], received);
      }
      ready_[rank] = std::max(plus(began[rank], span[rank]), plus(received, latency_));
    }
  }

  // When a rank has sent and received everything up to now.
  Picoseconds ready(Rank rank) const { return ready_[rank]; }
  bool exact() const { return exact_; }

 private:
  Picoseconds latency_;
  std::vector<Picoseconds> ready_;
  std::vector<Picoseconds> ingress_until_;  // end of the last message that came in
  bool exact_ = true;
};

}  // namespace cnuas::ccl
