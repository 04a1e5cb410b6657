#include "sim/fluid/transport.h"

#include <algorithm>

namespace cnuas::sim {

namespace {

std::vector<std::uint64_t> payload_capacities(const Fabric& fabric) {
  std::vector<std::uint64_t> result(link_count(fabric));
  for (LinkIndex link = 0; link < result.size(); ++link) {
    result[link] = link_profile(fabric, link).payload_bytes_per_s();
  }
  return result;
}

}  // namespace

Transport::Transport(const Fabric& fabric, const RouteTable& routes, Kernel& kernel, bool all_in_simgrid)
    : fabric_(fabric),
      routes_(routes),
      kernel_(kernel),
      all_in_simgrid_(all_in_simgrid),
      network_(payload_capacities(fabric)),
      simgrid_flows_(link_count(fabric), 0) {}

FlowNetwork::Path Transport::path(GpuIndex from, GpuIndex to) const {
  return {gpu_uplink(from), routes_.between_switches(fabric_.gpus[from].attached, fabric_.gpus[to].attached),
          gpu_downlink(to)};
}

bool Transport::simgrid_on(const FlowNetwork::Path& links) const {
  for (std::size_t i = 0; i < links.size(); ++i) {
    if (simgrid_flows_[links[i]] > 0) return true;
  }
  return false;
}

void Transport::settle(Picoseconds now, std::vector<FlowNetwork::Completion>& changed) {
  for (const Message& message : starting_) {
    const FlowNetwork::Path links = path(message.from_gpu, message.to_gpu);
    if (all_in_simgrid_ || simgrid_on(links)) {
      start_in_simgrid(message, static_cast<double>(message.bytes), now);
      continue;
    }
    const FlowId flow = network_.add(links, message.bytes, now, message.late_ps);
    if (flow >= by_flow_.size()) by_flow_.resize(flow + 1);
    by_flow_[flow] = message;
  }
  starting_.clear();
  take_over(now);
  network_.settle(now, changed);
}

void Transport::start_in_simgrid(const Message& message, double bytes, Picoseconds now) {
  std::uint32_t token = 0;
  if (free_tokens_.empty()) {
    token = static_cast<std::uint32_t>(by_token_.size());
    by_token_.emplace_back();
  } else {
    token = free_tokens_.back();
    free_tokens_.pop_back();
  }
  by_token_[token] = message;
  by_token_[token].late_ps = 0;
  launching_.push_back({token, bytes});
  claim(path(message.from_gpu, message.to_gpu));
  take_over(now);
}

void Transport::claim(const FlowNetwork::Path& links) {
  for (std::size_t i = 0; i < links.size(); ++i) {
    if (simgrid_flows_[links[i]]++ == 0 && !network_.flows_on(links[i]).empty()) claimed_.push_back(links[i]);
  }
}

void Transport::take_over(Picoseconds now) {
  while (!claimed_.empty()) {
    const LinkIndex link = claimed_.back();
    claimed_.pop_back();
    while (!network_.flows_on(link).empty()) {
      const FlowId flow = network_.flows_on(link).front();
      const double left = network_.remaining_bytes(flow, now);
      const Message message = by_flow_[flow];
      network_.remove(flow);
      start_in_simgrid(message, left, now);
    }
  }
}

void Transport::launch() {
  for (const Launch& launch : launching_) {
    const Message& message = by_token_[launch.token];
    kernel_.start_flow(message.from_gpu, message.to_gpu, launch.bytes, launch.token);
  }
  launching_.clear();
}

bool Transport::finish(FlowId flow, std::uint32_t version, Message& message) {
  if (!network_.current(flow, version)) return false;
  message = by_flow_[flow];
  message.late_ps = network_.residue_ps(flow);
  network_.remove(flow);
  return true;
}

Message Transport::finish_in_simgrid(Kernel::Token token) {
  const Message message = by_token_[token];
  free_tokens_.push_back(static_cast<std::uint32_t>(token));
  vacate(message.from_gpu, message.to_gpu);
  return message;
}

void Transport::occupy(GpuIndex from, GpuIndex to) {
  claim(path(from, to));
}

void Transport::vacate(GpuIndex from, GpuIndex to) {
  const FlowNetwork::Path links = path(from, to);
  for (std::size_t i = 0; i < links.size(); ++i)
    --simgrid_flows_[links[i]];
}

}  // namespace cnuas::sim
