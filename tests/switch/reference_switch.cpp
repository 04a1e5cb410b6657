#include "tests/switch/reference_switch.h"

#include <algorithm>

namespace cnuas::fabric_switch {
namespace {

bool for_the_switch(wire::FrameType type) {
  return type == wire::FrameType::discovery || type == wire::FrameType::keepalive;
}

std::uint64_t size_of(const wire::FrameHeader& header) {
  return 12 + std::uint64_t{header.payload_bytes};
}

}  // namespace

ReferenceSwitch::ReferenceSwitch(SwitchConfig config)
    : config_(std::move(config)), ports_(config_.ports.size()), drops_(ports_.size()) {
  for (std::size_t i = 0; i < ports_.size(); ++i)
    ports_[i].gpu = config_.ports[i].expected;
}

bool ReferenceSwitch::paused(PortIndex ingress) const {
  return std::any_of(waits_.begin(), waits_.end(), [&](const auto& wait) { return wait.second == ingress; });
}

std::uint64_t ReferenceSwitch::queued_bytes(PortIndex egress) const {
  std::uint64_t bytes = 0;
  for (const Frame& frame : ports_[egress].queue)
    bytes += size_of(frame.header);
  return bytes;
}

std::size_t ReferenceSwitch::own_frames(PortIndex egress) const {
  const auto& queue = ports_[egress].queue;
  return static_cast<std::size_t>(std::count_if(
      queue.begin(), queue.end(), [](const Frame& frame) { return frame.buffer == kOwnFrame; }));
}

// --- Frames in --------------------------------------------------------------------------------------------

void ReferenceSwitch::receive(PortIndex index,
                              const tl::expected<wire::FrameHeader, wire::FrameError>& decoded,
                              BufferId buffer, Picoseconds now) {
  const auto drop = [&](DropReason reason) {
    ++drops_[index].rx[static_cast<std::size_t>(reason)][decoded ? slot(decoded->type) : 0];
    actions.released.push_back(buffer);
  };
  if (!decoded) return drop(drop_reason(decoded.error()));
  const wire::FrameHeader& header = *decoded;
  if (const auto reason = refusal(index, header)) return drop(*reason);
  learn(index, header, now);
  if (for_the_switch(header.type)) return actions.released.push_back(buffer);
  if (paused(index) && ports_[index].overrun >= config_.overrun_bytes) return drop(DropReason::queue_full);

  std::vector<PortIndex> targets;
  if (header.destination == kBroadcast) {
    for (PortIndex port = 0; port < ports_.size(); ++port) {
      if (carries(port) && port != index) targets.push_back(port);
    }
  } else if (header.destination == kNoGpu) {
    return drop(DropReason::bad_destination);
  } else if (const auto known = fdb_.find(header.destination); known != fdb_.end()) {
    if (known->second == index) return drop(DropReason::hairpin);
    targets.push_back(known->second);
  } else if (config_.uplink >= 0 && config_.uplink != index && header.destination.rack() != config_.rack) {
    if (carries(static_cast<PortIndex>(config_.uplink)))
      targets.push_back(static_cast<PortIndex>(config_.uplink));
  }
  if (targets.empty()) return drop(DropReason::no_route);
  if (paused(index)) ports_[index].overrun += size_of(header) + 32 * targets.size();
  holders_[buffer] = static_cast<int>(targets.size());
  for (const PortIndex egress : targets)
    offer(index, egress, Frame{header, buffer}, now);
}

std::optional<DropReason> ReferenceSwitch::refusal(PortIndex index, const wire::FrameHeader& header) const {
  const GpuId source = header.source;
  if (!carries(index)) return DropReason::port_down;
  if (!source.usable()) return DropReason::bad_source;
  bool local_elsewhere = false;
  for (PortIndex other = 0; other < ports_.size(); ++other) {
    if (other != index && !is_link(other) && ports_[other].gpu == source) local_elsewhere = true;
  }
  const auto known = fdb_.find(source);
  if (is_link(index)) {
    if (local_elsewhere) return DropReason::loop;
    const bool by_another = known != fdb_.end() && known->second != index;
    if (by_another && header.destination == kBroadcast && !for_the_switch(header.type))
      return DropReason::loop;
    return std::nullopt;
  }
  const GpuId own = ports_[index].gpu;
  if (own != kNoGpu && own != source) return DropReason::spoofed_source;
  if (config_.rack != 0 && source.rack() != config_.rack) return DropReason::spoofed_source;
  if (local_elsewhere) return DropReason::duplicate_source;
  return std::nullopt;
}

void ReferenceSwitch::learn(PortIndex index, const wire::FrameHeader& header, Picoseconds now) {
  Port& port = ports_[index];
  port.order = header.order;
  const auto known = fdb_.find(header.source);
  if (is_link(index)) {
    if (known != fdb_.end() && known->second != index && for_the_switch(header.type)) return;
  } else {
    port.heard = now;
    port.gpu = header.source;
  }
  if (known != fdb_.end() && known->second == index) return;
  fdb_[header.source] = index;
  for (PortIndex link = 0; link < ports_.size(); ++link) {
    if (is_link(link) && carries(link) && link != index) announce(link, header.source, now);
  }
}

// --- Queues -----------------------------------------------------------------------------------------------

void ReferenceSwitch::offer(PortIndex ingress, PortIndex egress, const Frame& frame, Picoseconds now) {
  if (ports_[egress].stalled) {
    drop_queued(egress, frame.header.type, DropReason::stalled);
    return let_go(frame.buffer);
  }
  push(egress, frame, now);
  if (queued_bytes(egress) < config_.ports[egress].queue_bytes) return;
  if (!paused(ingress)) {
    ports_[ingress].overrun = 0;
    actions.paused.push_back(ingress);
  }
  waits_.insert({egress, ingress});
}

void ReferenceSwitch::push(PortIndex egress, Frame frame, Picoseconds now) {
  Port& port = ports_[egress];
  frame.header.order = port.order;
  if (port.queue.empty()) {
    port.progress = now;
    actions.ready.push_back(egress);
  }
  port.queue.push_back(frame);
}

void ReferenceSwitch::pop(PortIndex egress, Picoseconds now) {
  Port& port = ports_[egress];
  if (port.queue.empty()) return unstall(egress, now);
  const Frame frame = port.queue.front();
  port.queue.pop_front();
  port.progress = now;
  let_go(frame.buffer);
  if (2 * queued_bytes(egress) < config_.ports[egress].queue_bytes) resume_all(egress);
  announce_all_if_lost(egress, now);
}

void ReferenceSwitch::unstall(PortIndex egress, Picoseconds now) {
  ports_[egress].stalled = false;
  ports_[egress].progress = now;
  announce_all_if_lost(egress, now);
}

void ReferenceSwitch::flush(PortIndex egress, DropReason reason) {
  Port& port = ports_[egress];
  for (const Frame& frame : port.queue) {
    drop_queued(egress, frame.header.type, reason);
    if (frame.buffer == kOwnFrame) port.lost = true;
    let_go(frame.buffer);
  }
  port.queue.clear();
  resume_all(egress);
}

void ReferenceSwitch::resume_all(PortIndex egress) {
  for (PortIndex ingress = 0; ingress < ports_.size(); ++ingress) {
    if (waits_.erase({egress, ingress}) > 0 && !paused(ingress)) actions.resumed.push_back(ingress);
  }
}

void ReferenceSwitch::drop_queued(PortIndex egress, wire::FrameType type, DropReason reason) {
  ++drops_[egress].tx[static_cast<std::size_t>(reason)][slot(type)];
}

void ReferenceSwitch::let_go(BufferId buffer) {
  if (buffer == kOwnFrame || --holders_.at(buffer) > 0) return;
  holders_.erase(buffer);
  actions.released.push_back(buffer);
}

// --- Time -------------------------------------------------------------------------------------------------

Picoseconds ReferenceSwitch::deadline() const {
  Picoseconds earliest = kNever;
  for (const Port& port : ports_) {
    if (!port.queue.empty() && config_.stall_timeout_ps > 0) {
      earliest = std::min(earliest, port.progress + config_.stall_timeout_ps);
    }
    if (port.heard && config_.keepalive_timeout_ps > 0) {
      earliest = std::min(earliest, *port.heard + config_.keepalive_timeout_ps);
    }
  }
  return earliest;
}

void ReferenceSwitch::on_deadline(Picoseconds now) {
  for (PortIndex index = 0; index < ports_.size(); ++index) {
    Port& port = ports_[index];
    if (!port.queue.empty() && config_.stall_timeout_ps > 0 &&
        port.progress + config_.stall_timeout_ps <= now) {
      flush(index, DropReason::stalled);
      port.stalled = true;
    }
    if (port.heard && config_.keepalive_timeout_ps > 0 && *port.heard + config_.keepalive_timeout_ps <= now) {
      fdb_.erase(port.gpu);
      port.heard.reset();
    }
  }
}

// --- Links ------------------------------------------------------------------------------------------------

void ReferenceSwitch::link(PortIndex port, bool up, Picoseconds now) {
  const bool carried = carries(port);
  ports_[port].link_up = up;
  changed(port, carried, DropReason::link_down, now);
}

void ReferenceSwitch::admin(PortIndex port, bool up, Picoseconds now) {
  const bool carried = carries(port);
  ports_[port].admin_up = up;
  changed(port, carried, DropReason::admin_down, now);
}

void ReferenceSwitch::changed(PortIndex index, bool carried, DropReason reason, Picoseconds now) {
  if (carries(index) == carried) return;
  const GpuId expected = config_.ports[index].expected;
  if (carries(index)) {
    if (is_link(index)) announce_all(index, now);
    if (expected == kNoGpu) return;
    fdb_[expected] = index;
    for (PortIndex link = 0; link < ports_.size(); ++link) {
      if (is_link(link) && carries(link)) announce(link, expected, now);
    }
    return;
  }
  flush(index, reason);
  const bool was_paused = paused(index);
  std::erase_if(waits_, [&](const auto& wait) { return wait.second == index; });
  if (was_paused) actions.resumed.push_back(index);
  std::erase_if(fdb_, [&](const auto& entry) { return entry.second == index; });
  Port fresh;
  fresh.admin_up = ports_[index].admin_up;
  fresh.link_up = ports_[index].link_up;
  fresh.gpu = expected;
  ports_[index] = fresh;
}

// --- Announcements ----------------------------------------------------------------------------------------

void ReferenceSwitch::announce(PortIndex egress, GpuId gpu, Picoseconds now) {
  if (ports_[egress].stalled) {
    drop_queued(egress, wire::FrameType::discovery, DropReason::stalled);
    ports_[egress].lost = true;
    return;
  }
  push(egress, {{wire::FrameType::discovery, wire::ByteOrder::big, gpu, kBroadcast, 0}, kOwnFrame}, now);
}

void ReferenceSwitch::announce_all_if_lost(PortIndex egress, Picoseconds now) {
  if (ports_[egress].lost && own_frames(egress) == 0) announce_all(egress, now);
}

void ReferenceSwitch::announce_all(PortIndex egress, Picoseconds now) {
  ports_[egress].lost = false;
  for (const auto& [gpu, port] : fdb_) {
    if (port != egress) announce(egress, gpu, now);
  }
}

}  // namespace cnuas::fabric_switch
