#include "sim/graph/tiers.h"

#include <algorithm>
#include <limits>

namespace cnuas::sim {

namespace {

constexpr unsigned kUnknown = std::numeric_limits<unsigned>::max();

std::vector<std::vector<SwitchIndex>> neighbours_of(const Fabric& fabric) {
  std::vector<std::vector<SwitchIndex>> result(fabric.switches.size());
  for (const Cable& cable : fabric.cables) {
    result[cable.a].push_back(cable.b);
    result[cable.b].push_back(cable.a);
  }
  return result;
}

// Breadth first, from all switches with GPUs at once.
std::vector<unsigned> distances(const Fabric& fabric) {
  const auto neighbours = neighbours_of(fabric);
  std::vector<unsigned> distance(fabric.switches.size(), kUnknown);
  std::vector<SwitchIndex> queue;
  for (const Gpu& gpu : fabric.gpus) {
    if (distance[gpu.attached] == 0) continue;
    distance[gpu.attached] = 0;
    queue.push_back(gpu.attached);
  }
  for (std::size_t head = 0; head < queue.size(); ++head) {
    for (const SwitchIndex next : neighbours[queue[head]]) {
      if (distance[next] != kUnknown) continue;
      distance[next] = distance[queue[head]] + 1;
      queue.push_back(next);
    }
  }
  std::replace(distance.begin(), distance.end(), kUnknown, 1u);
  return distance;
}

}  // namespace

Tiers make_tiers(const Fabric& fabric) {
  Tiers tiers;
  tiers.tier = distances(fabric);
  tiers.members.resize(*std::max_element(tiers.tier.begin(), tiers.tier.end()) + 1);
  for (SwitchIndex index = 0; index < fabric.switches.size(); ++index) {
    std::vector<SwitchIndex>& members = tiers.members[tiers.tier[index]];
    tiers.position.push_back(members.size());
    members.push_back(index);
  }
  return tiers;
}

}  // namespace cnuas::sim
