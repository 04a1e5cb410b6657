#include "core/ccl/cost.h"

#include "core/ccl/blocks.h"

#include <algorithm>

namespace cnuas::ccl {
namespace {

// Times that would not fit stay kNever.
Picoseconds plus(Picoseconds a, Picoseconds b) {
  return a > kNever - b ? kNever : a + b;
}
Picoseconds times(std::uint64_t n, Picoseconds t) {
  return t != 0 && n > static_cast<std::uint64_t>(kNever / t) ? kNever : static_cast<Picoseconds>(n) * t;
}

// The problem and the port model in the letters of the formulas.
struct Terms {
  const Problem& problem;
  std::uint32_t element_bytes;
  const PortModel& port;

  std::uint64_t n() const { return problem.ranks; }
  Picoseconds a() const { return port.latency_ps; }
  Picoseconds wire(std::uint64_t elements) const {
    return transmission_ps(elements * element_bytes, port.rate_bytes_per_s);
  }
  Picoseconds m() const { return wire(problem.count); }
  Blocks blocks() const { return Blocks(problem.count, problem.ranks); }
  // The blocks of the vector one after the other, as messages of their own.
  Picoseconds all_blocks(const Blocks& blocks) const {
    return plus(times(blocks.larger(), wire(blocks.largest())),
                times(blocks.parts() - blocks.larger(), wire(blocks.smallest())));
  }
};

// The largest block meets its like in no round: it alone needs this long, and no other needs longer.
ClosedForm ring(const Terms& t) {
  const Picoseconds round = plus(t.a(), t.wire(t.blocks().largest()));
  if (t.problem.collective == Collective::all_reduce)
    return {times(2 * (t.n() - 1), round), true, "2(N-1)(a + m/N)"};
  return {times(t.n() - 1, round), true, "(N-1)(a + m/N)"};
}

// With uneven blocks ranks drift apart and meet at an ingress now and then, so what is left is a bound: what
// one port has to send.
ClosedForm direct(const Terms& t) {
  const Blocks blocks = t.blocks();
  const Picoseconds large = t.wire(blocks.largest());
  const Picoseconds gathered = times(t.n() - 1, large);
  switch (t.problem.collective) {
    case Collective::broadcast:
      return {plus(t.a(), times(t.n() - 1, t.m())), true, "a + (N-1)m"};
    case Collective::all_gather:
      return {plus(t.a(), gathered), blocks.even(), "a + m(N-1)/N"};
    case Collective::reduce_scatter:
    case Collective::all_to_all:
      return {plus(t.a(), t.all_blocks(blocks) - t.wire(blocks.smallest())), blocks.even(), "a + m(N-1)/N"};
    case Collective::all_reduce:
      break;
  }
  // Rank 1 sends to rank 0 last, and only then can rank 0 send its block, one of the largest, to all.
  const Picoseconds scattered = t.all_blocks(blocks) - t.wire(blocks.count(1));
  return {plus(plus(scattered, gathered), times(2, t.a())), blocks.even(), "2(a + m(N-1)/N)"};
}

}  // namespace

ClosedForm closed_form(const Problem& problem, std::uint32_t element_bytes, const PortModel& port) {
  if (problem.ranks == 0 || port.rate_bytes_per_s == 0) return {kNever, false, "none"};
  if (problem.ranks == 1) return {0, true, "0"};
  const Terms t{problem, element_bytes, port};
  switch (problem.algorithm) {
    case Algorithm::ring:
      return ring(t);
    case Algorithm::direct:
      return direct(t);
    case Algorithm::one_shot:
      return {plus(t.a(), times(t.n() - 1, t.m())), true, "a + (N-1)m"};
    default:
      break;
  }
  return {lower_bound(problem, element_bytes, port), false, "bound"};
}

Picoseconds lower_bound(const Problem& problem, std::uint32_t element_bytes, const PortModel& port) {
  if (problem.ranks == 0 || port.rate_bytes_per_s == 0) return kNever;
  if (problem.ranks == 1) return 0;
  const Terms t{problem, element_bytes, port};
  const Blocks blocks = t.blocks();
  std::uint64_t busiest = 0;  // elements
  switch (problem.collective) {
    case Collective::all_reduce: {
      // 2(N-1) messages an element: the least in which N can tell each other (one-way gossip). Spread evenly.
      const std::uint64_t messages = 2 * (t.n() - 1) * problem.count;
      busiest = std::max(messages / t.n() + (messages % t.n() > 0 ? 1 : 0), problem.count);
      break;
    }
    case Collective::broadcast:
      busiest = problem.count;
      break;
    case Collective::all_gather:
    case Collective::reduce_scatter:
      busiest = problem.count - blocks.smallest();
      break;
    case Collective::all_to_all:
      busiest = (t.n() - 1) * blocks.largest();
      break;
  }
  return plus(t.a(), t.wire(busiest));
}

double bus_factor(Collective collective, Rank ranks) {
  if (ranks == 0) return 0.0;
  const double n = ranks;
  switch (collective) {
    case Collective::all_reduce:
      return 2.0 * (n - 1.0) / n;
    case Collective::all_gather:
    case Collective::reduce_scatter:
    case Collective::all_to_all:
      return (n - 1.0) / n;
    case Collective::broadcast:
      break;
  }
  return 1.0;
}

}  // namespace cnuas::ccl
