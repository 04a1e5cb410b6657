// FrameMover's frames that are given byte by byte, and what an operator does to its switches.
#include "sim/frame/frame_mover.h"

#include <algorithm>
#include <cassert>

namespace cnuas::sim {

void FrameMover::open_switches(FrameSink& sink) {
  if (timeline_.error) return;
  frame_sink_ = &sink;
  to_inject_.resize(endpoints_.size());
  for (GpuIndex gpu = 0; gpu < endpoints_.size(); ++gpu)
    links_[gpu_uplink(gpu)].up = links_[gpu_downlink(gpu)].up = false;
  for (std::uint32_t index = 0; index < switches_.size(); ++index) {
    for (PortIndex port = 0; port < egress_[index].size(); ++port) {
      if (!gpu_at(index, port)) switches_[index].link_up(port, timeline_.now_ps, actions_);
    }
    absorb(index);
  }
}

// A silent GPU's endpoint has nothing to send, and is not told that there is a link.
void FrameMover::connect(GpuIndex gpu, bool announce) {
  set_link(gpu_uplink(gpu), true, announce);
}

void FrameMover::disconnect(GpuIndex gpu) {
  set_link(gpu_uplink(gpu), false);
  free_injected_.insert(free_injected_.end(), to_inject_[gpu].begin(), to_inject_[gpu].end());
  to_inject_[gpu].clear();
  limit_reader(gpu, std::nullopt);
}

void FrameMover::inject(GpuIndex from, std::span<const std::byte> message) {
  if (free_injected_.empty()) {
    free_injected_.push_back(static_cast<std::uint32_t>(injected_.size()));
    injected_.emplace_back();
  }
  const std::uint32_t number = free_injected_.back();
  free_injected_.pop_back();
  injected_[number].bytes.assign(message.begin(), message.end());
  to_inject_[from].push_back(number);
  to_serve_.push_back(gpu_uplink(from));
}

std::uint32_t FrameMover::next_injected(LinkIndex link) {
  const GpuIndex gpu = links_[link].from.index;
  if (to_inject_.empty() || to_inject_[gpu].empty()) return kNone;
  const std::uint32_t number = to_inject_[gpu].front();
  to_inject_[gpu].pop_front();
  const std::uint32_t index = new_frame();
  Frame& frame = frames_[index];
  frame.message = kInjected;
  frame.chunk = number;
  frame.holders = 1;
  Injected& injected = injected_[number];
  const auto header = wire::decode(injected.bytes);
  injected.is_frame = header.has_value();
  if (header) {
    frame.ref.header = *header;
  } else {
    frame.ref.header.payload_bytes =
        static_cast<std::uint32_t>(std::max(injected.bytes.size(), wire::kHeaderBytes) - wire::kHeaderBytes);
  }
  links_[link].order = frame.ref.header.order;
  return index;
}

// A frame of no message: each hop has its header in an order of its own. Or no frame at all.
void FrameMover::rare_at_switch(const Event& event) {
  const End& to = links_[event.a].to;
  const Frame& frame = frames_[event.b];
  if (frame.message == kInjected && !injected_[frame.chunk].is_frame) {
    switches_[to.index].receive(to.port, injected_[frame.chunk].bytes, event.b, timeline_.now_ps, actions_);
  } else {
    fabric_switch::FrameRef ref = frame.ref;
    ref.header.order = static_cast<wire::ByteOrder>(event.x);
    switches_[to.index].receive(to.port, ref, timeline_.now_ps, actions_);
  }
  absorb(to.index);
}

void FrameMover::deliver_injected(const Event& event, const Frame& frame) {
  wire::FrameHeader header = frame.ref.header;
  header.order = static_cast<wire::ByteOrder>(event.x);
  const std::span<const std::byte> bytes = injected_[frame.chunk].bytes;
  frame_sink_->delivered(links_[event.a].to.index, header, bytes.subspan(wire::kHeaderBytes));
}

void FrameMover::limit_reader(GpuIndex gpu, std::optional<std::uint32_t> frames) {
  if (frames) {
    endpoints_[gpu].limit_room(*frames);
  } else {
    endpoints_[gpu].unlimited_room();
  }
  links_[gpu_downlink(gpu)].consume_ps = kNever;
  to_serve_.push_back(gpu_downlink(gpu));
}

void FrameMover::set_admin_state(SwitchIndex target, PortIndex port, bool up) {
  switches_[target].set_admin_state(port, up, timeline_.now_ps, actions_);
  absorb(target);
}

void FrameMover::clear_counters(SwitchIndex target) {
  switches_[target].clear_counters();
  for (const LinkIndex link : ingress_[target])
    links_[link].arrived_cleared = links_[link].arrived;
  for (const LinkIndex link : egress_[target])
    links_[link].frames_cleared = links_[link].frames;
}

std::optional<GpuIndex> FrameMover::gpu_at(SwitchIndex target, PortIndex port) const {
  const End& end = links_[egress_[target][port]].to;
  if (end.is_switch) return std::nullopt;
  return end.index;
}

}  // namespace cnuas::sim
