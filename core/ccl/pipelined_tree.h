// A binary tree over all ranks that folds one part of the vector to its root and hands the result down again.
#pragma once

#include "core/ccl/blocks.h"
#include "core/ccl/schedule.h"

#include <cstdint>

namespace cnuas::ccl {

// How ranks are laid on the positions of the tree. `mirrored` and `shifted` make every inner rank of the
// ascending tree a leaf, for an even and an odd number of ranks (but for one that is a leaf in both).
enum class TreeLayout : std::uint8_t { ascending, mirrored, shifted };

// Positions 1..N in order; that of an inner one has its lowest set bit halfway between those of its children.
// Odd positions are leaves; the depth is floor(log2 N), the least there is.
class PipelinedTree {
 public:
  static constexpr Rank kNone = ~Rank{0};
  struct Links {
    Rank parent = kNone;
    Rank lower = kNone;  // child with the lower positions: the left operand
    Rank upper = kNone;
    constexpr std::uint64_t children() const {
      return (lower != kNone ? 1u : 0u) + (upper != kNone ? 1u : 0u);
    }
  };
  static constexpr Lane kLanes = 4;

  // `part` of the vector in `chunks` pieces, on lanes first_lane .. first_lane + 3 and on two channels.
  PipelinedTree(Rank ranks, TreeLayout layout, Block part, std::uint64_t chunks, Lane first_lane,
                std::uint8_t first_channel)
      : ranks_(ranks),
        layout_(layout),
        offset_(part.offset),
        chunks_(pipeline_chunks(part.count, chunks)),
        first_lane_(first_lane),
        first_channel_(first_channel) {}

  const Blocks& chunks() const { return chunks_; }
  Links links(Rank rank) const;

  // `lane` counts from 0 here.
  std::uint64_t steps(Rank rank, Lane lane) const;
  Step step(Rank rank, Lane lane, std::uint64_t index) const;

 private:
  std::uint64_t position_of(Rank rank) const;
  Rank rank_at(std::uint64_t position) const;
  Dependency after_lane(Lane lane, std::uint64_t steps) const;

  Rank ranks_;
  TreeLayout layout_;
  std::uint64_t offset_;
  Blocks chunks_;
  Lane first_lane_;
  std::uint8_t first_channel_;
};

}  // namespace cnuas::ccl
