#include "sim/fluid/flow_network.h"

#include <algorithm>
#include <cassert>
#include <cmath>
#include <limits>

namespace cnuas::sim {

namespace {

// Shares that differ by less are one bottleneck level: the order of subtractions must not split equal flows.
constexpr double kSameShare = 1.0 + 1e-12;

}  // namespace

FlowNetwork::FlowNetwork(std::vector<std::uint64_t> capacities_bytes_per_s)
    : links_(capacities_bytes_per_s.size()) {
  for (std::size_t i = 0; i < links_.size(); ++i) {
    assert(capacities_bytes_per_s[i] > 0);
    links_[i].capacity = static_cast<double>(capacities_bytes_per_s[i]);
  }
}

void FlowNetwork::mark_dirty(LinkIndex link) {
  if (links_[link].dirty) return;
  links_[link].dirty = true;
  dirty_.push_back(link);
}

FlowId FlowNetwork::add(const Path& path, std::uint64_t bytes, Picoseconds now, double late_ps) {
  assert(bytes > 0);
  FlowId id = 0;
  if (free_.empty()) {
    id = static_cast<FlowId>(flows_.size());
    flows_.emplace_back();
  } else {
    id = free_.back();
    free_.pop_back();
  }
  Flow& flow = flows_[id];
  flow.path = path;
  flow.bytes = bytes;
  flow.remaining = static_cast<double>(bytes);
  flow.rate = 0;
  flow.updated_ps = now;
  flow.late_ps = late_ps;
  ++flow.version;
  for (std::size_t i = 0; i < path.size(); ++i)
    links_[path[i]].flows.push_back(id);
  mark_dirty(path.first);
  return id;
}

void FlowNetwork::remove(FlowId id) {
  Flow& flow = flows_[id];
  ++flow.version;
  for (std::size_t i = 0; i < flow.path.size(); ++i) {
    std::vector<FlowId>& list = links_[flow.path[i]].flows;
    const auto found = std::find(list.begin(), list.end(), id);
    assert(found != list.end());
    *found = list.back();
    list.pop_back();
    if (!list.empty()) mark_dirty(flow.path[i]);
  }
  free_.push_back(id);
}

double FlowNetwork::remaining_bytes(FlowId id, Picoseconds now) const {
  const Flow& flow = flows_[id];
  const double elapsed_ps = static_cast<double>(now - flow.updated_ps) - flow.late_ps;
  const double sent = flow.rate * (elapsed_ps / static_cast<double>(kSecond));
  return std::clamp(flow.remaining - sent, 0.0, flow.remaining);
}

bool FlowNetwork::alone(const Flow& flow) const {
  for (std::size_t i = 0; i < flow.path.size(); ++i) {
    if (links_[flow.path[i]].flows.size() != 1) return false;
  }
  return true;
}

double FlowNetwork::least_capacity(const Flow& flow) const {
  double least = links_[flow.path.first].capacity;
  for (std::size_t i = 1; i < flow.path.size(); ++i)
    least = std::min(least, links_[flow.path[i]].capacity);
  return least;
}

void FlowNetwork::set_rate(FlowId id, double rate, Picoseconds now, std::vector<Completion>& changed) {
  Flow& flow = flows_[id];
  if (flow.rate == rate) return;
  if (flow.rate > 0 && now > flow.updated_ps) {
    flow.remaining = remaining_bytes(id, now);
    flow.late_ps = 0;
    flow.updated_ps = now;
  }
  flow.rate = rate;
  ++flow.version;
  const double left_ps = flow.remaining * static_cast<double>(kSecond) / rate + flow.late_ps;
  if (left_ps >=
      static_cast<double>(kNever / 4)) {  // beyond any time the caller accepts: it refuses such a run
    changed.push_back({id, flow.version, kNever});
    return;
  }
  const double rounded = std::max(0.0, std::round(left_ps));
  flow.residue_ps = left_ps - rounded;
  changed.push_back({id, flow.version, now + static_cast<Picoseconds>(rounded)});
}

void FlowNetwork::settle(Picoseconds now, std::vector<Completion>& changed) {
  ++epoch_;
  for (const LinkIndex link : dirty_) {
    links_[link].dirty = false;
    if (links_[link].visited == epoch_ || links_[link].flows.empty()) continue;
    if (links_[link].flows.size() == 1 && alone(flows_[links_[link].flows.front()])) {
      const FlowId flow = links_[link].flows.front();
      set_rate(flow, least_capacity(flows_[flow]), now, changed);
      continue;
    }
    collect_component(link);
    solve_component(now, changed);
  }
  dirty_.clear();
}

void FlowNetwork::collect_component(LinkIndex start) {
  component_links_.assign(1, start);
  component_flows_.clear();
  links_[start].visited = epoch_;
  for (std::size_t head = 0; head < component_links_.size(); ++head) {
    for (const FlowId id : links_[component_links_[head]].flows) {
      Flow& flow = flows_[id];
      if (flow.visited == epoch_) continue;
      flow.visited = epoch_;
      component_flows_.push_back(id);
      for (std::size_t i = 0; i < flow.path.size(); ++i) {
        Link& link = links_[flow.path[i]];
        if (link.visited == epoch_) continue;
        link.visited = epoch_;
        component_links_.push_back(flow.path[i]);
      }
    }
  }
}

void FlowNetwork::solve_component(Picoseconds now, std::vector<Completion>& changed) {
  for (const LinkIndex index : component_links_) {
    Link& link = links_[index];
    link.left = link.capacity;
    link.unfrozen = static_cast<std::uint32_t>(link.flows.size());
  }
  for (const FlowId id : component_flows_)
    flows_[id].frozen = false;
  std::size_t moving = component_flows_.size();
  while (moving > 0) {
    double share = std::numeric_limits<double>::infinity();
    for (const LinkIndex index : component_links_) {
      const Link& link = links_[index];
      if (link.unfrozen > 0) share = std::min(share, link.left / link.unfrozen);
    }
    const double level = share * kSameShare;
    for (const LinkIndex index : component_links_) {
      const Link& full = links_[index];
      if (full.unfrozen == 0 || full.left / full.unfrozen > level) continue;
      for (const FlowId id : full.flows) {
        Flow& flow = flows_[id];
        if (flow.frozen) continue;
        flow.frozen = true;
        --moving;
        for (std::size_t i = 0; i < flow.path.size(); ++i) {
          Link& link = links_[flow.path[i]];
          link.left = std::max(0.0, link.left - share);
          --link.unfrozen;
        }
        set_rate(id, share, now, changed);
      }
    }
  }
}

}  // namespace cnuas::sim
