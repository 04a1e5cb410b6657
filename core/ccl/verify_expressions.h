// Expressions of contributions, each stored once, so that equal expressions have equal ids.
#pragma once

#include "core/ccl/collective.h"

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace cnuas::ccl {

// A leaf is the contribution of a rank, an inner node a fold of two expressions: left (+) right, which is
// neither commutative nor associative here. Expressions are about one element; which one is the business of
// whoever holds them.
class Expressions {
 public:
  using Id = std::uint32_t;

  // Ids 0 .. ranks-1 are the leaves.
  explicit Expressions(Rank ranks);

  static constexpr Id leaf(Rank rank) { return rank; }
  bool is_leaf(Id id) const { return id < ranks_; }
  Id fold(Id left, Id right);

  // ((r0 + r1) + r2) + ... over all ranks?
  bool is_left_fold(Id id) const { return nodes_[id].left_fold_of == ranks_; }

  // Says what keeps this from being a fold of every contribution exactly once; empty if nothing does.
  std::string flaw(Id id) const;

  // "((r1+r2)+r3)+r0", cut off with "..." beyond `limit` characters.
  std::string text(Id id, std::size_t limit) const;

 private:
  struct Node {
    Id left = 0;
    Id right = 0;
    std::uint32_t left_fold_of = 0;  // n if this is the left fold of ranks 0 .. n-1, else 0
  };

  std::size_t slot_of(Id left, Id right) const;
  void grow();

  Rank ranks_;
  std::vector<Node> nodes_;
  std::vector<Id> table_;  // open addressing over the inner nodes; 0 is free, since 0 is a leaf
};

}  // namespace cnuas::ccl
