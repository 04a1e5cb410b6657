// A buffer that holds expressions instead of numbers, and knows who touched what.
#pragma once

#include "core/ccl/schedule.h"
#include "core/ccl/verify_expressions.h"

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

namespace cnuas::ccl {

// A stretch of elements with one expression: its k-th holds `expression` of logical element `element` + k.
struct Piece {
  std::uint64_t count = 0;
  Expressions::Id expression = 0;
  std::uint64_t element = 0;
};
using Pieces = std::vector<Piece>;

// The step that touches memory, and what must have happened before it: `seen[l]` steps of lane l.
struct Access {
  Lane lane = 0;
  std::uint32_t step = 0;
  const std::uint32_t* seen = nullptr;
};

// What is wrong with an access.
struct Fault {
  enum class Kind : std::uint8_t { undefined, unordered_with_write, unordered_with_read };
  Kind kind = Kind::undefined;
  std::uint64_t offset = 0;  // of the first element it is about
  Lane lane = 0;             // the other step, if unordered
  std::uint32_t step = 0;
};

// Intervals of elements, split where accesses begin and end and nowhere else. A later access to an interval
// must have seen the step that wrote it and, to write, every step that has read it since; those of its own
// lane it always has.
class SymbolicMemory {
 public:
  // Makes [offset, offset + piece.count) hold `piece` from the beginning. Ascending offsets.
  void define(std::uint64_t offset, const Piece& piece);

  // Appends to `out` what [offset, offset + count) holds.
  std::optional<Fault> read(std::uint64_t offset, std::uint64_t count, const Access& access, Pieces& out);
  // Stores pieces one after the other from `offset` on.
  std::optional<Fault> write(std::uint64_t offset, const Access& access, const Pieces& pieces);

  struct Segment {
    std::uint64_t offset = 0;
    Piece piece;
    Lane writer_lane = 0;
    std::uint32_t written = 0;  // 1 + the step that wrote it; 0: there from the beginning
    std::array<std::uint32_t, kMaxLanes>
        last_read{};  // 1 + the last step of each lane that has read it; 0: none

    std::uint64_t end() const { return offset + piece.count; }
  };
  const std::vector<Segment>& segments() const { return segments_; }

 private:
  // Index of the first segment that ends after `offset`.
  std::size_t find(std::uint64_t offset) const;
  // Cuts the segment across `offset`, if there is one. Returns the first segment from `offset` on.
  std::size_t split(std::uint64_t offset);
  std::optional<Fault> check_write(const Segment& segment, const Access& access) const;

  std::vector<Segment> segments_;  // in order, without overlap; what is between them is undefined
};

}  // namespace cnuas::ccl
