// Proves a schedule, or says where it is wrong.
#pragma once

#include "core/ccl/schedule.h"
#include "core/engine/error.h"

#include <cstdint>
#include <string>

namespace cnuas::ccl {

// What has been proved of a schedule.
struct Proof {
  bool canonical =
      false;  // every reduced element is ((r0 + r1) + r2) + ... on every rank (true if none is reduced)
  bool same_everywhere = true;  // all ranks that hold an element hold the same expression
  std::uint64_t messages = 0;
  std::uint64_t elements_sent = 0;
  // Most messages one rank ever had to hold for later when sends complete at once and messages arrive in the
  // order in which they were sent, rank 0 having sent all it can before rank 1 begins.
  std::uint64_t max_early_messages = 0;
  std::string fold_order;  // rank 0's expression of the first element, e.g. "((r1+r2)+r3)+r0"; "" without a
                           // fold; cut off with "..." beyond 200 characters
};

// Executes all ranks on symbols instead of numbers: an element is the expression tree of the contributions in
// it. Checks, each violation its own message, with rank, lane and step in Error::where:
//   - indices: peers, buffers, offsets, lanes and dependencies in range; a rank never sends to itself;
//   - pairing: the k-th send of (source, destination, channel) meets the k-th receive, with the same count;
//   - no deadlock, even when no message is buffered anywhere: a send completes only in its receive;
//   - hazards: two steps of different lanes of a rank that touch the same element, one of them writing, are
//   ordered by
//     lanes and dependencies alone, with input and output apart as well as in place; no read of undefined
//     elements;
//   - postcondition: every rank ends with exactly the result the collective defines, each contribution once;
//   - fold order: classified in Proof, and `canonical` only when every expression is the left fold.
// Errors: mismatch; unsupported (steps that a switch carries out); out_of_range (2^32 steps in a lane);
// invalid_argument (no ranks, or a root that is none). Time and memory grow with messages + ranks * blocks *
// ranks; all of 256 ranks takes seconds at most.
Result<Proof> verify(const Schedule& schedule);

}  // namespace cnuas::ccl
