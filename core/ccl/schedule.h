// The one representation of a collective algorithm: what each rank sends, receives, copies and folds, and in
// which order. Generators make it, the verifier proves it, simulator and library execute it.
#pragma once

#include "core/ccl/collective.h"
#include "core/engine/error.h"

#include <array>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

namespace cnuas::ccl {

// What is to be done. `count` is the size column of nccl-tests in elements: the vector for all_reduce and
// broadcast, the whole array of all ranks for all_gather and reduce_scatter, one rank's send buffer for
// all_to_all. It need not be a multiple of the number of ranks: block i is partition(count, ranks, i).
struct Problem {
  Collective collective = Collective::all_reduce;
  Algorithm algorithm = Algorithm::ring;
  Rank ranks = 1;
  std::uint64_t count = 0;
  Rank root = 0;             // broadcast only
  std::uint64_t chunks = 1;  // pieces a pipelined algorithm (chain, tree, double_tree) cuts the vector into;
                             // others ignore it. More than `count` pieces are reduced to `count`.
};

// Block `index` of `count` elements cut into `parts`: the first count % parts blocks have one element more.
struct Block {
  std::uint64_t offset = 0;
  std::uint64_t count = 0;
};
constexpr Block partition(std::uint64_t count, std::uint64_t parts, std::uint64_t index) {
  const std::uint64_t base = count / parts;
  const std::uint64_t extra = count % parts;
  return Block{index * base + (index < extra ? index : extra), base + (index < extra ? 1 : 0)};
}

// input and output are the caller's, scratch is the algorithm's own. A rank may pass the same memory for both
// ("in place"): all_reduce and broadcast input == output; all_gather input == its block of output;
// reduce_scatter output == its block of input. Every schedule is correct either way (all_to_all is out of
// place only).
//
// Elements per rank:      input              output
//   all_reduce            count              count
//   broadcast             count (root)       count
//   all_gather            block(rank)        count
//   reduce_scatter        count              block(rank)
//   all_to_all            count              ranks * block(rank): sender s's block at s * block(rank).count
enum class Buffer : std::uint8_t { input, output, scratch };

struct Location {
  Buffer buffer = Buffer::input;
  std::uint64_t offset = 0;  // elements
  constexpr bool operator==(const Location&) const = default;
};

enum class Op : std::uint8_t {
  nop,            // only waits
  send,           // src -> peer
  recv,           // dst = received
  recv_reduce,    // dst = received (+) src, or src (+) received
  copy,           // dst = src
  reduce,         // dst = src (+) dst, or dst (+) src
  switch_reduce,  // contribute src to the switch's reduction of the group
  multicast,      // src -> every other rank, duplicated by the switch
};
std::string_view name(Op op);

// "Lane `lane` of this rank has completed its first `steps` steps." steps == 0: no dependency.
using Lane = std::uint8_t;
struct Dependency {
  Lane lane = 0;
  std::uint64_t steps = 0;
  constexpr bool operator==(const Dependency&) const = default;
};

// A lane's steps run one after the other; lanes run side by side, held together by dependencies. A step
// starts when the one before it in its lane and all its dependencies are complete. A send is complete when
// its source may be overwritten, every other step when its result is in place. Messages match in order for
// each (source, destination, channel): all its sends are in one lane, and all its receives. A copy to where
// the data already is does nothing; places that overlap in part are not allowed.
struct Step {
  Op op = Op::nop;
  std::uint8_t channel = 0;
  bool incoming_left = true;  // recv_reduce: received is the left operand; reduce: src is the left operand
  Rank peer = 0;
  Location src;
  Location dst;
  std::uint64_t count = 0;  // elements; 0 is a message too, so that every rank agrees on the pattern
  std::array<Dependency, 2> deps{};
  constexpr bool operator==(const Step&) const = default;
};

inline constexpr Lane kMaxLanes = 8;

// A schedule is a function from (rank, lane, index) to a step: nothing is stored, so thousands of ranks cost
// nothing and each rank's program can be read at any point. Implementations are immutable and may be shared.
class Schedule {
 public:
  explicit Schedule(Problem problem) : problem_(problem) {}
  virtual ~Schedule() = default;
  Schedule(const Schedule&) = delete;
  Schedule& operator=(const Schedule&) = delete;

  const Problem& problem() const { return problem_; }
  virtual Lane lanes() const = 0;  // at most kMaxLanes
  virtual std::uint64_t steps(Rank rank, Lane lane) const = 0;
  // Precondition: rank < ranks, lane < lanes(), index < steps(rank, lane).
  virtual Step step(Rank rank, Lane lane, std::uint64_t index) const = 0;
  virtual std::uint64_t scratch_elements(Rank rank) const = 0;

 private:
  Problem problem_;
};

// Elements of the caller's buffers, by the table above.
std::uint64_t input_elements(const Problem& problem, Rank rank);
std::uint64_t output_elements(const Problem& problem, Rank rank);

// Builds the generator of problem.algorithm. Errors: invalid_argument (0 ranks, root out of range, 0 chunks,
// more than 2^62 elements over all ranks),
// unsupported (the collective has no such algorithm; the message lists those it has).
Result<std::unique_ptr<Schedule>> make_schedule(const Problem& problem);

// What an algorithm guarantees for reductions, for every number of ranks; proved for each size by verify().
struct FoldGuarantee {
  bool canonical = false;       // equals ((r0 + r1) + r2) + ... bit by bit
  bool same_everywhere = true;  // all ranks get the same bits
};
FoldGuarantee fold_guarantee(Collective collective, Algorithm algorithm, Rank ranks);

// Number of pieces for the pipelined algorithms that balances the pipeline's fill against the number of
// messages: pieces of at least 64 KiB, at most 256 of them, a chain up to one a rank (it has that many hops
// to fill). 1 for the algorithms that are not pipelined.
std::uint64_t default_chunks(Collective collective, Algorithm algorithm, Rank ranks,
                             std::uint64_t size_bytes);

}  // namespace cnuas::ccl
