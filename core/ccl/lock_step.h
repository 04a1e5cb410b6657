// Timing of algorithms in rounds: in each round every rank sends one message and receives one, and its next
// round waits for both.
#pragma once

#include "core/ccl/collective.h"
#include "core/ccl/durations.h"
#include "core/engine/time.h"

#include <algorithm>
#include <vector>

namespace cnuas::ccl {

// What a message takes: its sender's port, and from there to the receiver.
struct MessageTime {
  Picoseconds transmit_ps = 0;
  Picoseconds way_ps = 0;
};

// The recurrence of the port model: ready'(r) = max(ready(r) + w(r), ready(p) + w(p) + a(p)), with p the rank
// that r receives from. It leaves out that messages which meet at an ingress slow each other down, so it is
// exact as long as none do, and a lower bound otherwise; exact() says which.
class LockStep {
 public:
  explicit LockStep(Rank ranks) : ready_(ranks, 0), ingress_until_(ranks, 0) {}

  // Before the first round: `rank` waits for a message that was started at 0.
  void receive_first(Rank rank, const MessageTime& message) {
    ready_[rank] = plus(message.transmit_ps, message.way_ps);
    ingress_until_[rank] = message.transmit_ps;
  }

  // from(rank): whom a rank receives from, each rank being named once. message(rank): what its own takes.
  template <class From, class Message>
  void round(const From& from, const Message& message) {
    const std::vector<Picoseconds> began = ready_;
    std::vector<MessageTime> span(began.size());
    for (Rank rank = 0; rank < span.size(); ++rank)
      span[rank] = message(rank);
    for (Rank rank = 0; rank < span.size(); ++rank) {
      const Rank peer = from(rank);
      const Picoseconds received = plus(began[peer], span[peer].transmit_ps);
      if (span[peer].transmit_ps > 0) {
        exact_ = exact_ && began[peer] >= ingress_until_[rank];
        ingress_until_[rank] = std::max(ingress_until_[rank], received);
      }
      ready_[rank] = std::max(plus(began[rank], span[rank].transmit_ps), plus(received, span[peer].way_ps));
    }
  }

  // When a rank has sent and received everything up to now.
  Picoseconds ready(Rank rank) const { return ready_[rank]; }
  bool exact() const { return exact_; }

 private:
  std::vector<Picoseconds> ready_;
  std::vector<Picoseconds> ingress_until_;  // end of the last message that came in
  bool exact_ = true;
};

}  // namespace cnuas::ccl
