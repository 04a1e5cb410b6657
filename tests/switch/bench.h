// A switch on the bench: frames in by hand, what comes out as plain values.
#pragma once

#include "core/switch/switch.h"
#include "tests/switch/conservation.h"

#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

namespace cnuas::fabric_switch {

using Ports = std::vector<PortIndex>;
using Buffers = std::vector<BufferId>;

// What a frame is, for comparing: "DATA 1/0 > 1/1 #7"; of the switch's own, "DISCOVERY 1/0 > all".
inline std::string shown(const FrameRef& frame) {
  const GpuId to = frame.header.destination;
  std::string text{wire::name(frame.header.type)};
  text += " " + to_string(frame.header.source) + " > " + (to == kBroadcast ? "all" : to_string(to));
  return frame.buffer == kOwnFrame ? text : text + " #" + std::to_string(frame.buffer);
}

inline GpuId gpu(unsigned rack, unsigned slot) {
  return GpuId{static_cast<std::uint16_t>(rack << 8 | slot)};
}

inline wire::FrameHeader header(GpuId from, GpuId to, wire::FrameType type = wire::FrameType::data,
                                std::uint32_t payload = 0) {
  return {type, wire::ByteOrder::big, from, to, payload};
}

// Rack 1: gpu ports first, then inter_switch ports, the first of which is the uplink. All links are up.
inline SwitchConfig rack_config(std::size_t gpus, std::size_t links = 0) {
  SwitchConfig config;
  config.name = "rack1";
  config.rack = 1;
  config.ports.resize(gpus + links);
  for (std::size_t i = gpus; i < gpus + links; ++i)
    config.ports[i].role = PortRole::inter_switch;
  if (links > 0) config.uplink = static_cast<int>(gpus);
  return config;
}

class Bench {
 public:
  explicit Bench(SwitchConfig config) : fabric(*Switch::create(std::move(config))) {
    for (std::size_t port = 0; port < fabric.ports(); ++port)
      fabric.link_up(static_cast<PortIndex>(port), now, out);
    out.clear();
  }
  ~Bench() { EXPECT_EQ(conservation_violation(fabric), ""); }
  Bench(const Bench&) = delete;
  Bench& operator=(const Bench&) = delete;

  // Each takes the place of what the calls before it asked for. Buffers are numbered from 1.
  BufferId receive(PortIndex port, const wire::FrameHeader& frame_header) {
    out.clear();
    fabric.receive(port, FrameRef{frame_header, ++buffers}, now, out);
    return buffers;
  }
  BufferId announce(PortIndex port, GpuId source) {
    return receive(port, header(source, kBroadcast, wire::FrameType::discovery));
  }
  void pop(PortIndex port) {
    out.clear();
    fabric.pop(port, now, out);
  }
  void advance(Picoseconds span) {
    out.clear();
    now += span;
    if (fabric.next_deadline() <= now) fabric.on_deadline(now, out);
  }
  void link_up(PortIndex port) {
    out.clear();
    fabric.link_up(port, now, out);
  }
  void link_down(PortIndex port) {
    out.clear();
    fabric.link_down(port, now, out);
  }
  void admin(PortIndex port, bool up) {
    out.clear();
    fabric.set_admin_state(port, up, now, out);
  }

  // Everything that waits to leave by a port, and it leaves.
  std::vector<std::string> drain(PortIndex port) {
    std::vector<std::string> frames;
    while (const FrameRef* frame = fabric.front(port)) {
      frames.push_back(shown(*frame));
      fabric.pop(port, now, out);
    }
    return frames;
  }
  std::uint64_t rx_drops(PortIndex port, DropReason reason) const {
    return fabric.counters(port).rx_dropped(reason);
  }
  std::uint64_t tx_drops(PortIndex port, DropReason reason) const {
    return fabric.counters(port).tx_dropped(reason);
  }
  std::uint64_t all_drops() const {
    std::uint64_t drops = 0;
    for (std::size_t port = 0; port < fabric.ports(); ++port) {
      const TypeCounters total = fabric.counters(static_cast<PortIndex>(port)).total();
      drops += total.rx_dropped + total.tx_dropped;
    }
    return drops;
  }
  PortIndex port_of(GpuId id) const { return fabric.fdb().port_of(id); }

  Switch fabric;
  Actions out;
  Picoseconds now = 0;
  BufferId buffers = 0;
};

}  // namespace cnuas::fabric_switch
