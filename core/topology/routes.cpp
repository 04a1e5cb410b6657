#include "core/topology/routes.h"

#include <algorithm>
#include <cassert>
#include <limits>

namespace cnuas {

namespace {

constexpr std::uint32_t kUnknown = std::numeric_limits<std::uint32_t>::max();

struct Neighbour {
  SwitchIndex to;
  CableIndex cable;
};

// Neighbours of each switch, sorted by switch, then cable: the order in which ties are decided.
std::vector<std::vector<Neighbour>> adjacency(const Fabric& fabric) {
  std::vector<std::vector<Neighbour>> result(fabric.switches.size());
  for (CableIndex index = 0; index < fabric.cables.size(); ++index) {
    const Cable& cable = fabric.cables[index];
    result[cable.a].push_back({cable.b, index});
    result[cable.b].push_back({cable.a, index});
  }
  for (auto& list : result) {
    std::stable_sort(list.begin(), list.end(),
                     [](const Neighbour& x, const Neighbour& y) { return x.to < y.to; });
  }
  return result;
}

// Cables from every switch to `target`, breadth first; kUnknown where there is no way.
std::vector<std::uint32_t> distances_to(SwitchIndex target,
                                        const std::vector<std::vector<Neighbour>>& neighbours) {
  std::vector<std::uint32_t> distance(neighbours.size(), kUnknown);
  std::vector<SwitchIndex> queue{target};
  distance[target] = 0;
  for (std::size_t head = 0; head < queue.size(); ++head) {
    for (const Neighbour& next : neighbours[queue[head]]) {
      if (distance[next.to] != kUnknown) continue;
      distance[next.to] = distance[queue[head]] + 1;
      queue.push_back(next.to);
    }
  }
  return distance;
}

}  // namespace

RouteTable::RouteTable(const Fabric& fabric)
    : fabric_(fabric), switches_(fabric.switches.size()), paths_(switches_ * switches_) {
  const auto neighbours = adjacency(fabric);
  for (SwitchIndex to = 0; to < switches_; ++to) {
    const std::vector<std::uint32_t> distance = distances_to(to, neighbours);
    for (SwitchIndex from = 0; from < switches_; ++from) {
      Path& path = paths_[from * switches_ + to];
      path.first = static_cast<std::uint32_t>(hops_.size());
      path.latency_ps = fabric.switches[from].latency_ps;
      path.bottleneck_bytes_per_s = std::numeric_limits<std::uint64_t>::max();
      if (distance[from] == kUnknown) continue;
      for (SwitchIndex at = from; at != to;) {
        const auto next = std::find_if(neighbours[at].begin(), neighbours[at].end(), [&](const Neighbour& n) {
          return distance[n.to] + 1 == distance[at];
        });
        const Cable& cable = fabric.cables[next->cable];
        hops_.push_back(cable_link(fabric, next->cable, cable.a == at));
        path.latency_ps += cable.link.latency_ps + fabric.switches[next->to].latency_ps;
        path.bottleneck_bytes_per_s = std::min(path.bottleneck_bytes_per_s, cable.link.payload_bytes_per_s());
        at = next->to;
      }
      path.length = static_cast<std::uint32_t>(hops_.size()) - path.first;
    }
  }
}

std::span<const LinkIndex> RouteTable::between_switches(SwitchIndex from, SwitchIndex to) const {
  const Path& found = path(from, to);
  return {hops_.data() + found.first, found.length};
}

void RouteTable::links(GpuIndex src, GpuIndex dst, std::vector<LinkIndex>& out) const {
  assert(src != dst);
  const auto middle = between_switches(fabric_.gpus[src].attached, fabric_.gpus[dst].attached);
  out.clear();
  out.push_back(gpu_uplink(src));
  out.insert(out.end(), middle.begin(), middle.end());
  out.push_back(gpu_downlink(dst));
}

Picoseconds RouteTable::latency_ps(GpuIndex src, GpuIndex dst) const {
  const Gpu& from = fabric_.gpus[src];
  const Gpu& to = fabric_.gpus[dst];
  return from.link.latency_ps + path(from.attached, to.attached).latency_ps + to.link.latency_ps;
}

std::uint64_t RouteTable::bottleneck_bytes_per_s(GpuIndex src, GpuIndex dst) const {
  const Gpu& from = fabric_.gpus[src];
  const Gpu& to = fabric_.gpus[dst];
  return std::min({from.link.payload_bytes_per_s(), path(from.attached, to.attached).bottleneck_bytes_per_s,
                   to.link.payload_bytes_per_s()});
}

}  // namespace cnuas
