#include "scenarios/algorithm_choice.h"

#include "core/ccl/select.h"
#include "scenarios/similar.h"

#include <algorithm>
#include <span>
#include <string>
#include <utility>

namespace cnuas::scenarios {
namespace {

std::string available(ccl::Collective collective) {
  std::vector<std::string_view> names;
  for (ccl::Algorithm algorithm : ccl::algorithms_of(collective))
    names.push_back(ccl::name(algorithm));
  return std::string(ccl::name(collective)) + " has " + listing(names, "and");
}

// Appends what the word means; false: an error has been reported.
bool read_one(const Node& word, ccl::Collective collective, std::vector<AlgorithmChoice>& choices,
              Diagnostics& diagnostics) {
  const std::optional<ccl::Algorithm> algorithm = ccl::parse_algorithm(word.text);
  const auto offered = ccl::algorithms_of(collective);
  const bool has_it = algorithm && std::find(offered.begin(), offered.end(), *algorithm) != offered.end();
  if (word.text != "auto" && !has_it) {
    diagnostics.error(word.place,
                      algorithm
                          ? std::string(ccl::name(collective)) + " has no algorithm " + quoted(word.text)
                          : "algorithm " + quoted(word.text) + " is not available in this version",
                      available(collective));
    return false;
  }
  if (std::find(choices.begin(), choices.end(), algorithm) != choices.end()) {
    diagnostics.error(word.place, "algorithm " + quoted(word.text) + " is listed twice",
                      "remove one of them");
    return false;
  }
  choices.push_back(algorithm);
  return true;
}

std::vector<AlgorithmChoice> read_words(std::span<const Node> words, ccl::Collective collective,
                                        Diagnostics& diagnostics) {
  std::vector<AlgorithmChoice> choices;
  bool complete = true;
  for (const Node& word : words)
    complete &= word.good && read_one(word, collective, choices, diagnostics);
  return complete ? choices : std::vector<AlgorithmChoice>{};
}

// Of each switch, the two GPUs of `ranks` that are farthest from it: the ends of the longest way are among
// them.
std::vector<GpuIndex> farthest_of_each_switch(const Fabric& fabric, const std::vector<GpuId>& ranks) {
  const auto latency = [&](GpuIndex gpu) { return fabric.gpus[gpu].link.latency_ps; };
  std::vector<std::optional<GpuIndex>> farthest(fabric.switches.size()), second(fabric.switches.size());
  for (GpuId id : ranks) {
    const GpuIndex gpu = *find_gpu(fabric, id);
    std::optional<GpuIndex>& first = farthest[fabric.gpus[gpu].attached];
    std::optional<GpuIndex>& other = second[fabric.gpus[gpu].attached];
    if (!first || latency(gpu) > latency(*first)) {
      other = std::exchange(first, gpu);
    } else if (!other || latency(gpu) > latency(*other)) {
      other = gpu;
    }
  }
  std::vector<GpuIndex> all;
  for (std::size_t i = 0; i < farthest.size(); ++i) {
    if (farthest[i]) all.push_back(*farthest[i]);
    if (second[i]) all.push_back(*second[i]);
  }
  return all;
}

}  // namespace

std::vector<AlgorithmChoice> read_algorithms(const Node& item, ccl::Collective collective,
                                             Diagnostics& diagnostics) {
  const char* key = item.has("algorithms") ? "algorithms" : "algorithm";
  if (!item.has(key)) return {AlgorithmChoice{}};
  const Node* node = item.find(key);
  if (node->kind == Node::Kind::list) return read_words(node->items, collective, diagnostics);
  if (!node->good) return {};
  if (node->text == "all") {
    const auto offered = ccl::algorithms_of(collective);
    return {offered.begin(), offered.end()};
  }
  return read_words({node, 1}, collective, diagnostics);
}

ccl::PortModel port_model(const Fabric& fabric, const RouteTable& routes, const std::vector<GpuId>& ranks) {
  ccl::PortModel port;
  port.rate_bytes_per_s = fabric.gpus[*find_gpu(fabric, ranks.front())].link.payload_bytes_per_s();
  const std::vector<GpuIndex> ends = farthest_of_each_switch(fabric, ranks);
  for (GpuIndex from : ends)
    for (GpuIndex to : ends)
      if (from != to) port.latency_ps = std::max(port.latency_ps, routes.latency_ps(from, to));
  return port;
}

ccl::Racks racks_of(const Fabric& fabric, const std::vector<GpuId>& ranks) {
  ccl::Racks racks;
  std::vector<std::optional<std::uint32_t>> number(fabric.switches.size());
  for (const GpuId id : ranks) {
    std::optional<std::uint32_t>& here = number[fabric.gpus[*find_gpu(fabric, id)].attached];
    if (!here) {
      here = static_cast<std::uint32_t>(racks.uplink_bytes_per_s.size());
      racks.uplink_bytes_per_s.push_back(0);
    }
    racks.of_rank.push_back(*here);
  }
  for (const Cable& cable : fabric.cables)
    for (const SwitchIndex end : {cable.a, cable.b})
      if (number[end]) racks.uplink_bytes_per_s[*number[end]] += cable.link.payload_bytes_per_s();
  return racks;
}

Result<ccl::Algorithm> fastest(const CollectiveCall& call, const ccl::PortModel& port,
                               const ccl::Racks& racks) {
  ccl::Problem problem;
  problem.collective = call.collective;
  problem.ranks = static_cast<ccl::Rank>(call.ranks.size());
  problem.count = call.size_bytes / ccl::size_of(call.type);
  problem.root = call.root;
  problem.chunks = call.chunks;
  return ccl::select(problem, ccl::size_of(call.type), port, racks, false);
}

}  // namespace cnuas::scenarios
