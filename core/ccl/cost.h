// Closed forms: the time a schedule takes on a fabric of pure pipes, and the least time any schedule can
// take.
#pragma once

#include "core/ccl/schedule.h"
#include "core/engine/time.h"

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

namespace cnuas::ccl {

// How a message is cut into frames. On the wire it is its bytes and `overhead_bytes` for each frame (one at
// least); the switch holds it up for as long as it takes to receive `held_bytes` of its longest frame, or all
// of that if it is shorter. Each frame's time is rounded to a whole picosecond.
struct Framing {
  std::uint64_t chunk_bytes = 0;     // of the message in a frame, above 0
  std::uint64_t overhead_bytes = 0;  // frame header and envelope
  std::uint64_t held_bytes = 0;      // the header for cut-through; store and forward: ~0, the whole frame
};

// One full-duplex port per rank at `rate`, a non-blocking switch between all, `latency` from the last byte
// leaving a port to the last byte arriving; a port sends one message after the other.
struct PortModel {
  std::uint64_t rate_bytes_per_s = 0;
  Picoseconds latency_ps = 0;
  std::optional<Framing> framing = {};  // none: a message is its bytes
};

struct ClosedForm {
  Picoseconds time_ps = 0;
  bool exact = false;        // the simulator must equal it; otherwise it is a lower bound
  std::string_view formula;  // as documented, e.g. "2(N-1)(a + m/N)"
};

// a = latency, m = size / rate. Block sizes are the schedule's own whole elements, so m/N stands for the
// largest block. Source of the formulas: Patarasuk and Yuan 2009 (ring); Thakur, Rabenseifner and Gropp 2005
// (recursive doubling, halving-doubling, Bruck, pairwise); the rest follow from the port model directly.
// Where blocks are uneven, time_ps is the exact sum over rounds or the longest path, and `formula` what that
// comes to for even ones. Not exact: a vector in uneven blocks for the direct algorithms, trees of more than
// two ranks, a chain of more chunks than its hops can hold, and whatever makes messages meet at an ingress.
// Always has a value for a problem that make_schedule accepts; 0 ranks or a rate of 0 give kNever.
ClosedForm closed_form(const Problem& problem, std::uint32_t element_bytes, const PortModel& port);

// Least time for any algorithm: latency of one message (N > 1) and the bytes that must leave or enter the
// busiest port. Those are rounded as one message; a schedule that cuts them into k messages can come out k/2
// ps below, since each of them is rounded on its own.
Picoseconds lower_bound(const Problem& problem, std::uint32_t element_bytes, const PortModel& port);

// Elements that any algorithm must send from the ranks inside to those outside, or the other way, whichever
// is more; 0 when all or none are inside. inside[r]: rank r is.
std::uint64_t crossing_elements(const Problem& problem, const std::vector<bool>& inside);

// busbw = algbw * bus_factor (nccl-tests, doc/PERFORMANCE.md).
double bus_factor(Collective collective, Rank ranks);

}  // namespace cnuas::ccl
