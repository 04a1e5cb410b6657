#include "core/ccl/pipelined_tree.h"

#include "core/ccl/make_step.h"

#include <utility>

namespace cnuas::ccl {
namespace {

constexpr Lane kFoldReceive = 0;
constexpr Lane kFoldSend = 1;
constexpr Lane kResultReceive = 2;
constexpr Lane kResultSend = 3;

constexpr std::uint64_t lowest_bit(std::uint64_t position) {
  return position & (~position + 1);
}

// Positions of parent and children; 0 for none.
std::uint64_t parent_of(std::uint64_t position, std::uint64_t last) {
  const std::uint64_t low = lowest_bit(position);
  const std::uint64_t parent = (position ^ low) | (low << 1);
  // At the ragged end the usual parent may not exist; then this one hangs where that one would.
  return parent <= last ? parent : position ^ low;
}
std::uint64_t left_of(std::uint64_t position) {
  return position - lowest_bit(position) / 2;
}
std::uint64_t right_of(std::uint64_t position, std::uint64_t last) {
  for (std::uint64_t step = lowest_bit(position) / 2; step > 0; step /= 2)
    if (position + step <= last) return position + step;
  return 0;
}

}  // namespace

std::uint64_t PipelinedTree::position_of(Rank rank) const {
  switch (layout_) {
    case TreeLayout::mirrored:
      return ranks_ - rank;
    case TreeLayout::shifted:
      return rank_after(rank, 1, ranks_) + 1;
    case TreeLayout::ascending:
      break;
  }
  return rank + 1;
}

Rank PipelinedTree::rank_at(std::uint64_t position) const {
  if (position == 0) return kNone;
  const Rank index = static_cast<Rank>(position - 1);
  switch (layout_) {
    case TreeLayout::mirrored:
      return ranks_ - 1 - index;
    case TreeLayout::shifted:
      return rank_before(index, 1, ranks_);
    case TreeLayout::ascending:
      break;
  }
  return index;
}

PipelinedTree::Links PipelinedTree::links(Rank rank) const {
  const std::uint64_t position = position_of(rank);
  const bool leaf = (position & 1) == 1;
  Links links;
  links.parent = rank_at(parent_of(position, ranks_));
  links.lower = rank_at(leaf ? 0 : left_of(position));
  links.upper = rank_at(leaf ? 0 : right_of(position, ranks_));
  // Mirrored, the lower ranks are on the right.
  if (layout_ == TreeLayout::mirrored) std::swap(links.lower, links.upper);
  return links;
}

Dependency PipelinedTree::after_lane(Lane lane, std::uint64_t steps) const {
  return after(static_cast<Lane>(first_lane_ + lane), steps);
}

std::uint64_t PipelinedTree::steps(Rank rank, Lane lane) const {
  const Links at = links(rank);
  if (lane == kFoldReceive || lane == kResultSend) return at.children() * chunks_.parts();
  return at.parent != kNone ? chunks_.parts() : 0;
}

Step PipelinedTree::step(Rank rank, Lane lane, std::uint64_t index) const {
  const Links at = links(rank);
  const std::uint64_t children = at.children();
  // Lanes that deal with children take the lower and the upper one in turn.
  const bool per_child = lane == kFoldReceive || lane == kResultSend;
  const std::uint64_t number = per_child ? index / children : index;
  const bool is_lower = at.lower != kNone && (children == 1 || index % 2 == 0);
  const Rank child = is_lower ? at.lower : at.upper;
  const Block chunk = chunks_.at(number);
  const Location input = in_input(offset_ + chunk.offset);
  const Location output = in_output(offset_ + chunk.offset);
  const std::uint8_t result_channel = static_cast<std::uint8_t>(first_channel_ + 1);
  switch (lane) {
    case kFoldReceive: {
      const bool first = is_lower || children == 1;
      return on_channel(first_channel_,
                        make_recv_reduce(child, is_lower, first ? input : output, output, chunk.count));
    }
    case kFoldSend:
      return on_channel(first_channel_, make_send(at.parent, children == 0 ? input : output, chunk.count,
                                                  after_lane(kFoldReceive, children * (number + 1))));
    case kResultReceive:  // It replaces the partial, or in place a leaf's contribution.
      return on_channel(result_channel,
                        make_recv(at.parent, output, chunk.count, after_lane(kFoldSend, number + 1)));
    default: {  // kResultSend
      Dependency ready;
      if (index % children == 0)
        ready = at.parent == kNone ? after_lane(kFoldReceive, children * (number + 1))
                                   : after_lane(kResultReceive, number + 1);
      return on_channel(result_channel, make_send(child, output, chunk.count, ready));
    }
  }
}

}  // namespace cnuas::ccl
