// How algorithms that pair ranks by powers of two deal with other numbers of ranks.
#pragma once

#include "core/ccl/collective.h"

#include <bit>

namespace cnuas::ccl {

// The largest power of two of ranks forms the core. Each of the other, extra, ranks leans on its lower
// neighbour: of the first 2 * extras ranks the odd ones are extra. It gives its data to the neighbour first
// and gets the result back last. So core ranks that are neighbours stand for neighbouring ranks, and whatever
// is folded over a contiguous group of the core is folded over contiguous ranks.
class CoreRanks {
 public:
  // Precondition: ranks >= 1.
  explicit constexpr CoreRanks(Rank ranks)
      : size_(std::bit_floor(ranks)),
        rounds_(static_cast<unsigned>(std::bit_width(ranks)) - 1),
        extras_(ranks - size_) {}

  constexpr Rank size() const { return size_; }
  constexpr unsigned rounds() const { return rounds_; }  // log2(size)
  constexpr Rank extras() const { return extras_; }

  constexpr bool is_extra(Rank rank) const { return rank < 2 * extras_ && (rank & 1) == 1; }
  // Does this core rank stand for two? The extra one is then the rank after it.
  constexpr bool has_extra(Rank core) const { return core < extras_; }

  // Precondition: not is_extra(rank).
  constexpr Rank core_of(Rank rank) const { return rank < 2 * extras_ ? rank / 2 : rank - extras_; }
  // Also for core == size(): the number of ranks. So core ranks [c, d) stand for ranks
  // [rank_of(c), rank_of(d)).
  constexpr Rank rank_of(Rank core) const { return core < extras_ ? 2 * core : core + extras_; }

 private:
  Rank size_;
  unsigned rounds_;
  Rank extras_;
};

}  // namespace cnuas::ccl
