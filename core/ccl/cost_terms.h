// The letters of the closed forms.
#pragma once

#include "core/ccl/blocks.h"
#include "core/ccl/cost.h"
#include "core/ccl/durations.h"
#include "core/ccl/lock_step.h"

#include <algorithm>
#include <cstdint>
#include <limits>

namespace cnuas::ccl {

// Precondition: ranks >= 2 and a rate above 0.
struct CostTerms {
  const Problem& problem;
  std::uint32_t element_bytes;
  const PortModel& port;

  Rank n() const { return problem.ranks; }
  // From a message's last byte leaving to its last byte arriving.
  Picoseconds a(std::uint64_t elements) const {
    if (!port.framing) return port.latency_ps;
    // The longest frame passes two links; those after it follow in its wake.
    const std::uint64_t longest = std::min(elements * element_bytes, port.framing->chunk_bytes);
    const std::uint64_t held = std::min(longest + port.framing->overhead_bytes, port.framing->held_bytes);
    return plus(port.latency_ps, transmission_ps(held, port.rate_bytes_per_s));
  }
  Picoseconds m() const { return wire(problem.count); }
  // A message on the wire.
  Picoseconds wire(std::uint64_t elements) const {
    if (elements > std::numeric_limits<std::uint64_t>::max() / std::max(element_bytes, 1u)) return kNever;
    const std::uint64_t bytes = elements * element_bytes;
    if (!port.framing) return transmission_ps(bytes, port.rate_bytes_per_s);
    const std::uint64_t chunk = port.framing->chunk_bytes;
    const std::uint64_t full = bytes == 0 ? 0 : (bytes - 1) / chunk;
    const auto frame = [this](std::uint64_t part) {
      return transmission_ps(part + port.framing->overhead_bytes, port.rate_bytes_per_s);
    };
    return plus(times(full, frame(chunk)), frame(bytes - full * chunk));
  }
  MessageTime message(std::uint64_t elements) const { return {wire(elements), a(elements)}; }

  Blocks blocks() const { return Blocks(problem.count, problem.ranks); }
  // All blocks one after the other, each a message of its own.
  Picoseconds in_turn(const Blocks& blocks) const {
    return plus(times(blocks.larger(), wire(blocks.largest())),
                times(blocks.parts() - blocks.larger(), wire(blocks.smallest())));
  }
  Picoseconds in_turn_without(const Blocks& blocks, std::uint64_t left_out) const {
    const std::uint64_t larger = blocks.larger() - (left_out < blocks.larger() ? 1 : 0);
    return plus(times(larger, wire(blocks.largest())),
                times(blocks.parts() - 1 - larger, wire(blocks.smallest())));
  }
  // Chunks, the first of which are the largest, through `hops` ports in a row: the first chunk sets the pace
  // up to the last port, and that one then sends them all.
  Picoseconds pipeline(std::uint64_t hops, const Blocks& chunks) const {
    return plus(times(hops, a(chunks.largest())), times(hops - 1, wire(chunks.largest())), in_turn(chunks));
  }
};

// One function for each family; each takes the collectives that the family has.
ClosedForm ring_cost(const CostTerms& terms);
ClosedForm chain_cost(const CostTerms& terms);
ClosedForm direct_cost(const CostTerms& terms);
ClosedForm one_shot_cost(const CostTerms& terms);
ClosedForm tree_cost(const CostTerms& terms);
ClosedForm double_tree_cost(const CostTerms& terms);
// In rounds (cost_rounds.cpp).
ClosedForm recursive_doubling_cost(const CostTerms& terms);
ClosedForm halving_doubling_cost(const CostTerms& terms);
ClosedForm halving_cost(const CostTerms& terms);
ClosedForm pairwise_cost(const CostTerms& terms);
ClosedForm bruck_cost(const CostTerms& terms);

}  // namespace cnuas::ccl
