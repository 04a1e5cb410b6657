#include "core/ccl/verify_memory.h"

#include <algorithm>
#include <iterator>

namespace cnuas::ccl {

void SymbolicMemory::define(std::uint64_t offset, const Piece& piece) {
  if (piece.count == 0) return;
  Segment segment;
  segment.offset = offset;
  segment.piece = piece;
  segments_.push_back(segment);
}

std::size_t SymbolicMemory::find(std::uint64_t offset) const {
  const auto it = std::partition_point(segments_.begin(), segments_.end(),
                                       [&](const Segment& segment) { return segment.end() <= offset; });
  return static_cast<std::size_t>(it - segments_.begin());
}

std::size_t SymbolicMemory::split(std::uint64_t offset) {
  const std::size_t at = find(offset);
  if (at == segments_.size() || segments_[at].offset >= offset) return at;
  const std::uint64_t before = offset - segments_[at].offset;
  Segment tail = segments_[at];
  tail.offset = offset;
  tail.piece.count -= before;
  tail.piece.element += before;
  segments_[at].piece.count = before;
  segments_.insert(segments_.begin() + static_cast<std::ptrdiff_t>(at) + 1, tail);
  return at + 1;
}

std::optional<Fault> SymbolicMemory::read(std::uint64_t offset, std::uint64_t count, const Access& access,
                                          Pieces& out) {
  if (count == 0) return std::nullopt;
  const std::uint64_t end = offset + count;
  std::size_t at = split(offset);
  split(end);
  for (; offset < end; ++at) {
    if (at == segments_.size() || segments_[at].offset != offset)
      return Fault{Fault::Kind::undefined, offset, 0, 0};
    Segment& segment = segments_[at];
    if (segment.written > 0 && segment.writer_lane != access.lane &&
        access.seen[segment.writer_lane] < segment.written)
      return Fault{Fault::Kind::unordered_with_write, offset, segment.writer_lane, segment.written - 1};
    segment.last_read[access.lane] = access.step + 1;
    out.push_back(segment.piece);
    offset = segment.end();
  }
  return std::nullopt;
}

std::optional<Fault> SymbolicMemory::check_write(const Segment& segment, const Access& access) const {
  if (segment.written > 0 && segment.writer_lane != access.lane &&
      access.seen[segment.writer_lane] < segment.written)
    return Fault{Fault::Kind::unordered_with_write, segment.offset, segment.writer_lane, segment.written - 1};
  for (Lane lane = 0; lane < kMaxLanes; ++lane)
    if (lane != access.lane && segment.last_read[lane] > 0 && access.seen[lane] < segment.last_read[lane])
      return Fault{Fault::Kind::unordered_with_read, segment.offset, lane, segment.last_read[lane] - 1};
  return std::nullopt;
}

std::optional<Fault> SymbolicMemory::write(std::uint64_t offset, const Access& access, const Pieces& pieces) {
  std::uint64_t count = 0;
  for (const Piece& piece : pieces)
    count += piece.count;
  if (count == 0) return std::nullopt;
  const std::size_t first = split(offset);
  const std::size_t last = split(offset + count);
  for (std::size_t at = first; at < last; ++at)
    if (const auto fault = check_write(segments_[at], access)) return fault;

  // Put the new segments into the places of the old ones, and make or close the gap that is left.
  const auto begin = segments_.begin() + static_cast<std::ptrdiff_t>(first);
  if (pieces.size() > last - first)
    segments_.insert(begin, pieces.size() - (last - first), Segment{});
  else
    segments_.erase(begin, begin + static_cast<std::ptrdiff_t>(last - first - pieces.size()));
  for (std::size_t i = 0; i < pieces.size(); ++i) {
    Segment& segment = segments_[first + i];
    segment = Segment{};
    segment.offset = offset;
    segment.piece = pieces[i];
    segment.writer_lane = access.lane;
    segment.written = access.step + 1;
    offset += pieces[i].count;
  }
  return std::nullopt;
}

}  // namespace cnuas::ccl
