#include "core/ccl/cost.h"

#include "core/ccl/cost_terms.h"
#include "core/ccl/double_tree.h"

#include <algorithm>
#include <array>
#include <bit>
#include <vector>

namespace cnuas::ccl {

// The largest block meets its like in no round: it alone needs this long, and no other needs longer.
ClosedForm ring_cost(const CostTerms& t) {
  const Picoseconds round = plus(t.a(t.blocks().largest()), t.wire(t.blocks().largest()));
  if (t.problem.collective == Collective::all_reduce)
    return {times(2 * (std::uint64_t{t.n()} - 1), round), true, "2(N-1)(a + m/N)"};
  return {times(t.n() - 1, round), true, "(N-1)(a + m/N)"};
}

ClosedForm chain_cost(const CostTerms& t) {
  const Blocks chunks = pipeline_chunks(t.problem.count, t.problem.chunks);
  const std::uint64_t n = t.n();
  if (t.problem.collective == Collective::broadcast)
    return {t.pipeline(n - 1, chunks), true, "(N-1)(a + m/K) + (K-1)m/K"};

  // The result follows the fold over the same ports. If the first chunk of it comes when the last chunk of
  // the fold has left, nothing ever waits; that is so at every port if it is so at rank 0's.
  constexpr std::string_view kFormula = "2(N-1)(a + m/K) + (K-1)m/K";
  const Picoseconds once = t.in_turn(chunks);
  const Picoseconds unhindered = t.pipeline(2 * (n - 1), chunks);
  if (n == 2 || once <= times(n, plus(t.a(chunks.largest()), t.wire(chunks.largest()))))
    return {unhindered, true, kFormula};
  // Otherwise rank 0 sends everything twice, and its last chunk has N-3 more hops to go.
  const Picoseconds hops = times(n - 3, plus(t.a(chunks.smallest()), t.wire(chunks.smallest())));
  return {std::max(unhindered, plus(times(2, once), t.a(chunks.smallest()), hops)), false, kFormula};
}

// With uneven blocks ranks drift apart and meet at an ingress now and then, so what is left is a bound: what
// one port has to send.
ClosedForm direct_cost(const CostTerms& t) {
  const Blocks blocks = t.blocks();
  const Picoseconds gathered = times(t.n() - 1, t.wire(blocks.largest()));
  switch (t.problem.collective) {
    case Collective::broadcast:
      return {plus(t.a(t.problem.count), times(t.n() - 1, t.m())), true, "a + (N-1)m"};
    case Collective::all_gather:
      return {plus(t.a(blocks.largest()), gathered), blocks.even(), "a + m(N-1)/N"};
    case Collective::reduce_scatter:
    case Collective::all_to_all:
      return {plus(t.a(blocks.smallest()), t.in_turn_without(blocks, t.n() - 1)), blocks.even(),
              "a + m(N-1)/N"};
    case Collective::all_reduce:
      break;
  }
  // Rank 1 sends to rank 0 last, and only then can rank 0 send its block, one of the largest, to all.
  const Picoseconds scattered = t.in_turn_without(blocks, 1);
  return {plus(scattered, gathered, times(2, t.a(blocks.largest()))), blocks.even(), "2(a + m(N-1)/N)"};
}

ClosedForm one_shot_cost(const CostTerms& t) {
  return {plus(t.a(t.problem.count), times(t.n() - 1, t.m())), true, "a + (N-1)m"};
}

namespace {

// Every rank has its parent's time, the turn it has among the parent's messages, and the way.
ClosedForm binomial_cost(const CostTerms& t) {
  const Picoseconds whole = t.m();
  std::vector<Picoseconds> reached(t.n(), 0);
  Picoseconds end = 0;
  for (Rank place = 1; place < t.n(); ++place) {
    const Rank parent = place & (place - 1);
    // The largest subtree is served first: those with a larger distance to the parent come before.
    const auto room = std::bit_width(t.n() - 1 - parent);
    const auto below = parent == 0 ? room : std::min<int>(room, std::countr_zero(parent));
    const auto turn = static_cast<std::uint64_t>(below - std::countr_zero(place));
    reached[place] = plus(reached[parent], times(turn, whole), t.a(t.problem.count));
    end = std::max(end, reached[place]);
  }
  return {end, true, "ceil(log2 N)(a + m), less where subtrees are missing"};
}

// Leaves to root and back: depth floor(log2 N).
Picoseconds up_and_down(const CostTerms& t, const Blocks& chunks) {
  return t.pipeline(2 * (static_cast<std::uint64_t>(std::bit_width(t.n())) - 1), chunks);
}

}  // namespace

ClosedForm tree_cost(const CostTerms& t) {
  if (t.problem.collective == Collective::broadcast) return binomial_cost(t);
  constexpr std::string_view kFormula = "2log2(N)(a + m/K) + (K-1)m/K, at least a + 3m";
  const Blocks chunks = pipeline_chunks(t.problem.count, t.problem.chunks);
  const Picoseconds path = up_and_down(t, chunks);
  const Picoseconds once = t.in_turn(chunks);
  if (t.n() == 2) return {path, true, kFormula};
  // An inner rank sends once up and twice down; the root of three ranks only down, when the fold has come.
  const Picoseconds port =
      t.n() == 3 ? plus(times(2, once), t.wire(chunks.largest()), times(2, t.a(chunks.smallest())))
                 : plus(times(3, once), t.a(chunks.smallest()));
  return {std::max(path, port), false, kFormula};
}

ClosedForm double_tree_cost(const CostTerms& t) {
  constexpr std::string_view kFormula = "2log2(N)(a + m/K) + (K/2-1)m/K, at least a + 2m";
  const std::array<PipelinedTree, 2> trees = double_tree_parts(t.problem);
  const Picoseconds first = t.in_turn(trees[0].chunks());
  const Picoseconds second = t.in_turn(trees[1].chunks());
  const Picoseconds path = std::max(up_and_down(t, trees[0].chunks()), up_and_down(t, trees[1].chunks()));
  if (t.n() < 4) return {path, false, kFormula};
  // Rank 1 is an inner one of the first tree, with two children, and a leaf of the second.
  return {std::max(path, plus(times(3, first), second, t.a(trees[0].chunks().smallest()))), false, kFormula};
}

ClosedForm closed_form(const Problem& problem, std::uint32_t element_bytes, const PortModel& port) {
  if (problem.ranks == 0 || port.rate_bytes_per_s == 0) return {kNever, false, "never"};
  if (problem.ranks == 1) return {0, true, "0"};
  const CostTerms terms{problem, element_bytes, port};
  switch (problem.algorithm) {
    case Algorithm::ring:
      return ring_cost(terms);
    case Algorithm::chain:
      return chain_cost(terms);
    case Algorithm::direct:
      return direct_cost(terms);
    case Algorithm::one_shot:
      return one_shot_cost(terms);
    case Algorithm::recursive_doubling:
      return recursive_doubling_cost(terms);
    case Algorithm::halving_doubling:
      return halving_doubling_cost(terms);
    case Algorithm::halving:
      return halving_cost(terms);
    case Algorithm::tree:
      return tree_cost(terms);
    case Algorithm::double_tree:
      return double_tree_cost(terms);
    case Algorithm::pairwise:
      return pairwise_cost(terms);
    case Algorithm::bruck:
      return bruck_cost(terms);
  }
  return {kNever, false, "never"};
}

Picoseconds lower_bound(const Problem& problem, std::uint32_t element_bytes, const PortModel& port) {
  if (problem.ranks == 0 || port.rate_bytes_per_s == 0) return kNever;
  if (problem.ranks == 1) return 0;
  const PortModel unframed{port.rate_bytes_per_s, port.latency_ps};
  const CostTerms t{problem, element_bytes, unframed};
  const Blocks blocks = t.blocks();
  std::uint64_t busiest = 0;  // elements
  switch (problem.collective) {
    case Collective::all_reduce: {
      // 2(N-1) messages an element: the least in which N can tell each other (one-way gossip). Spread evenly.
      const std::uint64_t messages = 2 * (std::uint64_t{t.n()} - 1) * problem.count;
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
  return plus(port.latency_ps, t.wire(busiest));
}

std::uint64_t crossing_elements(const Problem& problem, const std::vector<bool>& inside) {
  const auto count_inside = static_cast<Rank>(std::count(inside.begin(), inside.end(), true));
  if (count_inside == 0 || count_inside == problem.ranks) return 0;
  const Blocks blocks(problem.count, problem.ranks);
  std::uint64_t blocks_inside = 0;  // elements in the blocks of the ranks inside
  for (Rank rank = 0; rank < problem.ranks; ++rank)
    blocks_inside += inside[rank] ? blocks.count(rank) : 0;
  const std::uint64_t blocks_outside = problem.count - blocks_inside;
  switch (problem.collective) {
    case Collective::all_reduce:  // each side needs the other's sum
    case Collective::broadcast:
      return problem.count;
    case Collective::all_gather:      // own blocks go to the other side
    case Collective::reduce_scatter:  // sums for the other side's blocks
      return std::max(blocks_inside, blocks_outside);
    case Collective::all_to_all:
      return std::max(count_inside * blocks_outside, (problem.ranks - count_inside) * blocks_inside);
  }
  return 0;
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
