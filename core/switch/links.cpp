// Making a switch, its links going up and down, and what it tells other switches about GPUs.
#include "core/switch/switch.h"

#include <algorithm>
#include <utility>

namespace cnuas::fabric_switch {
namespace {

// More than the announcements of every GPU there can be: only churn behind a link that does not move gets
// here.
constexpr std::size_t kMaxOwnFrames = 65'536;

Result<void> check_port(const SwitchConfig& config, std::size_t index) {
  const PortConfig& port = config.ports[index];
  const auto refuse = [&](std::string message) {
    return fail(ErrorCode::invalid_argument, std::move(message),
                "switch '" + config.name + "', port " + std::to_string(index));
  };
  if (port.queue_bytes == 0) return refuse("an egress queue needs room for at least one byte");
  if (port.expected == kNoGpu) return {};
  const std::string gpu = "GPU " + to_string(port.expected);
  if (port.role != PortRole::gpu) return refuse(gpu + " is expected, but the port leads to another switch");
  if (!port.expected.usable()) return refuse("0xFFFF is expected, which means all GPUs");
  if (config.rack != 0 && port.expected.rack() != config.rack) {
    return refuse(gpu + " is expected, but the switch serves rack " + std::to_string(config.rack));
  }
  for (std::size_t other = 0; other < index; ++other) {
    if (config.ports[other].expected == port.expected) {
      return refuse(gpu + " is expected at port " + std::to_string(other) + " too");
    }
  }
  return {};
}

Result<void> check(const SwitchConfig& config) {
  const auto refuse = [&](std::string message) {
    return fail(ErrorCode::invalid_argument, std::move(message), "switch '" + config.name + "'");
  };
  const std::size_t ports = config.ports.size();
  if (ports == 0 || ports > kMaxPorts) {
    return refuse("a switch has 1 to " + std::to_string(kMaxPorts) + " ports, and " + std::to_string(ports) +
                  " are given");
  }
  if (config.rack > kMaxRack)
    return refuse("racks go from 0 to 255, and " + std::to_string(config.rack) + " is beyond");
  if (config.stall_timeout_ps < 0) return refuse("the stall timeout is negative");
  if (config.keepalive_timeout_ps < 0) return refuse("the keepalive timeout is negative");
  if (config.uplink < -1 || config.uplink >= static_cast<int>(ports)) {
    return refuse("the uplink is port " + std::to_string(config.uplink) + ", which does not exist");
  }
  if (config.uplink >= 0 &&
      config.ports[static_cast<std::size_t>(config.uplink)].role != PortRole::inter_switch) {
    return refuse("the uplink is port " + std::to_string(config.uplink) +
                  ", which does not lead to another switch");
  }
  for (std::size_t port = 0; port < ports; ++port) {
    if (Result<void> well = check_port(config, port); !well) return well;
  }
  return {};
}

}  // namespace

void Actions::clear() {
  ready.clear();
  paused.clear();
  resumed.clear();
  released.clear();
}

Result<Switch> Switch::create(SwitchConfig config) {
  if (Result<void> well = check(config); !well) return tl::unexpected<Error>(std::move(well.error()));
  return Switch(std::move(config));
}

Switch::Switch(SwitchConfig config)
    : config_(std::move(config)),
      ports_(config_.ports.size()),
      counters_(config_.ports.size()),
      groups_(config_.max_groups, config_.max_group_members),
      flow_(config_.ports.size()) {
  for (std::size_t i = 0; i < ports_.size(); ++i) {
    ports_[i].role = config_.ports[i].role;
    ports_[i].gpu = config_.ports[i].expected;
    ports_[i].limit_bytes = config_.ports[i].queue_bytes;
  }
  carrying_.reserve(ports_.size());
}

// --- Links ------------------------------------------------------------------------------------------------

void Switch::link_up(PortIndex port, Picoseconds now, Actions& out) {
  ports_[port].link_up = true;
  update_carrying(port, DropReason::link_down, now, out);
}

void Switch::link_down(PortIndex port, Picoseconds now, Actions& out) {
  ports_[port].link_up = false;
  update_carrying(port, DropReason::link_down, now, out);
}

void Switch::set_admin_state(PortIndex port, bool up, Picoseconds now, Actions& out) {
  ports_[port].admin_up = up;
  update_carrying(port, DropReason::admin_down, now, out);
}

void Switch::update_carrying(PortIndex index, DropReason reason, Picoseconds now, Actions& out) {
  const Port& port = ports_[index];
  const bool carry = port.admin_up && port.link_up;
  if (carry == port.carrying) return;
  if (carry) {
    start_carrying(index, now, out);
  } else {
    stop_carrying(index, reason, out);
  }
}

void Switch::start_carrying(PortIndex index, Picoseconds now, Actions& out) {
  Port& port = ports_[index];
  port.carrying = true;
  carrying_.insert(std::lower_bound(carrying_.begin(), carrying_.end(), index), index);
  if (port.role == PortRole::inter_switch) {
    announce_all(index, now, out);
  } else if (port.gpu != kNoGpu) {
    fdb_.set(port.gpu, index, FdbOrigin::configured);
    announce(port.gpu, index, now, out);
  }
}

void Switch::stop_carrying(PortIndex index, DropReason reason, Actions& out) {
  Port& port = ports_[index];
  port.carrying = false;
  carrying_.erase(std::lower_bound(carrying_.begin(), carrying_.end(), index));
  flush(index, reason, out);
  flow_.forget(index, out.resumed);
  if (port.role == PortRole::inter_switch) {
    fdb_.erase_port(index);
  } else {
    forget_gpu(port);
    port.gpu = config_.ports[index].expected;
  }
  port.stalled = false;
  port.announcements_lost = false;
  port.order = wire::ByteOrder::big;
}

// The FDB entry goes, the port stays bound: nobody else may use its ID while the link is up.
void Switch::forget_gpu(Port& port) {
  fdb_.erase(port.gpu);
  if (!port.heard) return;
  port.heard = false;
  if (config_.keepalive_timeout_ps != 0) --watched_;
}

// --- New settings -----------------------------------------------------------------------------------------

Result<void> Switch::reconfigure(SwitchConfig config, Picoseconds now, Actions& out) {
  if (Result<void> well = check(config); !well) return well;
  const auto refuse = [&](const std::string& what) {
    return fail(ErrorCode::invalid_argument, what + " of a running switch cannot change",
                "switch '" + config.name + "'");
  };
  if (config.ports.size() != ports_.size()) return refuse("the number of ports");
  if (config.rack != config_.rack) return refuse("the rack");
  if (config.uplink != config_.uplink) return refuse("the uplink");
  for (std::size_t i = 0; i < ports_.size(); ++i) {
    if (config.ports[i].role != ports_[i].role) return refuse("the role of port " + std::to_string(i));
  }
  config_ = std::move(config);
  groups_.set_bounds(config_.max_groups, config_.max_group_members);
  for (std::size_t i = 0; i < ports_.size(); ++i)
    ports_[i].limit_bytes = config_.ports[i].queue_bytes;
  // All that lose their GPU first, so that two ports may exchange theirs.
  for (std::size_t i = 0; i < ports_.size(); ++i)
    release_unexpected(static_cast<PortIndex>(i));
  for (std::size_t i = 0; i < ports_.size(); ++i)
    expect(static_cast<PortIndex>(i), now, out);
  watch_all();
  return {};
}

// Unbinds a port from a GPU that it may not have any longer: it expects another, or another port expects
// that one. Without an expectation, a GPU that has spoken stays.
void Switch::release_unexpected(PortIndex index) {
  Port& port = ports_[index];
  const GpuId expected = config_.ports[index].expected;
  if (port.gpu == kNoGpu || port.gpu == expected) return;
  const bool wanted_elsewhere =
      std::any_of(config_.ports.begin(), config_.ports.end(),
                  [&](const PortConfig& other) { return other.expected == port.gpu; });
  if (expected == kNoGpu && port.heard && !wanted_elsewhere) {
    if (fdb_.port_of(port.gpu) == index) fdb_.set(port.gpu, index, FdbOrigin::learned);
    return;
  }
  if (fdb_.port_of(port.gpu) == index) fdb_.erase(port.gpu);
  port.gpu = kNoGpu;
  port.heard = false;
}

void Switch::expect(PortIndex index, Picoseconds now, Actions& out) {
  Port& port = ports_[index];
  const GpuId expected = config_.ports[index].expected;
  if (expected == kNoGpu) return;
  const bool is_new = port.gpu != expected;
  port.gpu = expected;
  if (!port.carrying) return;
  if (is_new || fdb_.port_of(expected) == index) fdb_.set(expected, index, FdbOrigin::configured);
  if (is_new) announce(expected, index, now, out);
}

// --- Announcements ----------------------------------------------------------------------------------------

// Never back where it was learned: the switch there knows better.
void Switch::announce(GpuId gpu, PortIndex learned_at, Picoseconds now, Actions& out) {
  for (const PortIndex egress : carrying_) {
    if (egress != learned_at && ports_[egress].role == PortRole::inter_switch)
      announce_to(egress, gpu, now, out);
  }
}

void Switch::announce_all(PortIndex egress, Picoseconds now, Actions& out) {
  ports_[egress].announcements_lost = false;
  fdb_.for_each([&](const FdbEntry& entry) {
    if (entry.port != egress) announce_to(egress, entry.gpu, now, out);
  });
}

// Does not pause anybody: nobody could bring fewer announcements by waiting.
void Switch::announce_to(PortIndex egress, GpuId gpu, Picoseconds now, Actions& out) {
  Port& port = ports_[egress];
  TypeCounters& count = counters_[egress].by_type[slot(wire::FrameType::discovery)];
  ++count.own;
  ++count.offered;
  const bool full = port.queue.own_frames() >= kMaxOwnFrames;
  if (port.stalled || full) {
    port.announcements_lost = true;
    return count_tx_drop(egress, wire::FrameType::discovery,
                         full ? DropReason::announcements : DropReason::stalled);
  }
  const FrameRef frame{{wire::FrameType::discovery, port.order, gpu, kBroadcast, 0}, kOwnFrame};
  push(egress, frame, SharedBuffers::kSole, now, out);
}

// --- What there is to see ---------------------------------------------------------------------------------

void Switch::clear_counters() {
  for (std::size_t i = 0; i < ports_.size(); ++i) {
    counters_[i] = PortCounters{};
    const ByType<std::uint64_t> queued = queued_by_type(static_cast<PortIndex>(i));
    for (std::size_t type = 0; type < kTypeSlots; ++type)
      counters_[i].by_type[type].carried_over = queued[type];
  }
}

std::uint64_t Switch::queued_frames() const {
  std::uint64_t frames = 0;
  for (const Port& port : ports_)
    frames += port.queue.frames();
  return frames;
}

ByType<std::uint64_t> Switch::queued_by_type(PortIndex port) const {
  ByType<std::uint64_t> frames{};
  ports_[port].queue.for_each([&](const QueuedFrame& queued) { ++frames[slot(queued.frame.header.type)]; });
  return frames;
}

Switch::PortStatus Switch::status(PortIndex index) const {
  const Port& port = ports_[index];
  return {.admin_up = port.admin_up,
          .link_up = port.link_up,
          .stalled = port.stalled,
          .ingress_paused = flow_.paused(index),
          .gpu = port.gpu,
          .order = port.order,
          .queued_bytes = port.queue.bytes(),
          .queued_frames = port.queue.frames()};
}

}  // namespace cnuas::fabric_switch
