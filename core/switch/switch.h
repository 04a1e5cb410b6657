// The CnuasLink switch. Frames and time come in, actions come out; it has no clock, no sockets, no threads. A
// simulation feeds it from virtual time, a daemon from its sockets. docs/switch.md states its rules.
#pragma once

#include "core/engine/error.h"
#include "core/engine/time.h"
#include "core/switch/counters.h"
#include "core/switch/egress_queue.h"
#include "core/switch/fdb.h"
#include "core/switch/flow_control.h"
#include "core/switch/frame_ref.h"
#include "core/switch/group_table.h"
#include "core/switch/shared_buffers.h"

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace cnuas::fabric_switch {

enum class PortRole : std::uint8_t {
  gpu,           // one GPU endpoint
  inter_switch,  // another switch: a rack's uplink, or a spine's port to a rack
};

struct PortConfig {
  PortRole role = PortRole::gpu;
  // gpu: the only source this port may use, in the FDB while the link is up; kNoGpu: the first valid source
  // is it, until the link goes down. inter_switch: kNoGpu.
  GpuId expected;
  // Egress: while this or more is queued, whoever sends to the port is paused. Above 0.
  std::uint64_t queue_bytes = 256 * 1024;
};

struct SwitchConfig {
  std::string name;
  unsigned rack = 0;  // whose GPUs are here, and no others; 0: of any rack, or none at all (a spine)
  std::vector<PortConfig> ports;
  int uplink = -1;  // where frames for unknown GPUs of other racks leave; -1: nowhere, they are dropped
  // A queue that nothing left for so long is flushed, and its port counts as stalled; 0: never.
  Picoseconds stall_timeout_ps = 50 * kMillisecond;
  // A GPU that has sent frames and then none for so long leaves the FDB; 0: never.
  Picoseconds keepalive_timeout_ps = 0;
  // What a paused ingress may still bring: the bytes of its frames and 32 for each queue that one goes to;
  // exceeded by one frame at most. What is under way when a sender is told to stop must fit.
  std::uint64_t overrun_bytes = 4 * 1024 * 1024;
  std::size_t max_groups = 256;
  std::size_t max_group_members = 1024;
};

// What the driver has to do after a call, in order within each list. Calls append; the driver clears.
struct Actions {
  std::vector<PortIndex> ready;    // egress queues that have become non-empty: fetch with front() and pop()
  std::vector<PortIndex> paused;   // ingresses to stop reading; what was read already may still be delivered
  std::vector<PortIndex> resumed;  // ingresses to read again; each was in `paused` before
  std::vector<BufferId> released;  // buffers that no queue holds any more
  void clear();
};

class Switch {
 public:
  // All links are down and all ports wanted up. Errors, all invalid_argument: no ports or more than
  // kMaxPorts; a rack above 255; a queue of 0 bytes; a negative time; an uplink that is no inter_switch port;
  // `expected` on an inter_switch port, of another rack, no GPU's ID, or the same twice.
  static Result<Switch> create(SwitchConfig config);

  // In all of the following, ports are below ports() and `now` never runs backwards.

  // --- Frames -----------------------------------------------------------------------------------------

  // A message read from `port`, whatever its bytes. Takes the buffer, and gives it back through out.released:
  // at once if the frame is dropped or was for the switch itself.
  void receive(PortIndex port, std::span<const std::byte> message, BufferId buffer, Picoseconds now,
               Actions& out);
  // The same for a frame whose header is known. Precondition: its type is one of the seven.
  void receive(PortIndex port, const FrameRef& frame, Picoseconds now, Actions& out);

  // A message of `bytes` that is known to be no frame, perhaps without having been kept whole.
  void refuse(PortIndex port, wire::FrameError error, std::uint64_t bytes, BufferId buffer, Actions& out);

  // The frame to send next on `port`; nullptr when there is none. Valid until the next call. header.order is
  // the order its endpoint speaks, whatever the one in the buffer.
  const FrameRef* front(PortIndex port) const {
    const EgressQueue& queue = ports_[port].queue;
    return queue.empty() ? nullptr : &queue.front().frame;
  }
  // For drivers that send several frames at once: how many there are, and each of them, 0 being front().
  // Precondition of peek(): index < queued(port). Valid until the next call.
  std::size_t queued(PortIndex port) const { return ports_[port].queue.frames(); }
  const FrameRef& peek(PortIndex port, std::size_t index) const { return ports_[port].queue.at(index).frame; }
  // front() has been sent, or its sending has begun: it leaves the queue. Without a front(): as unstall().
  void pop(PortIndex port, Picoseconds now, Actions& out);
  // The reader of `port` moves although nothing was popped (its socket has become writable).
  void unstall(PortIndex port, Picoseconds now, Actions& out);

  // --- Time -------------------------------------------------------------------------------------------

  // When on_deadline() wants to be called next; kNever when nothing is pending. May be early, never late.
  Picoseconds next_deadline() const { return watched_ == 0 ? kNever : next_deadline_ps_; }
  void on_deadline(Picoseconds now, Actions& out);

  // --- Links ------------------------------------------------------------------------------------------

  // The peer has connected or gone. Going: the queue is dropped, the GPUs behind the port leave the FDB.
  void link_up(PortIndex port, Picoseconds now, Actions& out);
  void link_down(PortIndex port, Picoseconds now, Actions& out);
  // What the operator wants. A port carries frames when both say up.
  void set_admin_state(PortIndex port, bool up, Picoseconds now, Actions& out);
  bool carries(PortIndex port) const { return ports_[port].carrying; }

  // Takes new limits, times and expected GPUs while frames pass. A port that expects another GPU than before
  // is that one's from now on; what is queued for it stays. Errors: those of create(); invalid_argument for
  // another number of ports, another role of one, another rack or uplink. Nothing has changed then.
  Result<void> reconfigure(SwitchConfig config, Picoseconds now, Actions& out);

  // --- Tables and counters ----------------------------------------------------------------------------

  const Fdb& fdb() const { return fdb_; }
  GroupTable& groups() { return groups_; }
  const GroupTable& groups() const { return groups_; }

  const PortCounters& counters(PortIndex port) const { return counters_[port]; }
  // What is queued is carried over, so that the laws in counters.h hold on.
  void clear_counters();
  std::uint64_t queued_frames() const;
  ByType<std::uint64_t> queued_by_type(PortIndex port) const;
  // Buffers that are in several queues.
  std::size_t shared_buffers() const { return shared_.in_use(); }

  const SwitchConfig& config() const { return config_; }
  std::size_t ports() const { return ports_.size(); }
  struct PortStatus {
    bool admin_up;
    bool link_up;
    bool stalled;
    bool ingress_paused;
    GpuId gpu;              // bound or expected; kNoGpu
    wire::ByteOrder order;  // of the last frame received; big until then
    std::uint64_t queued_bytes;
    std::uint64_t queued_frames;
  };
  PortStatus status(PortIndex port) const;

 private:
  struct Port {
    PortRole role = PortRole::gpu;
    bool admin_up = true;
    bool link_up = false;
    bool carrying = false;
    bool stalled = false;             // then the queue is empty
    bool heard = false;               // gpu: in the FDB, and not only because it is configured
    bool announcements_lost = false;  // inter_switch: the peer must be told everything again
    wire::ByteOrder order = wire::ByteOrder::big;
    GpuId gpu;  // gpu: the only source it may use; kNoGpu until one is known
    Picoseconds heard_ps = 0;
    Picoseconds progress_ps = 0;  // when the queue became non-empty or something left it
    std::uint64_t limit_bytes = 0;
    EgressQueue queue;
  };

  explicit Switch(SwitchConfig config);

  // The way of a frame: receive() in switch.cpp.
  std::optional<DropReason> admit(PortIndex ingress, const wire::FrameHeader& header) const;
  std::optional<DropReason> admit_from_gpu(PortIndex ingress, GpuId source) const;
  std::optional<DropReason> admit_from_switch(const wire::FrameHeader& header) const;
  bool is_local(GpuId gpu) const;
  void learn(PortIndex ingress, const wire::FrameHeader& header, Picoseconds now, Actions& out);
  void hear(Port& port, const wire::FrameHeader& header, Picoseconds now);
  void forward(PortIndex ingress, const FrameRef& frame, Picoseconds now, Actions& out);
  void flood(PortIndex ingress, const FrameRef& frame, Picoseconds now, Actions& out);
  void count_forwarded(PortIndex ingress, const FrameRef& frame, std::size_t copies);
  void enqueue(PortIndex ingress, PortIndex egress, const FrameRef& frame, SharedBuffers::Slot shared,
               Picoseconds now, Actions& out);
  void drop_received(PortIndex ingress, std::size_t type, BufferId buffer, DropReason reason, Actions& out);

  // Queues: egress.cpp.
  void push(PortIndex egress, const FrameRef& frame, SharedBuffers::Slot shared, Picoseconds now,
            Actions& out);
  void flush(PortIndex egress, DropReason reason, Actions& out);
  void count_tx_drop(PortIndex egress, wire::FrameType type, DropReason reason);
  void moved(PortIndex egress, Picoseconds now, Actions& out);
  void watch(Picoseconds deadline_ps);
  void watch_all();
  Picoseconds stall_deadline(const Port& port) const;
  Picoseconds silence_deadline(const Port& port) const;

  // Links and announcements: links.cpp.
  void update_carrying(PortIndex port, DropReason reason, Picoseconds now, Actions& out);
  void start_carrying(PortIndex port, Picoseconds now, Actions& out);
  void stop_carrying(PortIndex port, DropReason reason, Actions& out);
  void forget_gpu(Port& port);
  void release_unexpected(PortIndex port);
  void expect(PortIndex port, Picoseconds now, Actions& out);
  void announce(GpuId gpu, PortIndex learned_at, Picoseconds now, Actions& out);
  void announce_all(PortIndex egress, Picoseconds now, Actions& out);
  void announce_to(PortIndex egress, GpuId gpu, Picoseconds now, Actions& out);

  SwitchConfig config_;
  std::vector<Port> ports_;
  std::vector<PortCounters> counters_;  // by port
  std::vector<PortIndex> carrying_;     // ascending
  Fdb fdb_;
  GroupTable groups_;
  FlowControl flow_;
  SharedBuffers shared_;

  // Non-empty queues and heard GPUs; none of their deadlines is before next_deadline_ps_.
  std::size_t watched_ = 0;
  Picoseconds next_deadline_ps_ = kNever;
};

}  // namespace cnuas::fabric_switch
