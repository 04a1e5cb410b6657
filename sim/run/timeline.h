// The events of one run, in virtual time.
#pragma once

#include "core/engine/error.h"
#include "core/engine/event_queue.h"
#include "sim/simgrid/kernel.h"

#include <cstdint>
#include <optional>
#include <string>

namespace cnuas::sim {

// What leaves ports before what arrives, so that a port is free for what an arrival of the same moment sets
// off.
inline constexpr unsigned kLeaving = 0;
inline constexpr unsigned kArriving = 1;
inline constexpr unsigned kLast = 2;  // after everything else of the moment

// What an event means is its kind's business: the run's kinds are below kFirstMoverKind, a mover's are from
// there on.
struct Event {
  std::uint32_t a = 0;
  std::uint32_t b = 0;
  std::uint32_t c = 0;
  std::uint8_t kind = 0;
  std::uint8_t x = 0;
  std::uint8_t y = 0;
};
inline constexpr std::uint8_t kFirstMoverKind = 16;

class Timeline {
 public:
  Picoseconds begin_ps = 0;  // of the run, on the kernel's clock
  Picoseconds now_ps = 0;
  EventQueue<Event> queue;
  std::optional<Error> error;  // ends the run

  // Beyond kMaxKernelTime the run ends with an error.
  void push(Picoseconds time, unsigned priority, const Event& event) {
    if (time > kMaxKernelTime) {
      if (!error) error = beyond_range();
      return;
    }
    queue.push(time, priority, event);
  }

 private:
  static Error beyond_range() {
    return Error{ErrorCode::out_of_range,
                 "the simulated time exceeds " + std::to_string(kMaxKernelTime / kSecond) +
                     " s, beyond which picoseconds are no longer exact; use smaller sizes, fewer of them, or "
                     "faster links",
                 {}};
  }
};

}  // namespace cnuas::sim
