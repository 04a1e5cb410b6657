// The way of a frame out of the switch, and the watch over those that do not get out.
#include "core/switch/switch.h"

#include <algorithm>

namespace cnuas::fabric_switch {

void Switch::push(PortIndex egress, const FrameRef& frame, SharedBuffers::Slot shared, Picoseconds now,
                  Actions& out) {
  Port& port = ports_[egress];
  const bool was_empty = port.queue.empty();
  port.queue.push(frame, port.order, shared, now);
  if (!was_empty) return;
  port.progress_ps = now;
  watch(stall_deadline(port));
  out.ready.push_back(egress);
}

void Switch::pop(PortIndex egress, Picoseconds now, Actions& out) {
  Port& port = ports_[egress];
  if (port.queue.empty()) return unstall(egress, now, out);
  const QueuedFrame& queued = port.queue.front();
  PortCounters& count = counters_[egress];
  TypeCounters& of_type = count.by_type[slot(queued.frame.header.type)];
  ++of_type.tx_frames;
  of_type.tx_bytes += queued.frame.bytes();
  if (queued.frame.buffer != kOwnFrame) {
    count.latency.record(now - queued.received_ps);
    if (shared_.let_go(queued.shared)) out.released.push_back(queued.frame.buffer);
  }
  port.queue.pop();
  if (port.queue.empty()) --watched_;
  if (flow_.awaited(egress) && port.queue.bytes() < port.limit_bytes - port.limit_bytes / 2) {
    flow_.resume(egress, out.resumed);
  }
  moved(egress, now, out);
}

void Switch::unstall(PortIndex egress, Picoseconds now, Actions& out) {
  ports_[egress].stalled = false;
  moved(egress, now, out);
}

void Switch::moved(PortIndex egress, Picoseconds now, Actions& out) {
  Port& port = ports_[egress];
  port.progress_ps = now;
  if (port.announcements_lost && port.queue.own_frames() == 0) [[unlikely]]
    announce_all(egress, now, out);
}

void Switch::flush(PortIndex egress, DropReason reason, Actions& out) {
  Port& port = ports_[egress];
  if (!port.queue.empty()) --watched_;
  if (port.queue.own_frames() > 0) port.announcements_lost = true;
  while (!port.queue.empty()) {
    const QueuedFrame& queued = port.queue.front();
    count_tx_drop(egress, queued.frame.header.type, reason);
    if (queued.frame.buffer != kOwnFrame && shared_.let_go(queued.shared))
      out.released.push_back(queued.frame.buffer);
    port.queue.pop();
  }
  flow_.resume(egress, out.resumed);
}

void Switch::count_tx_drop(PortIndex egress, wire::FrameType type, DropReason reason) {
  PortCounters& count = counters_[egress];
  ++count.by_type[slot(type)].tx_dropped;
  ++count.tx_drops[static_cast<std::size_t>(reason)][slot(type)];
}

// --- Deadlines --------------------------------------------------------------------------------------------

namespace {

// 0 stands for never.
Picoseconds after(Picoseconds start, Picoseconds timeout) {
  return timeout == 0 || start > kNever - timeout ? kNever : start + timeout;
}

}  // namespace

Picoseconds Switch::stall_deadline(const Port& port) const {
  return after(port.progress_ps, config_.stall_timeout_ps);
}

Picoseconds Switch::silence_deadline(const Port& port) const {
  return after(port.heard_ps, config_.keepalive_timeout_ps);
}

// Progress only ever puts a deadline off, so the earliest one is not looked for until it has come.
void Switch::watch(Picoseconds deadline_ps) {
  next_deadline_ps_ = watched_ == 0 ? deadline_ps : std::min(next_deadline_ps_, deadline_ps);
  ++watched_;
}

void Switch::watch_all() {
  watched_ = 0;
  for (const Port& port : ports_) {
    if (!port.queue.empty()) watch(stall_deadline(port));
    if (port.heard && config_.keepalive_timeout_ps != 0) watch(silence_deadline(port));
  }
}

void Switch::on_deadline(Picoseconds now, Actions& out) {
  if (now < next_deadline()) return;
  Picoseconds next = kNever;
  for (std::size_t i = 0; i < ports_.size(); ++i) {
    Port& port = ports_[i];
    if (!port.queue.empty()) {
      if (stall_deadline(port) <= now) {
        flush(static_cast<PortIndex>(i), DropReason::stalled, out);
        port.stalled = true;
      } else {
        next = std::min(next, stall_deadline(port));
      }
    }
    if (port.heard) {
      if (silence_deadline(port) <= now) {
        forget_gpu(port);
      } else {
        next = std::min(next, silence_deadline(port));
      }
    }
  }
  next_deadline_ps_ = next;
}

}  // namespace cnuas::fabric_switch
