#include "sim/frame/frame_mover.h"

#include <algorithm>
#include <cassert>
#include <limits>
#include <string>

namespace cnuas::sim {

namespace {

// The header counts payload in 32 bits; longer messages are several frames even when one was asked for.
constexpr std::uint64_t kLongestFrame = std::uint64_t{1} << 31;

wire::FrameType frame_type(TrafficKind kind) {
  switch (kind) {
    case TrafficKind::doorbell:
      return wire::FrameType::doorbell;
    case TrafficKind::atomic:
      return wire::FrameType::atomic;
    case TrafficKind::data:
      break;
  }
  return wire::FrameType::data;
}

}  // namespace

std::uint64_t chunk_bytes(const Fabric& fabric) {
  return (fabric.frame_bytes == 0 ? kLongestFrame : fabric.frame_bytes) - kFrameOverhead;
}

FrameMover::FrameMover(const FabricContext& context, Timeline& timeline, MessageSink& sink)
    : context_(context), timeline_(timeline), sink_(sink), random_(context.seed) {
  for (const Gpu& gpu : context.fabric.gpus)
    endpoints_.emplace_back(EndpointConfig{gpu.id, chunk_bytes(context.fabric) + kFrameOverhead});
  build_links();
  build_switches();
}

void FrameMover::build_links() {
  const Fabric& fabric = context_.fabric;
  egress_.resize(fabric.switches.size());
  ingress_.resize(fabric.switches.size());
  links_.reserve(link_count(fabric));
  const auto add_port = [this](std::uint32_t index, LinkIndex out, LinkIndex in) {
    egress_[index].push_back(out);
    ingress_[index].push_back(in);
    return End{true, index, static_cast<PortIndex>(egress_[index].size() - 1)};
  };
  const auto add_link = [this](const LinkProfile& profile, End from, End to) {
    links_.emplace_back(profile);
    links_.back().from = from;
    links_.back().to = to;
  };
  for (GpuIndex gpu = 0; gpu < fabric.gpus.size(); ++gpu) {
    const End port = add_port(fabric.gpus[gpu].attached, gpu_downlink(gpu), gpu_uplink(gpu));
    add_link(fabric.gpus[gpu].link, End{false, gpu, 0}, port);
    add_link(fabric.gpus[gpu].link, port, End{false, gpu, 0});
  }
  for (CableIndex index = 0; index < fabric.cables.size(); ++index) {
    const Cable& cable = fabric.cables[index];
    const LinkIndex forward = cable_link(fabric, index, true);
    const End a = add_port(cable.a, forward, forward + 1);
    const End b = add_port(cable.b, forward + 1, forward);
    add_link(cable.link, a, b);
    add_link(cable.link, b, a);
  }
}

// The scenario's buffer is what is left for queueing: what is on its way to a port when that asks to stop
// comes on top, or a lossless link could never be kept full.
fabric_switch::PortConfig FrameMover::port_config(const Switch& owner, const Link& egress) const {
  const LinkProfile& profile = egress.serialiser.profile();
  const double round_trip_s =
      static_cast<double>(2 * profile.latency_ps + owner.latency_ps) / static_cast<double>(kSecond);
  const auto on_the_way =
      static_cast<std::uint64_t>(static_cast<double>(profile.bandwidth_bytes_per_s) * round_trip_s);
  fabric_switch::PortConfig port;
  port.queue_bytes = std::max<std::uint64_t>(1, owner.port_buffer_bytes + on_the_way);
  port.role = egress.to.is_switch ? fabric_switch::PortRole::inter_switch : fabric_switch::PortRole::gpu;
  if (!egress.to.is_switch) port.expected = context_.fabric.gpus[egress.to.index].id;
  return port;
}

// Ports of a switch: its GPUs in slot order, then its cables in the order of the fabric.
void FrameMover::build_switches() {
  const Fabric& fabric = context_.fabric;
  for (std::uint32_t index = 0; index < fabric.switches.size() && !timeline_.error; ++index) {
    fabric_switch::SwitchConfig config;
    config.name = fabric.switches[index].name;
    config.stall_timeout_ps = fabric.switches[index].stall_timeout_ps;
    bool one_rack = true;
    for (const LinkIndex link : egress_[index]) {
      const fabric_switch::PortConfig port = port_config(fabric.switches[index], links_[link]);
      // What was on a wire when its switch asked to stop still has to fit, whole bursts included.
      config.overrun_bytes =
          fabric.frame_bytes == 0
              ? std::numeric_limits<std::uint64_t>::max() / 4
              : std::max(config.overrun_bytes, 2 * port.queue_bytes + 4 * fabric.frame_bytes);
      if (port.role == fabric_switch::PortRole::inter_switch) {
        if (config.uplink < 0) config.uplink = static_cast<int>(config.ports.size());
      } else {
        one_rack = one_rack && (config.rack == 0 || config.rack == port.expected.rack());
        config.rack = port.expected.rack();
      }
      config.ports.push_back(port);
    }
    // A switch that serves no rack, or several, has nowhere to send what it does not know.
    if (!one_rack) config.rack = 0;
    if (config.rack == 0) config.uplink = -1;
    Result<fabric_switch::Switch> made = fabric_switch::Switch::create(std::move(config));
    if (made) {
      switches_.push_back(std::move(*made));
    } else {
      timeline_.error = made.error();
    }
  }
  watched_ps_.assign(switches_.size(), kNever);
}

// --- setting up and closing ---

Picoseconds FrameMover::open(Picoseconds now) {
  if (timeline_.error) return now;
  timeline_.now_ps = now;
  for (std::uint32_t index = 0; index < switches_.size(); ++index) {
    for (PortIndex port = 0; port < egress_[index].size(); ++port)
      switches_[index].link_up(port, now, actions_);
    absorb(index);
  }
  for (GpuIndex gpu = 0; gpu < endpoints_.size(); ++gpu) {
    endpoints_[gpu].link_up(now);
    to_serve_.push_back(gpu_uplink(gpu));
  }
  serve_all();
  while (!timeline_.queue.empty()) {
    const auto event = timeline_.queue.pop();
    timeline_.now_ps = event.time_ps;
    handle(event.payload);
  }
  for (Link& link : links_) {
    link.bytes_before = link.bytes;
    link.frames_before = link.frames;
  }
  const std::vector<Fault>& faults = context_.workload.faults;
  const Picoseconds begin = timeline_.now_ps;
  for (std::uint32_t i = 0; i < faults.size(); ++i) {
    timeline_.push(begin + faults[i].at_ps, kLeaving, Event{i, 0, 0, fault_begins, 0, 0});
    if (faults[i].duration_ps) {
      timeline_.push(begin + faults[i].at_ps + *faults[i].duration_ps, kLeaving,
                     Event{i, 0, 0, fault_ends, 0, 0});
    }
  }
  return begin;
}

Result<void> FrameMover::close(Outcome& outcome) {
  for (LinkIndex link = 0; link < links_.size(); ++link) {
    outcome.link_bytes[link] = links_[link].bytes - links_[link].bytes_before;
    outcome.frames += links_[link].frames - links_[link].frames_before;
  }
  for (std::size_t job = 0; job < wire_bytes_.size(); ++job)
    outcome.phases[job].wire_bytes = wire_bytes_[job];
  return check_conservation();
}

// --- frames ---

std::uint32_t FrameMover::new_frame() {
  std::uint32_t index = 0;
  if (free_frames_.empty()) {
    index = static_cast<std::uint32_t>(frames_.size());
    frames_.emplace_back();
  } else {
    index = free_frames_.back();
    free_frames_.pop_back();
    frames_[index] = Frame{};
  }
  frames_[index].ref.buffer = index;
  return index;
}

void FrameMover::let_go(std::uint32_t frame) {
  if (--frames_[frame].holders > 0) return;
  if (frames_[frame].message == kInjected)
    free_injected_.push_back(static_cast<std::uint32_t>(frames_[frame].chunk));
  free_frames_.push_back(frame);
}

// --- messages ---

void FrameMover::start(const Message& message) {
  std::uint32_t index = 0;
  if (free_messages_.empty()) {
    index = static_cast<std::uint32_t>(messages_.size());
    messages_.emplace_back();
  } else {
    index = free_messages_.back();
    free_messages_.pop_back();
  }
  messages_[index] = message;
  endpoints_[message.from_gpu].send({index, context_.fabric.gpus[message.to_gpu].id, frame_type(message.kind),
                                     message.bytes, message.enveloped ? kEnvelopeBytes : 0});
  to_serve_.push_back(gpu_uplink(message.from_gpu));
}

void FrameMover::settle() {
  serve_all();
}

std::uint32_t FrameMover::next_from_gpu(LinkIndex link) {
  Endpoint& endpoint = endpoints_[links_[link].from.index];
  if (!endpoint.has_frame()) return next_injected(link);
  const Endpoint::OutFrame out = endpoint.next(timeline_.now_ps);
  const std::uint32_t index = new_frame();
  Frame& frame = frames_[index];
  frame.ref.header = out.header;
  frame.holders = 1;
  if (!out.of_message) {
    links_[link].order = out.header.order;
    return index;
  }
  frame.message = out.tag;
  frame.chunk = out.chunk_bytes;
  if (out.last) links_[link].sending = out.tag;
  const std::uint32_t job = messages_[out.tag].job;
  if (job >= wire_bytes_.size()) wire_bytes_.resize(job + 1, 0);
  wire_bytes_[job] += links_[link].serialiser.wire_bytes(frame.ref.bytes());
  return index;
}

std::uint32_t FrameMover::next_from_switch(LinkIndex link) {
  const End& from = links_[link].from;
  fabric_switch::Switch& sender = switches_[from.index];
  const fabric_switch::FrameRef* front = sender.front(from.port);
  if (front == nullptr) return kNone;
  std::uint32_t frame = front->buffer;
  if (frame == fabric_switch::kOwnFrame) {
    const wire::FrameHeader header = front->header;
    frame = new_frame();
    frames_[frame].ref.header = header;
    links_[link].order = header.order;
  } else if (frames_[frame].message == kInjected) [[unlikely]] {
    links_[link].order = front->header.order;
  }
  ++frames_[frame].holders;
  sender.pop(from.port, timeline_.now_ps, actions_);
  return frame;
}

// --- links ---

void FrameMover::serve_all() {
  // Serving one link may free another; in order of their coming.
  for (std::size_t i = 0; i < to_serve_.size(); ++i)
    serve(to_serve_[i]);
  to_serve_.clear();
}

bool FrameMover::may_send(const Link& link) const {
  const std::uint64_t credit = link.serialiser.profile().credit_bytes;
  if (credit > 0 && link.unacknowledged >= credit) return false;
  return link.up && !link.paused && (link.to.is_switch || endpoints_[link.to.index].has_room());
}

// Sends the next frame if the link is free to; otherwise sees to it that it is tried again when it is.
void FrameMover::serve(LinkIndex index) {
  Link& link = links_[index];
  if (link.wake_pending || !may_send(link)) return;
  if (timeline_.now_ps < link.busy_until_ps) return wake_when_free(index);
  const std::uint32_t frame = link.from.is_switch ? next_from_switch(index) : next_from_gpu(index);
  if (frame == kNone) return reader_moves(index);
  put_on_wire(index, frame);
  if (!link.from.is_switch) {
    wake_when_free(index);  // the sender learns when its message has left, and goes on with the next
    return;
  }
  if (switches_[link.from.index].front(link.from.port) != nullptr) wake_when_free(index);
  absorb(link.from.index);
}

// A switch that has given up on a reader learns that it moves again; it has nothing to send that would tell.
void FrameMover::reader_moves(LinkIndex index) {
  const End& from = links_[index].from;
  if (!from.is_switch || !switches_[from.index].status(from.port).stalled) return;
  switches_[from.index].unstall(from.port, timeline_.now_ps, actions_);
  absorb(from.index);
}

void FrameMover::wake_when_free(LinkIndex index) {
  links_[index].wake_pending = true;
  timeline_.push(links_[index].busy_until_ps, kLeaving, Event{index, 0, 0, link_free, 0, 0});
}

void FrameMover::put_on_wire(LinkIndex index, std::uint32_t number) {
  Link& link = links_[index];
  Frame& frame = frames_[number];
  const auto order = static_cast<std::uint8_t>(link.order);
  const std::uint32_t bytes = frame.ref.bytes();
  Picoseconds time = link.serialiser.time_ps(bytes);
  if (link.errors) {
    const BitErrors::Replays replays = link.errors->hit(bytes, link.serialiser);
    time += replays.time_ps;
  }
  const Picoseconds begin = timeline_.now_ps;
  // Cut-through: the last bit cannot leave before it has come.
  link.busy_until_ps = std::max(begin + time, frame.tail_ps);
  ++link.frames;
  link.bytes += bytes;
  if (link.serialiser.profile().credit_bytes > 0) {
    link.unacknowledged += bytes;
    timeline_.push(link.busy_until_ps + 2 * link.latency_ps, kArriving,
                   Event{index, static_cast<std::uint32_t>(bytes), link.epoch, credited, 0, 0});
  }
  if (!link.to.is_switch) {
    endpoints_[link.to.index].reserve_room();
    timeline_.push(link.busy_until_ps + link.latency_ps, kArriving,
                   Event{index, number, link.epoch, at_gpu, order, 0});
    return;
  }
  const Switch& target = context_.fabric.switches[link.to.index];
  const Picoseconds last_bit = link.busy_until_ps + link.latency_ps + target.latency_ps;
  Picoseconds forward = last_bit;
  if (target.cut_through) {
    const Picoseconds header = link.serialiser.time_ps(wire::kHeaderBytes);
    forward = std::min(last_bit, begin + header + link.latency_ps + target.latency_ps);
    frame.tail_ps = last_bit;
  }
  timeline_.push(forward, kArriving, Event{index, number, link.epoch, at_switch, order, 0});
}

void FrameMover::link_is_free(LinkIndex index) {
  Link& link = links_[index];
  link.wake_pending = false;
  if (link.sending != kNone) {
    const Message message = messages_[link.sending];  // a copy: more messages may be started
    link.sending = kNone;
    sink_.sent(message);
  }
  to_serve_.push_back(index);
}

void FrameMover::frame_at_switch(const Event& event) {
  Link& link = links_[event.a];
  ++link.arrived;
  const Frame& frame = frames_[event.b];
  if (frame.message >= kInjected) [[unlikely]]
    return rare_at_switch(event);
  switches_[link.to.index].receive(link.to.port, frame.ref, timeline_.now_ps, actions_);
  absorb(link.to.index);
}

void FrameMover::frame_at_gpu(const Event& event) {
  const LinkIndex index = event.a;
  Link& link = links_[index];
  ++link.arrived;
  const Frame frame = frames_[event.b];
  if (frame.message == kInjected) deliver_injected(event, frame);
  let_go(event.b);
  Endpoint& endpoint = endpoints_[link.to.index];
  if (endpoint.room_is_limited() && link.consume_ps != kNever) {
    timeline_.push(timeline_.now_ps + link.consume_ps, kArriving, Event{index, 0, 0, consumed, 0, 0});
  }
  if (frame.message >= kInjected) return;
  const Message message = messages_[frame.message];
  if (!endpoint.receive(frame.ref.header.source, frame.message, frame.chunk, message.bytes)) return;
  free_messages_.push_back(frame.message);
  sink_.arrived(message.job, message.from, message.to, message.channel);
}

// --- switches ---

void FrameMover::absorb(std::uint32_t index) {
  for (const fabric_switch::BufferId buffer : actions_.released) {
    if (buffer != fabric_switch::kOwnFrame) let_go(buffer);
  }
  for (const PortIndex port : actions_.paused)
    links_[ingress_[index][port]].paused = true;
  for (const PortIndex port : actions_.resumed) {
    links_[ingress_[index][port]].paused = false;
    to_serve_.push_back(ingress_[index][port]);
  }
  for (const PortIndex port : actions_.ready)
    to_serve_.push_back(egress_[index][port]);
  actions_.clear();
  watch(index);
}

void FrameMover::watch(std::uint32_t index) {
  const Picoseconds next = switches_[index].next_deadline();
  if (next >= watched_ps_[index]) return;
  watched_ps_[index] = next;
  timeline_.push(std::max(next, timeline_.now_ps), kLast, Event{index, 0, 0, deadline, 0, 0});
}

void FrameMover::handle(const Event& event) {
  switch (event.kind) {
    case link_free:
      link_is_free(event.a);
      break;
    case at_switch:
      event.c == links_[event.a].epoch ? frame_at_switch(event) : lose(event.a, event.b);
      break;
    case at_gpu:
      event.c == links_[event.a].epoch ? frame_at_gpu(event) : lose(event.a, event.b);
      break;
    case consumed:
      endpoints_[links_[event.a].to.index].release_room();
      to_serve_.push_back(event.a);
      break;
    case credited:
      if (event.c == links_[event.a].epoch) links_[event.a].unacknowledged -= event.b;
      to_serve_.push_back(event.a);
      break;
    case deadline:
      watched_ps_[event.a] = kNever;
      switches_[event.a].on_deadline(timeline_.now_ps, actions_);
      absorb(event.a);
      break;
    case fault_begins:
    case fault_ends:
      change(context_.workload.faults[event.a], event.kind == fault_begins);
      break;
    default:
      break;
  }
  serve_all();
}

void FrameMover::lose(LinkIndex link, std::uint32_t frame) {
  ++links_[link].lost;
  if (!links_[link].to.is_switch) endpoints_[links_[link].to.index].release_room();
  let_go(frame);
}

}  // namespace cnuas::sim
