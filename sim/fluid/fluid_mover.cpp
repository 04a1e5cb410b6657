#include "sim/fluid/fluid_mover.h"

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

FluidMover::FluidMover(RunContext& context, Timeline& timeline, MessageSink& sink, FluidOptions options)
    : context_(context),
      timeline_(timeline),
      sink_(sink),
      options_(options),
      network_(payload_capacities(context.fabric)),
      simgrid_flows_(link_count(context.fabric), 0),
      link_bytes_(link_count(context.fabric), 0) {}

FlowNetwork::Path FluidMover::path(GpuIndex from, GpuIndex to) const {
  const std::vector<Gpu>& gpus = context_.fabric.gpus;
  return {gpu_uplink(from), context_.routes.between_switches(gpus[from].attached, gpus[to].attached),
          gpu_downlink(to)};
}

bool FluidMover::simgrid_on(const FlowNetwork::Path& links) const {
  for (std::size_t i = 0; i < links.size(); ++i) {
    if (simgrid_flows_[links[i]] > 0) return true;
  }
  return false;
}

void FluidMover::start(const Message& message) {
  if (message.bytes > 0) {
    starting_.push_back(message);
    return;
  }
  // Nothing to carry, but the pattern has a message here: it leaves at once, after what leaves already.
  empty_.push_back(message);
  timeline_.push(timeline_.now_ps, kLeaving,
                 Event{static_cast<std::uint32_t>(empty_.size() - 1), 0, 0, empty_done, 0, 0});
}

void FluidMover::settle() {
  for (const Message& message : starting_) {
    const FlowNetwork::Path links = path(message.from_gpu, message.to_gpu);
    if (options_.simgrid_flows || simgrid_on(links)) {
      start_in_simgrid(message, static_cast<double>(message.bytes));
      continue;
    }
    const FlowId flow = network_.add(links, message.bytes, timeline_.now_ps, message.late_ps);
    if (flow >= by_flow_.size()) by_flow_.resize(flow + 1);
    by_flow_[flow] = message;
  }
  starting_.clear();
  take_over();
  if (timeline_.queue.next_time() != timeline_.now_ps) empty_.clear();
  changed_.clear();
  network_.settle(timeline_.now_ps, changed_);
  for (const FlowNetwork::Completion& each : changed_) {
    timeline_.push(each.time_ps, kLeaving, Event{each.flow, each.version, 0, flow_done, 0, 0});
  }
}

void FluidMover::handle(const Event& event) {
  switch (event.kind) {
    case flow_done: {
      if (!network_.current(event.a, event.b)) return;  // overtaken by a newer announcement
      Message message = by_flow_[event.a];
      message.late_ps = network_.residue_ps(event.a);
      network_.remove(event.a);
      return left(message);
    }
    case empty_done: {
      const Message message = empty_[event.a];  // a copy: left() may start more
      return left(message);
    }
    case delivered:
      return sink_.arrived(event.a, event.b, event.c, event.x);
    default:
      return;
  }
}

void FluidMover::left(const Message& message) {
  account(message);
  const Picoseconds arrival = timeline_.now_ps + context_.routes.latency_ps(message.from_gpu, message.to_gpu);
  timeline_.push(arrival, kArriving,
                 Event{message.job, message.from, message.to, delivered, message.channel, 0});
  sink_.sent(message);
}

void FluidMover::account(const Message& message) {
  if (message.job >= wire_bytes_.size()) wire_bytes_.resize(message.job + 1, 0);
  const LinkProfile& port = context_.fabric.gpus[message.from_gpu].link;
  wire_bytes_[message.job] += port.packets ? port.packets->wire_bytes(message.bytes) : message.bytes;
  const FlowNetwork::Path links = path(message.from_gpu, message.to_gpu);
  for (std::size_t i = 0; i < links.size(); ++i)
    link_bytes_[links[i]] += message.bytes;
}

void FluidMover::start_in_simgrid(const Message& message, double bytes) {
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
}

void FluidMover::claim(const FlowNetwork::Path& links) {
  for (std::size_t i = 0; i < links.size(); ++i) {
    if (simgrid_flows_[links[i]]++ == 0 && !network_.flows_on(links[i]).empty()) claimed_.push_back(links[i]);
  }
}

void FluidMover::give_back(const FlowNetwork::Path& links) {
  for (std::size_t i = 0; i < links.size(); ++i)
    --simgrid_flows_[links[i]];
}

void FluidMover::take_over() {
  while (!claimed_.empty()) {
    const LinkIndex link = claimed_.back();
    claimed_.pop_back();
    while (!network_.flows_on(link).empty()) {
      const FlowId flow = network_.flows_on(link).front();
      const double left = network_.remaining_bytes(flow, timeline_.now_ps);
      const Message message = by_flow_[flow];
      network_.remove(flow);
      start_in_simgrid(message, left);
    }
  }
}

void FluidMover::launch() {
  for (const Launch& each : launching_) {
    const Message& message = by_token_[each.token];
    context_.kernel.start_flow(message.from_gpu, message.to_gpu, each.bytes, each.token);
  }
  launching_.clear();
}

void FluidMover::simgrid_done(Kernel::Token token) {
  const Message message = by_token_[token];
  free_tokens_.push_back(static_cast<std::uint32_t>(token));
  give_back(path(message.from_gpu, message.to_gpu));
  left(message);
}

void FluidMover::background(std::size_t index, bool on) {
  const BackgroundFlow& flow = context_.workload.background[index];
  const FlowNetwork::Path links =
      path(*find_gpu(context_.fabric, flow.from), *find_gpu(context_.fabric, flow.to));
  if (on) {
    claim(links);
  } else {
    give_back(links);
  }
}

Result<void> FluidMover::close(Outcome& outcome) {
  outcome.link_bytes = link_bytes_;
  for (std::size_t job = 0; job < wire_bytes_.size(); ++job)
    outcome.phases[job].wire_bytes = wire_bytes_[job];
  return {};
}

}  // namespace cnuas::sim
