// Frame fidelity: messages are cut into frames, and every frame passes the real switch objects over timed
// links.
#pragma once

#include "core/endpoint/endpoint.h"
#include "core/engine/random.h"
#include "core/link/bit_errors.h"
#include "core/link/serialiser.h"
#include "core/switch/switch.h"
#include "core/workload/workload.h"
#include "sim/run/fabric_context.h"
#include "sim/run/message.h"
#include "sim/run/outcome.h"
#include "sim/run/timeline.h"

#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>
#include <span>
#include <utility>
#include <vector>

namespace cnuas::sim {

// What precedes a message's bytes in every frame that carries some: the frame header and the collective's
// envelope.
inline constexpr std::uint64_t kEnvelopeBytes = 40;
inline constexpr std::uint64_t kFrameOverhead = wire::kHeaderBytes + kEnvelopeBytes;

// Bytes of a message in a full frame.
std::uint64_t chunk_bytes(const Fabric& fabric);

// Who is told what becomes of injected frames.
class FrameSink {
 public:
  // A GPU has got a frame: its header as the last switch sent it, and the payload that was injected.
  virtual void delivered(GpuIndex to, const wire::FrameHeader& header,
                         std::span<const std::byte> payload) = 0;

 protected:
  ~FrameSink() = default;
};

// A frame takes its time on a link, then the link's latency, then the switch's, and leaves by the egress
// queue that the switch puts it in (store and forward; cut-through: once its header is in). A link that a
// switch has paused, or whose receiver has no room, waits. Fabric::frame_bytes is the largest frame; longer
// messages are several.
class FrameMover {
 public:
  FrameMover(const FabricContext& context, Timeline& timeline, MessageSink& sink);

  // Brings all links up; every GPU announces itself. Returns when the last announcement has arrived. Faults
  // are counted from then on.
  Picoseconds open(Picoseconds now);
  void start(const Message& message);
  void settle();
  void handle(const Event& event);
  bool wants_launch() const { return false; }
  void launch() {}
  void simgrid_done(Kernel::Token) {}
  // A background flow leaves frames what it does not take of each of its links: its rate, or half of what
  // there is.
  void background(std::size_t index, bool on);
  // Errors: mismatch when a frame was neither delivered nor counted as dropped.
  Result<void> close(Outcome& outcome);

  const std::vector<fabric_switch::Switch>& switches() const { return switches_; }
  std::vector<fabric_switch::Switch> take_switches() { return std::move(switches_); }

  // --- Frames byte by byte, and what an operator does: frame_injection.cpp. Instead of open() and start(),
  // at the time of the timeline; everything takes effect in settle().
  using PortIndex = fabric_switch::PortIndex;
  // Brings the links between switches up; those of GPUs stay down.
  void open_switches(FrameSink& sink);
  // A GPU's link comes up or goes down; one that comes up is announced by a frame if `announce`.
  void connect(GpuIndex gpu, bool announce);
  void disconnect(GpuIndex gpu);
  // The GPU sends these bytes as one message, whatever they are, after what it was given before. Fewer than a
  // header take a header's time on the wire.
  void inject(GpuIndex from, std::span<const std::byte> message);
  // The GPU takes so many frames more, and then none; nullopt: all there are.
  void limit_reader(GpuIndex gpu, std::optional<std::uint32_t> frames);
  void set_admin_state(SwitchIndex target, PortIndex port, bool up);
  // Precondition: nothing is on a wire.
  void clear_counters(SwitchIndex target);
  fabric_switch::GroupTable& groups(SwitchIndex target) { return switches_[target].groups(); }
  // What a port leads to: the GPU, or nullopt when that is another switch.
  std::optional<GpuIndex> gpu_at(SwitchIndex target, PortIndex port) const;
  // Of frames as they are counted.
  Result<void> check_conservation() const;

 private:
  enum Kind : std::uint8_t {
    link_free = kFirstMoverKind,  // a: link
    at_switch,                    // a: link, b: frame, c: epoch of the link, x: byte order of the header
    at_gpu,                       // likewise
    deadline,                     // a: switch
    consumed,                     // a: link: its receiver has dealt with a frame
    credited,                     // a: link, b: bytes that are acknowledged, c: epoch of the link
    fault_begins,                 // a: fault
    fault_ends,
  };
  static constexpr std::uint32_t kNone = ~0u;
  static constexpr std::uint32_t kInjected = kNone - 1;

  // A switch's port, or a GPU.
  struct End {
    bool is_switch = false;
    std::uint32_t index = 0;
    PortIndex port = 0;
  };
  struct Link {
    explicit Link(const LinkProfile& profile)
        : serialiser(profile),
          whole_bytes_per_s(profile.bandwidth_bytes_per_s),
          latency_ps(profile.latency_ps) {}

    Serialiser serialiser;
    std::uint64_t whole_bytes_per_s;  // without faults and background flows
    Picoseconds latency_ps;
    End from;
    End to;
    Picoseconds busy_until_ps = 0;
    bool wake_pending = false;  // a link_free event is on its way
    bool paused = false;        // the receiving switch has asked to stop
    bool up = true;
    wire::ByteOrder order = wire::ByteOrder::big;  // of the header, if the frame sent is not of a message
    std::uint32_t epoch = 0;  // goes up with every link down: what was on the wire then is lost
    Picoseconds consume_ps =
        0;  // the receiver's time for a frame, where its room is limited; kNever: for ever
    std::uint32_t sending = kNone;     // message of which the last frame is being sent
    std::uint64_t unacknowledged = 0;  // bytes, where the link has credits
    std::uint64_t frames = 0;          // put on the wire
    std::uint64_t arrived = 0;
    std::uint64_t lost = 0;
    std::uint64_t frames_cleared = 0;  // of `frames` and `arrived`, what the ends no longer count
    std::uint64_t arrived_cleared = 0;
    std::uint64_t bytes = 0;
    std::uint64_t bytes_before = 0;  // of the announcements
    std::uint64_t frames_before = 0;
    double lanes_left = 1.0;
    std::uint64_t background_bytes_per_s = 0;
    std::uint32_t elastic_flows = 0;  // background flows that take what they get
    std::optional<BitErrors> errors;
  };
  struct Frame {
    fabric_switch::FrameRef ref;
    std::uint32_t message = kNone;  // none: an announcement
    std::uint32_t holders = 0;      // links it is on and switches that hold it
    std::uint64_t chunk = 0;        // bytes of the message; injected: its number
    Picoseconds tail_ps = 0;        // cut-through: its last bit cannot leave the switch before
  };
  struct Injected {
    std::vector<std::byte> bytes;
    bool is_frame = false;
  };
  void build_links();
  void build_switches();
  fabric_switch::PortConfig port_config(const Switch& owner, const Link& egress) const;

  std::uint32_t new_frame();
  void let_go(std::uint32_t frame);
  void lose(LinkIndex link, std::uint32_t frame);

  void serve_all();
  void serve(LinkIndex link);
  void wake_when_free(LinkIndex link);
  std::uint32_t next_from_gpu(LinkIndex link);
  std::uint32_t next_injected(LinkIndex link);
  void deliver_injected(const Event& event, const Frame& frame);
  std::uint32_t next_from_switch(LinkIndex link);
  bool may_send(const Link& link) const;
  void reader_moves(LinkIndex link);
  void put_on_wire(LinkIndex link, std::uint32_t frame);
  void link_is_free(LinkIndex link);
  void frame_at_switch(const Event& event);
  void frame_at_gpu(const Event& event);
  void rare_at_switch(const Event& event);

  // Does what the switch has asked for in actions_; links that may send now are left in to_serve_.
  void absorb(std::uint32_t switch_index);
  void watch(std::uint32_t switch_index);

  // --- faults (frame_faults.cpp) ---
  void change(const Fault& fault, bool begins);
  void limit_receiver(GpuId id, bool limited, Picoseconds hold_ps);
  void set_link(LinkIndex forward, bool up, bool announce = true);
  void set_rate(LinkIndex link);
  LinkIndex first_link(const LinkTarget& target) const;

  const FabricContext& context_;
  Timeline& timeline_;
  MessageSink& sink_;
  Random random_;
  std::vector<Link> links_;
  std::vector<fabric_switch::Switch> switches_;
  std::vector<std::vector<LinkIndex>> egress_;  // by switch and port
  std::vector<std::vector<LinkIndex>> ingress_;
  std::vector<Picoseconds> watched_ps_;  // by switch: when its deadline event comes
  std::vector<Frame> frames_;
  std::vector<std::uint32_t> free_frames_;
  std::vector<Message> messages_;  // by tag
  std::vector<std::uint32_t> free_messages_;
  std::vector<Endpoint> endpoints_;  // by GPU
  FrameSink* frame_sink_ = nullptr;
  std::vector<Injected> injected_;  // by number
  std::vector<std::uint32_t> free_injected_;
  std::vector<std::deque<std::uint32_t>> to_inject_;  // by GPU; empty without injection
  std::vector<LinkIndex> to_serve_;
  fabric_switch::Actions actions_;
  std::vector<std::uint64_t> wire_bytes_;  // by job
};

}  // namespace cnuas::sim
