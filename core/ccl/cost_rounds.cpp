#include "core/ccl/bruck.h"
#include "core/ccl/core_ranks.h"
#include "core/ccl/cost_terms.h"
#include "core/ccl/halving_doubling.h"
#include "core/ccl/lock_step.h"

#include <algorithm>
#include <bit>

namespace cnuas::ccl {
namespace {

// An exchange between core ranks that differ in one bit.
template <class Wire>
void exchange(LockStep& time, Rank bit, const Wire& wire) {
  time.round([bit](Rank core) { return core ^ bit; }, wire);
}

// The latest rank, after each core rank with an extra one has sent it its result: back(core) to transmit.
template <class Back>
Picoseconds finish(const LockStep& time, const CoreRanks& core, const Back& back) {
  Picoseconds end = 0;
  for (Rank c = 0; c < core.size(); ++c)
    end = std::max(end, core.has_extra(c) ? plus(time.ready(c), back(c)) : time.ready(c));
  return end;
}

ClosedForm recursive_doubling_gather_cost(const CostTerms& t) {
  const CoreRanks core(t.n());
  const Blocks blocks = t.blocks();
  LockStep time(core.size());
  for (Rank c = 0; c < core.extras(); ++c)
    time.receive_first(c, t.message(blocks.count(core.rank_of(c) + 1)));
  for (unsigned round = 0; round < core.rounds(); ++round) {
    const Rank size = Rank{1} << round;
    exchange(time, size, [&](Rank c) {
      const Rank first = c & ~(size - 1);
      return t.message(blocks.range(core.rank_of(first), core.rank_of(first + size)).count);
    });
  }
  const Picoseconds end = finish(time, core, [&](Rank c) {
    const Rank extra = core.rank_of(c) + 1;
    const std::uint64_t rest = t.problem.count - blocks.offset(extra + 1);
    return plus(t.wire(blocks.offset(extra)), t.wire(rest), t.a(rest));
  });
  if (core.extras() == 0) return {end, time.exact(), "log2(N)a + m(N-1)/N"};
  return {end, time.exact(), "a + m/N, then log2(N)a + m(N-1)/N over the power of two, then a + m(N-1)/N"};
}

}  // namespace

ClosedForm recursive_doubling_cost(const CostTerms& t) {
  if (t.problem.collective == Collective::all_gather) return recursive_doubling_gather_cost(t);
  const CoreRanks core(t.n());
  const MessageTime whole = t.message(t.problem.count);
  LockStep time(core.size());
  for (Rank c = 0; c < core.extras(); ++c)
    time.receive_first(c, whole);
  for (unsigned round = 0; round < core.rounds(); ++round)
    exchange(time, Rank{1} << round, [&](Rank) { return whole; });
  const Picoseconds end = finish(time, core, [&](Rank) { return plus(whole.transmit_ps, whole.way_ps); });
  if (core.extras() == 0) return {end, time.exact(), "log2(N)(a + m)"};
  return {end, time.exact(), "a + m, then log2(N)(a + m) over the power of two, then a + m"};
}

ClosedForm halving_doubling_cost(const CostTerms& t) {
  const CoreRanks core(t.n());
  const Blocks blocks(t.problem.count, core.size());
  const MessageTime whole = t.message(t.problem.count);
  LockStep time(core.size());
  for (Rank c = 0; c < core.extras(); ++c)
    time.receive_first(c, whole);
  const auto region = [&](Rank c, unsigned rounds) {
    return t.message(halving_doubling_region(core, blocks, c, rounds).count);
  };
  for (unsigned bit = 0; bit < core.rounds(); ++bit)
    exchange(time, Rank{1} << bit, [&](Rank c) { return region(c ^ (Rank{1} << bit), bit + 1); });
  for (unsigned bit = core.rounds(); bit-- > 0;)
    exchange(time, Rank{1} << bit, [&](Rank c) { return region(c, bit + 1); });
  const Picoseconds end = finish(time, core, [&](Rank) { return plus(whole.transmit_ps, whole.way_ps); });
  if (core.extras() == 0) return {end, time.exact(), "2log2(N)a + 2m(N-1)/N"};
  return {end, time.exact(), "a + m, then 2log2(N)a + 2m(N-1)/N over the power of two, then a + m"};
}

ClosedForm halving_cost(const CostTerms& t) {
  const CoreRanks core(t.n());
  const Blocks blocks = t.blocks();
  LockStep time(core.size());
  for (Rank c = 0; c < core.extras(); ++c)
    time.receive_first(c, t.message(t.problem.count));
  for (unsigned round = 0; round < core.rounds(); ++round) {
    const Rank bit = core.size() >> (round + 1);
    exchange(time, bit,
             [&](Rank c) { return t.message(halving_region(core, blocks, c ^ bit, round + 1).count); });
  }
  const Picoseconds end = finish(time, core, [&](Rank c) {
    const std::uint64_t block = blocks.count(core.rank_of(c) + 1);
    return plus(t.wire(block), t.a(block));
  });
  if (core.extras() == 0) return {end, time.exact(), "log2(N)a + m(N-1)/N"};
  return {end, time.exact(), "a + m, then log2(N)a + m(N-1)/N over the power of two, then a + m/N"};
}

ClosedForm pairwise_cost(const CostTerms& t) {
  constexpr std::string_view kFormula = "(N-1)(a + m/N)";
  constexpr Rank kMostRanks = 2048;  // beyond, all pairs are too many to look at
  const Blocks blocks = t.blocks();
  const Rank n = t.n();
  if (blocks.even() || n > kMostRanks)
    return {times(n - 1, plus(t.a(blocks.smallest()), t.wire(blocks.smallest()))), blocks.even(), kFormula};
  const MessageTime large = t.message(blocks.largest());
  const MessageTime small = t.message(blocks.smallest());
  LockStep time(n);
  for (Rank distance = 1; distance < n; ++distance)
    time.round([&](Rank rank) { return rank_before(rank, distance, n); },
               [&](Rank rank) { return rank_after(rank, distance, n) < blocks.larger() ? large : small; });
  Picoseconds end = 0;
  for (Rank rank = 0; rank < n; ++rank)
    end = std::max(end, time.ready(rank));
  return {end, time.exact(), kFormula};
}

ClosedForm bruck_cost(const CostTerms& t) {
  const Blocks blocks = t.blocks();
  const Rank n = t.n();
  LockStep time(n);
  for (unsigned round = 0; round < static_cast<unsigned>(std::bit_width(n - 1)); ++round)
    time.round([&](Rank rank) { return rank_before(rank, std::uint64_t{1} << round, n); },
               [&](Rank rank) { return t.message(bruck_packed(blocks, rank, round, n)); });
  Picoseconds end = 0;
  for (Rank rank = 0; rank < n; ++rank)
    end = std::max(end, time.ready(rank));
  return {end, time.exact(), "sum over bits j of a + (slots with bit j)m/N; log2(N)(a + m/2)"};
}

}  // namespace cnuas::ccl
