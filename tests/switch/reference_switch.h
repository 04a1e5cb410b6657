// The rules of the switch once more, as plainly as they can be written and without a thought for speed: what
// the real one is compared with, call by call.
#pragma once

#include "core/switch/switch.h"

#include <array>
#include <deque>
#include <map>
#include <optional>
#include <set>
#include <utility>
#include <vector>

namespace cnuas::fabric_switch {

class ReferenceSwitch {
 public:
  explicit ReferenceSwitch(SwitchConfig config);

  // `header` or the error that decoding gave.
  void receive(PortIndex port, const tl::expected<wire::FrameHeader, wire::FrameError>& header,
               BufferId buffer, Picoseconds now);
  void pop(PortIndex port, Picoseconds now);
  void unstall(PortIndex port, Picoseconds now);
  void on_deadline(Picoseconds now);
  void link(PortIndex port, bool up, Picoseconds now);
  void admin(PortIndex port, bool up, Picoseconds now);

  // The earliest moment at which on_deadline() would do something.
  Picoseconds deadline() const;

  struct Frame {
    wire::FrameHeader header;
    BufferId buffer = 0;
  };
  struct Port {
    bool admin_up = true;
    bool link_up = false;
    bool stalled = false;
    bool lost = false;  // an announcement, so all must be repeated
    wire::ByteOrder order = wire::ByteOrder::big;
    GpuId gpu;
    std::optional<Picoseconds> heard;
    Picoseconds progress = 0;
    std::uint64_t overrun = 0;
    std::deque<Frame> queue;
  };
  const Port& port(PortIndex index) const { return ports_[index]; }
  bool paused(PortIndex ingress) const;
  std::uint64_t queued_bytes(PortIndex egress) const;
  const std::map<GpuId, PortIndex>& fdb() const { return fdb_; }

  // What has been dropped since the counters were cleared.
  struct Drops {
    std::array<ByType<std::uint64_t>, kDropReasons> rx{};
    std::array<ByType<std::uint64_t>, kDropReasons> tx{};
  };
  const Drops& drops(PortIndex port) const { return drops_[port]; }
  void clear_counters() { drops_.assign(ports_.size(), {}); }

  Actions actions;  // of all calls since the caller last cleared it

 private:
  bool carries(PortIndex index) const { return ports_[index].admin_up && ports_[index].link_up; }
  bool is_link(PortIndex index) const { return config_.ports[index].role == PortRole::inter_switch; }
  std::optional<DropReason> refusal(PortIndex port, const wire::FrameHeader& header) const;
  void learn(PortIndex port, const wire::FrameHeader& header, Picoseconds now);
  void offer(PortIndex ingress, PortIndex egress, const Frame& frame, Picoseconds now);
  void push(PortIndex egress, Frame frame, Picoseconds now);
  void announce(PortIndex egress, GpuId gpu, Picoseconds now);
  void announce_all_if_lost(PortIndex egress, Picoseconds now);
  void announce_all(PortIndex egress, Picoseconds now);
  void flush(PortIndex egress, DropReason reason);
  void changed(PortIndex port, bool carried, DropReason reason, Picoseconds now);
  void drop_queued(PortIndex egress, wire::FrameType type, DropReason reason);
  void let_go(BufferId buffer);
  void resume_all(PortIndex egress);
  std::size_t own_frames(PortIndex egress) const;

  SwitchConfig config_;
  std::vector<Port> ports_;
  std::map<GpuId, PortIndex> fdb_;
  std::set<std::pair<PortIndex, PortIndex>> waits_;  // egress, ingress
  std::map<BufferId, int> holders_;
  std::vector<Drops> drops_;  // by port
};

}  // namespace cnuas::fabric_switch
