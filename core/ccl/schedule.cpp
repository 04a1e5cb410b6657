#include "core/ccl/schedule.h"

#include "core/ccl/blocks.h"
#include "core/ccl/bruck.h"
#include "core/ccl/chain.h"
#include "core/ccl/direct.h"
#include "core/ccl/double_tree.h"
#include "core/ccl/halving_doubling.h"
#include "core/ccl/one_shot.h"
#include "core/ccl/pairwise.h"
#include "core/ccl/recursive_doubling.h"
#include "core/ccl/ring.h"
#include "core/ccl/sole_rank.h"
#include "core/ccl/tree.h"

#include <algorithm>
#include <array>
#include <limits>

namespace cnuas::ccl {
namespace {

using Generator = std::unique_ptr<Schedule> (*)(const Problem&);

struct Entry {
  Collective collective;
  Algorithm algorithm;
  Generator generator;
};

constexpr Entry kGenerators[] = {
    {Collective::all_reduce, Algorithm::ring, ring_all_reduce},
    {Collective::all_reduce, Algorithm::chain, chain_all_reduce},
    {Collective::all_reduce, Algorithm::direct, direct_all_reduce},
    {Collective::all_reduce, Algorithm::one_shot, one_shot_all_reduce},
    {Collective::all_reduce, Algorithm::recursive_doubling, recursive_doubling_all_reduce},
    {Collective::all_reduce, Algorithm::halving_doubling, halving_doubling_all_reduce},
    {Collective::all_reduce, Algorithm::tree, tree_all_reduce},
    {Collective::all_reduce, Algorithm::double_tree, double_tree_all_reduce},
    {Collective::broadcast, Algorithm::tree, tree_broadcast},
    {Collective::broadcast, Algorithm::chain, chain_broadcast},
    {Collective::broadcast, Algorithm::direct, direct_broadcast},
    {Collective::all_gather, Algorithm::ring, ring_all_gather},
    {Collective::all_gather, Algorithm::recursive_doubling, recursive_doubling_all_gather},
    {Collective::all_gather, Algorithm::direct, direct_all_gather},
    {Collective::reduce_scatter, Algorithm::ring, ring_reduce_scatter},
    {Collective::reduce_scatter, Algorithm::direct, direct_reduce_scatter},
    {Collective::reduce_scatter, Algorithm::halving, halving_reduce_scatter},
    {Collective::all_to_all, Algorithm::pairwise, pairwise_all_to_all},
    {Collective::all_to_all, Algorithm::direct, direct_all_to_all},
    {Collective::all_to_all, Algorithm::bruck, bruck_all_to_all},
};

Generator generator_of(const Problem& problem) {
  for (const Entry& entry : kGenerators)
    if (entry.collective == problem.collective && entry.algorithm == problem.algorithm)
      return entry.generator;
  return nullptr;
}

std::string algorithm_list(Collective collective) {
  std::string list;
  for (const Algorithm algorithm : algorithms_of(collective)) {
    if (!list.empty()) list += ", ";
    list += name(algorithm);
  }
  return list;
}

// Offsets into buffers of `ranks * count` elements must be representable, with room for twice that.
constexpr std::uint64_t kMostElements = std::numeric_limits<std::uint64_t>::max() / 4;

}  // namespace

std::string_view name(Op op) {
  constexpr std::array<std::string_view, 8> kOps = {"nop",  "send",   "recv",          "recv_reduce",
                                                    "copy", "reduce", "switch_reduce", "multicast"};
  const auto index = static_cast<std::size_t>(op);
  return index < kOps.size() ? kOps[index] : std::string_view("?");
}

std::uint64_t input_elements(const Problem& problem, Rank rank) {
  switch (problem.collective) {
    case Collective::broadcast:
      return rank == problem.root ? problem.count : 0;
    case Collective::all_gather:
      return partition(problem.count, problem.ranks, rank).count;
    case Collective::all_reduce:
    case Collective::reduce_scatter:
    case Collective::all_to_all:
      break;
  }
  return problem.count;
}

std::uint64_t output_elements(const Problem& problem, Rank rank) {
  switch (problem.collective) {
    case Collective::reduce_scatter:
      return partition(problem.count, problem.ranks, rank).count;
    case Collective::all_to_all:
      return problem.ranks * partition(problem.count, problem.ranks, rank).count;
    case Collective::all_reduce:
    case Collective::broadcast:
    case Collective::all_gather:
      break;
  }
  return problem.count;
}

Result<std::unique_ptr<Schedule>> make_schedule(const Problem& problem) {
  const Generator generator = generator_of(problem);
  if (generator == nullptr)
    return fail(ErrorCode::unsupported, std::string(name(problem.collective)) + " has no algorithm '" +
                                            std::string(name(problem.algorithm)) + "'; it has " +
                                            algorithm_list(problem.collective));
  if (problem.ranks == 0) return fail(ErrorCode::invalid_argument, "a collective needs at least 1 rank");
  if (problem.collective == Collective::broadcast && problem.root >= problem.ranks)
    return fail(ErrorCode::invalid_argument, "root " + std::to_string(problem.root) +
                                                 " is not one of the ranks 0 to " +
                                                 std::to_string(problem.ranks - 1));
  if (problem.chunks == 0)
    return fail(ErrorCode::invalid_argument, "the number of chunks is 0, but it must be at least 1");
  if (problem.count > kMostElements / problem.ranks)
    return fail(ErrorCode::invalid_argument, std::to_string(problem.count) + " elements are too many for " +
                                                 std::to_string(problem.ranks) + " ranks");
  return problem.ranks == 1 ? sole_rank(problem) : generator(problem);
}

FoldGuarantee fold_guarantee(Collective collective, Algorithm algorithm, Rank ranks) {
  if (!reduces(collective) || ranks <= 1) return FoldGuarantee{true, true};
  switch (algorithm) {
    case Algorithm::chain:
    case Algorithm::direct:
    case Algorithm::one_shot:
      return FoldGuarantee{true, true};
    // Operands in the order of ranks, but grouped: few ranks leave only one way to group.
    case Algorithm::recursive_doubling:
    case Algorithm::halving_doubling:
    case Algorithm::halving:
      return FoldGuarantee{ranks <= 3, true};
    case Algorithm::tree:
      return FoldGuarantee{ranks <= 5, true};
    case Algorithm::double_tree:
      return FoldGuarantee{ranks <= 2, true};
    case Algorithm::ring:
    case Algorithm::pairwise:
    case Algorithm::bruck:
      break;
  }
  return FoldGuarantee{false, true};
}

std::uint64_t default_chunks(Collective collective, Algorithm algorithm, Rank ranks,
                             std::uint64_t size_bytes) {
  constexpr std::uint64_t kLeastChunkBytes = 64 * 1024;
  constexpr std::uint64_t kMostChunks = 256;
  const bool pipelined = algorithm == Algorithm::chain || algorithm == Algorithm::double_tree ||
                         (algorithm == Algorithm::tree && collective == Collective::all_reduce);
  if (!pipelined) return 1;
  const std::uint64_t most =
      algorithm == Algorithm::chain ? std::max<std::uint64_t>(kMostChunks, ranks) : kMostChunks;
  return std::clamp<std::uint64_t>(size_bytes / kLeastChunkBytes, 1, most);
}

}  // namespace cnuas::ccl
