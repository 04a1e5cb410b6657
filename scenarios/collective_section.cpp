#include "scenarios/collective_section.h"

#include "scenarios/participants.h"
#include "scenarios/sizes.h"
#include "scenarios/units.h"

#include <algorithm>
#include <string>

namespace cnuas::scenarios {
namespace {

// Bytes of all ranks together: counters in all reports stay within 64 bits.
constexpr std::uint64_t kMostBytesOfAllRanks = std::uint64_t{1} << 60;

bool pipelined(ccl::Algorithm algorithm) {
  return algorithm == ccl::Algorithm::chain || algorithm == ccl::Algorithm::tree ||
         algorithm == ccl::Algorithm::double_tree;
}

// Settings that the collective and its algorithms do not look at.
void warn_of_idle_settings(const Node& item, ccl::Collective collective,
                           const std::vector<AlgorithmChoice>& algorithms, Diagnostics& diagnostics) {
  const std::string name(ccl::name(collective));
  if (item.has("operator") && !ccl::reduces(collective))
    diagnostics.warning(item.key_place("operator"), "'operator' has no effect: " + name + " does not reduce");
  if (item.has("root") && collective != ccl::Collective::broadcast)
    diagnostics.warning(item.key_place("root"), "'root' has no effect: " + name + " has no root");
  const bool any_pipelined = std::any_of(algorithms.begin(), algorithms.end(),
                                         [](const AlgorithmChoice& a) { return !a || pipelined(*a); });
  if (item.has("chunks") && !any_pipelined)
    diagnostics.warning(item.key_place("chunks"),
                        "'chunks' has no effect: only chain, tree and double_tree are pipelined");
}

// The rank of `root`; 0 without one. Nothing: an error has been reported.
std::optional<ccl::Rank> read_root(const Node& item, const std::vector<GpuId>& ranks, const Fabric& fabric,
                                   Diagnostics& diagnostics) {
  const Node* root = item.get("root");
  if (!root) return item.has("root") ? std::nullopt : std::optional<ccl::Rank>(0);
  const bool by_number = root->text.find('/') == std::string::npos && !root->in_quotes;
  if (by_number) {
    if (static_cast<std::size_t>(root->number) < ranks.size()) return static_cast<ccl::Rank>(root->number);
    diagnostics.error(root->place, "there is no rank " + std::to_string(root->number),
                      "the ranks go from 0 to " + std::to_string(ranks.size() - 1));
    return std::nullopt;
  }
  const std::optional<GpuId> id = read_gpu(*root, fabric, diagnostics);
  if (!id) return std::nullopt;
  const auto found = std::find(ranks.begin(), ranks.end(), *id);
  if (found != ranks.end()) return static_cast<ccl::Rank>(found - ranks.begin());
  diagnostics.error(root->place, "GPU " + to_string(*id) + " is not among the ranks",
                    "add it to 'ranks', or choose another root");
  return std::nullopt;
}

}  // namespace

bool CollectiveReader::take_ranks(std::uint64_t calls, std::uint64_t ranks, const Place& place) {
  const bool too_many = calls * ranks > kMostRanksInCalls - ranks_in_calls_;
  if (too_many)
    diagnostics_.error(place,
                       "too much for one scenario: with this, its collectives and phases have more than " +
                           std::to_string(kMostRanksInCalls) + " ranks in all",
                       "take fewer sizes, algorithms or ranks");
  else
    ranks_in_calls_ += calls * ranks;
  return !too_many;
}

std::vector<CollectiveCall> CollectiveReader::read(const Node& item) {
  const Node* collective = item.get("collective");
  if (!collective) return {};
  CollectiveCall call;
  call.collective = *ccl::parse_collective(collective->text);
  if (const Node* type = item.get("type")) call.type = *ccl::parse_data_type(type->text);
  if (const Node* op = item.get("operator")) call.op = *ccl::parse_operator(op->text);
  if (const Node* chunks = item.get("chunks")) call.chunks = static_cast<std::uint64_t>(chunks->number);
  call.ranks = read_ranks(item, fabric_, diagnostics_);
  const std::vector<AlgorithmChoice> algorithms = read_algorithms(item, call.collective, diagnostics_);
  const std::vector<std::uint64_t> sizes = read_sizes(item, call.type, diagnostics_);
  warn_of_idle_settings(item, call.collective, algorithms, diagnostics_);
  if (call.ranks.empty()) return {};
  const std::optional<ccl::Rank> root = read_root(item, call.ranks, fabric_, diagnostics_);
  if (!root || algorithms.empty() || sizes.empty() || !item.good) return {};
  if (call.collective == ccl::Collective::broadcast) call.root = *root;

  const std::uint64_t largest = *std::max_element(sizes.begin(), sizes.end());
  if (largest > kMostBytesOfAllRanks / call.ranks.size()) {
    diagnostics_.error(item.key_place(item.has("size") ? "size" : "sizes"),
                       to_text(static_cast<std::int64_t>(largest), Quantity::size) + " on each of " +
                           std::to_string(call.ranks.size()) + " ranks is more than 1 EiB in all",
                       "take a smaller size, or fewer ranks");
    return {};
  }
  if (!take_ranks(sizes.size() * algorithms.size(), call.ranks.size(), collective->place)) return {};

  return expand(call, sizes, algorithms, item);
}

std::vector<CollectiveCall> CollectiveReader::expand(CollectiveCall call,
                                                     const std::vector<std::uint64_t>& sizes,
                                                     const std::vector<AlgorithmChoice>& algorithms,
                                                     const Node& item) {
  const bool any_auto =
      std::find(algorithms.begin(), algorithms.end(), AlgorithmChoice{}) != algorithms.end();
  const ccl::PortModel port = any_auto ? port_model(fabric_, routes_, call.ranks) : ccl::PortModel{};
  const ccl::Racks racks = any_auto ? racks_of(fabric_, call.ranks) : ccl::Racks{};
  std::vector<CollectiveCall> calls;
  for (std::uint64_t size : sizes) {
    call.size_bytes = size;
    for (const AlgorithmChoice& choice : algorithms) {
      const Result<ccl::Algorithm> algorithm =
          choice ? Result<ccl::Algorithm>(*choice) : fastest(call, port, racks);
      if (!algorithm) {
        diagnostics_.error(item.key_place("collective"),
                           "no algorithm can be chosen: " + algorithm.error().message);
        return {};
      }
      call.algorithm = *algorithm;
      calls.push_back(call);
    }
  }
  return calls;
}

}  // namespace cnuas::scenarios
