#include "scenarios/algorithm_choice.h"

#include "scenarios/similar.h"

#include <algorithm>
#include <string>

namespace cnuas::scenarios {
namespace {

std::string available(ccl::Collective collective) {
  std::vector<std::string_view> names;
  for (ccl::Algorithm algorithm : ccl::algorithms_of(collective))
    names.push_back(ccl::name(algorithm));
  return std::string(ccl::name(collective)) + " has " + listing(names, "and");
}

// Nothing: an error has been reported.
std::optional<AlgorithmChoice> read_one(const Node& word, ccl::Collective collective,
                                        Diagnostics& diagnostics) {
  if (word.text == "auto") return AlgorithmChoice{};
  const std::optional<ccl::Algorithm> algorithm = ccl::parse_algorithm(word.text);
  const auto offered = ccl::algorithms_of(collective);
  if (algorithm && std::find(offered.begin(), offered.end(), *algorithm) != offered.end())
    return AlgorithmChoice{*algorithm};
  if (algorithm)
    diagnostics.error(word.place,
                      std::string(ccl::name(collective)) + " has no algorithm " + quoted(word.text),
                      available(collective));
  else
    diagnostics.error(word.place, "algorithm " + quoted(word.text) + " is not available in this version",
                      available(collective));
  return std::nullopt;
}

std::vector<AlgorithmChoice> read_list(const Node& list, ccl::Collective collective,
                                       Diagnostics& diagnostics) {
  std::vector<AlgorithmChoice> choices;
  bool complete = true;
  for (const Node& item : list.items) {
    const auto choice = read_one(item, collective, diagnostics);
    const bool twice = choice && std::find(choices.begin(), choices.end(), *choice) != choices.end();
    if (twice)
      diagnostics.error(item.place, "algorithm " + quoted(item.text) + " is listed twice", "remove one");
    complete &= choice && !twice;
    if (choice) choices.push_back(*choice);
  }
  return complete ? choices : std::vector<AlgorithmChoice>{};
}

// Of each switch, the two GPUs of `ranks` that are farthest from it: the ends of the longest way are among
// them.
std::vector<GpuIndex> farthest_of_each_switch(const Fabric& fabric, const std::vector<GpuId>& ranks) {
  std::vector<std::vector<GpuIndex>> farthest(fabric.switches.size());
  const auto latency = [&](GpuIndex gpu) { return fabric.gpus[gpu].link.latency_ps; };
  for (GpuId id : ranks) {
    const GpuIndex gpu = *find_gpu(fabric, id);
    std::vector<GpuIndex>& two = farthest[fabric.gpus[gpu].attached];
    two.push_back(gpu);
    std::stable_sort(two.begin(), two.end(), [&](GpuIndex a, GpuIndex b) { return latency(a) > latency(b); });
    if (two.size() > 2) two.pop_back();
  }
  std::vector<GpuIndex> all;
  for (const auto& two : farthest)
    all.insert(all.end(), two.begin(), two.end());
  return all;
}

}  // namespace

std::vector<AlgorithmChoice> read_algorithms(const Node& item, ccl::Collective collective,
                                             Diagnostics& diagnostics) {
  const char* key = item.has("algorithms") ? "algorithms" : "algorithm";
  if (!item.has(key)) return {AlgorithmChoice{}};
  const Node* node = item.get(key);
  if (!node) return {};
  if (node->kind == Node::Kind::list) return read_list(*node, collective, diagnostics);
  if (node->text == "all") {
    const auto offered = ccl::algorithms_of(collective);
    return {offered.begin(), offered.end()};
  }
  const auto choice = read_one(*node, collective, diagnostics);
  return choice ? std::vector<AlgorithmChoice>{*choice} : std::vector<AlgorithmChoice>{};
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

ccl::Algorithm fastest(const CollectiveCall& call, const ccl::PortModel& port) {
  const auto offered = ccl::algorithms_of(call.collective);
  ccl::Algorithm best = offered.front();
  Picoseconds least = kNever;
  for (ccl::Algorithm algorithm : offered) {
    ccl::Problem problem;
    problem.collective = call.collective;
    problem.algorithm = algorithm;
    problem.ranks = static_cast<ccl::Rank>(call.ranks.size());
    problem.count = call.size_bytes / ccl::size_of(call.type);
    problem.root = call.root;
    problem.chunks = call.chunks > 0
                         ? call.chunks
                         : ccl::default_chunks(call.collective, algorithm, problem.ranks, call.size_bytes);
    const Picoseconds time = ccl::closed_form(problem, ccl::size_of(call.type), port).time_ps;
    if (time >= least) continue;
    least = time;
    best = algorithm;
  }
  return best;
}

}  // namespace cnuas::scenarios
