// The way of a frame through the switch, from top to bottom: decode, admit, learn, dispatch, look up,
// enqueue.
#include "core/switch/switch.h"

#include <cassert>
#include <utility>

namespace cnuas::fabric_switch {

using wire::FrameHeader;
using wire::FrameType;

void Switch::receive(PortIndex port, std::span<const std::byte> message, BufferId buffer, Picoseconds now,
                     Actions& out) {
  const tl::expected<FrameHeader, wire::FrameError> header = wire::decode(message);
  if (header) return receive(port, FrameRef{*header, buffer}, now, out);
  refuse(port, header.error(), message.size(), buffer, out);
}

void Switch::refuse(PortIndex port, wire::FrameError error, std::uint64_t bytes, BufferId buffer,
                    Actions& out) {
  constexpr std::size_t kNoFrame = 0;
  ++counters_[port].by_type[kNoFrame].rx_frames;
  counters_[port].by_type[kNoFrame].rx_bytes += bytes;
  drop_received(port, kNoFrame, buffer, drop_reason(error), out);
}

void Switch::receive(PortIndex port, const FrameRef& frame, Picoseconds now, Actions& out) {
  const FrameHeader& header = frame.header;
  const std::size_t type = slot(header.type);
  assert(port < ports_.size() && type > 0 && type <= wire::kFrameTypes && frame.buffer != kOwnFrame);
  TypeCounters& count = counters_[port].by_type[type];
  ++count.rx_frames;
  count.rx_bytes += frame.bytes();

  // An entry of the FDB leads to a port that carries, so a source with one at this port is admitted and
  // learned.
  if (fdb_.port_of(header.source) != port) [[unlikely]] {
    if (const std::optional<DropReason> refused = admit(port, header)) {
      return drop_received(port, type, frame.buffer, *refused, out);
    }
    learn(port, header, now, out);
  }
  hear(ports_[port], header, now);
  switch (header.type) {
    case FrameType::discovery:
    case FrameType::keepalive:
      ++count.consumed;
      out.released.push_back(frame.buffer);
      return;
    case FrameType::data:
    case FrameType::doorbell:
    case FrameType::atomic:
    case FrameType::collective_reduce:
    case FrameType::collective_gather:
      return forward(port, frame, now, out);
  }
}

// --- Admit ------------------------------------------------------------------------------------------------

std::optional<DropReason> Switch::admit(PortIndex ingress, const FrameHeader& header) const {
  const Port& port = ports_[ingress];
  if (!port.carrying) return DropReason::port_down;
  if (!header.source.usable()) return DropReason::bad_source;
  return port.role == PortRole::gpu ? admit_from_gpu(ingress, header.source) : admit_from_switch(header);
}

// A source that is not in the FDB at this port: new, silent for too long, or not the port's own.
std::optional<DropReason> Switch::admit_from_gpu(PortIndex ingress, GpuId source) const {
  const Port& port = ports_[ingress];
  if (port.gpu == source) return std::nullopt;
  if (port.gpu != kNoGpu) return DropReason::spoofed_source;
  if (config_.rack != 0 && source.rack() != config_.rack) return DropReason::spoofed_source;
  if (is_local(source)) return DropReason::duplicate_source;
  return std::nullopt;
}

// A source that is not in the FDB at this link. Where links form a circle, announcements and broadcasts come
// by several of them: the first one counts, for a source that followed the last would send them round for
// ever. A frame for one GPU takes one way only, so it may say that its source has moved.
std::optional<DropReason> Switch::admit_from_switch(const FrameHeader& header) const {
  if (is_local(header.source)) return DropReason::loop;
  const bool reached_by_another = fdb_.port_of(header.source) != Fdb::kNoPort;
  const bool for_the_switch = header.type == FrameType::discovery || header.type == FrameType::keepalive;
  if (reached_by_another && header.destination == kBroadcast && !for_the_switch) return DropReason::loop;
  return std::nullopt;
}

// Whether a gpu port is bound to this GPU or expects it.
bool Switch::is_local(GpuId gpu) const {
  for (const Port& port : ports_) {
    if (port.gpu == gpu) return true;
  }
  return false;
}

// --- Learn ------------------------------------------------------------------------------------------------

void Switch::learn(PortIndex ingress, const FrameHeader& header, Picoseconds now, Actions& out) {
  Port& port = ports_[ingress];
  const bool for_the_switch = header.type == FrameType::discovery || header.type == FrameType::keepalive;
  const bool known = fdb_.port_of(header.source) != Fdb::kNoPort;
  if (port.role == PortRole::inter_switch && known && for_the_switch) return;  // see admit_from_switch()
  if (port.role == PortRole::gpu) port.gpu = header.source;
  const bool expected = config_.ports[ingress].expected == header.source;
  fdb_.set(header.source, ingress, expected ? FdbOrigin::configured : FdbOrigin::learned);
  announce(header.source, ingress, now, out);
}

void Switch::hear(Port& port, const FrameHeader& header, Picoseconds now) {
  port.order = header.order;
  port.heard_ps = now;
  if (port.heard || port.role == PortRole::inter_switch) return;
  port.heard = true;
  if (config_.keepalive_timeout_ps != 0) watch(silence_deadline(port));
}

// --- Look up ----------------------------------------------------------------------------------------------

void Switch::forward(PortIndex ingress, const FrameRef& frame, Picoseconds now, Actions& out) {
  const GpuId destination = frame.header.destination;
  const auto drop = [&](DropReason reason) {
    drop_received(ingress, slot(frame.header.type), frame.buffer, reason, out);
  };
  if (flow_.paused(ingress) && flow_.overrun(ingress) >= config_.overrun_bytes)
    return drop(DropReason::queue_full);
  if (destination == kBroadcast) return flood(ingress, frame, now, out);

  PortIndex egress = fdb_.port_of(destination);
  if (egress == Fdb::kNoPort) {
    if (destination == kNoGpu) return drop(DropReason::bad_destination);
    const bool elsewhere = destination.rack() != config_.rack && config_.uplink >= 0;
    if (!elsewhere || config_.uplink == ingress) return drop(DropReason::no_route);
    egress = static_cast<PortIndex>(config_.uplink);
    if (!ports_[egress].carrying) return drop(DropReason::no_route);
  }
  if (egress == ingress) return drop(DropReason::hairpin);

  count_forwarded(ingress, frame, 1);
  enqueue(ingress, egress, frame, SharedBuffers::kSole, now, out);
}

void Switch::flood(PortIndex ingress, const FrameRef& frame, Picoseconds now, Actions& out) {
  const std::size_t copies = carrying_.size() - 1;  // the ingress carries, or it would not have been admitted
  if (copies == 0) {
    return drop_received(ingress, slot(frame.header.type), frame.buffer, DropReason::no_route, out);
  }
  count_forwarded(ingress, frame, copies);
  const SharedBuffers::Slot shared = shared_.share(static_cast<std::uint32_t>(copies));
  for (const PortIndex egress : carrying_) {
    if (egress != ingress) enqueue(ingress, egress, frame, shared, now, out);
  }
}

void Switch::count_forwarded(PortIndex ingress, const FrameRef& frame, std::size_t copies) {
  TypeCounters& count = counters_[ingress].by_type[slot(frame.header.type)];
  ++count.forwarded;
  count.copies += copies;
  if (flow_.paused(ingress)) flow_.add_overrun(ingress, frame.bytes() + copies * sizeof(QueuedFrame));
}

// --- Enqueue ----------------------------------------------------------------------------------------------

void Switch::enqueue(PortIndex ingress, PortIndex egress, const FrameRef& frame, SharedBuffers::Slot shared,
                     Picoseconds now, Actions& out) {
  Port& port = ports_[egress];
  const FrameType type = frame.header.type;
  ++counters_[egress].by_type[slot(type)].offered;
  if (port.stalled) [[unlikely]] {
    count_tx_drop(egress, type, DropReason::stalled);
    if (shared_.let_go(shared)) out.released.push_back(frame.buffer);
    return;
  }
  push(egress, frame, shared, now, out);
  if (port.queue.bytes() >= port.limit_bytes) flow_.pause(ingress, egress, out.paused);
}

void Switch::drop_received(PortIndex ingress, std::size_t type, BufferId buffer, DropReason reason,
                           Actions& out) {
  PortCounters& count = counters_[ingress];
  ++count.by_type[type].rx_dropped;
  ++count.rx_drops[static_cast<std::size_t>(reason)][type];
  out.released.push_back(buffer);
}

}  // namespace cnuas::fabric_switch
