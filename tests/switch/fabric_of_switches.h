// Several switches and the cables between them, with a clock that stands still: every frame arrives at once,
// and what GPUs receive is written down.
#pragma once

#include "core/switch/switch.h"
#include "tests/switch/bench.h"

#include <algorithm>
#include <map>
#include <string>
#include <utility>
#include <vector>

namespace cnuas::fabric_switch {

struct End {
  std::size_t node = 0;
  PortIndex port = 0;
  auto operator<=>(const End&) const = default;
};

class FabricOfSwitches {
 public:
  std::size_t add(SwitchConfig config) {
    nodes_.push_back(*Switch::create(std::move(config)));
    return nodes_.size() - 1;
  }
  void cable(End a, End b) {
    peers_[a] = b;
    peers_[b] = a;
  }

  Switch& at(std::size_t node) { return nodes_[node]; }

  void gpu_up(End end) { nodes_[end.node].link_up(end.port, now, out_); }
  void gpu_down(End end) { nodes_[end.node].link_down(end.port, now, out_); }
  void cable_up(End end) {
    for (const End each : {end, peers_.at(end)}) {
      nodes_[each.node].link_up(each.port, now, out_);
    }
    run();
  }
  void cable_down(End end) {
    for (const End each : {end, peers_.at(end)}) {
      nodes_[each.node].link_down(each.port, now, out_);
    }
    run();
  }

  // From the GPU at `end`, and everything that follows from it.
  void send(End end, const wire::FrameHeader& frame) {
    deliver(end, FrameRef{frame, ++buffers_});
    run();
  }

  // Sends what waits, until nothing does. A fabric that goes on for ever fails the test.
  void run() {
    std::size_t left = 1'000'000;
    for (bool moved = true; moved;) {
      moved = false;
      out_.clear();
      for (std::size_t node = 0; node < nodes_.size(); ++node) {
        for (std::size_t port = 0; port < nodes_[node].ports(); ++port)
          moved = send_one({node, static_cast<PortIndex>(port)}) || moved;
      }
      if (--left == 0) {
        ADD_FAILURE() << "frames circulate";
        return;
      }
    }
  }

  // Hops between switches so far.
  std::uint64_t hops() const { return hops_; }
  // Frames that GPUs got since the last time, by where.
  std::map<End, std::vector<std::string>> received() { return std::exchange(received_, {}); }
  // GPUs that do not take frames off their queues.
  std::vector<End> standing;
  Picoseconds now = 0;

  std::string violation() const {
    for (const Switch& each : nodes_) {
      if (std::string wrong = conservation_violation(each); !wrong.empty())
        return each.config().name + ": " + wrong;
    }
    return "";
  }

 private:
  bool send_one(End from) {
    Switch& node = nodes_[from.node];
    const FrameRef* front = node.front(from.port);
    if (front == nullptr || std::count(standing.begin(), standing.end(), from) > 0) return false;
    const auto peer = peers_.find(from);
    if (peer != peers_.end() && nodes_[peer->second.node].status(peer->second.port).ingress_paused)
      return false;
    FrameRef frame = *front;
    node.pop(from.port, now, out_);
    if (peer == peers_.end()) {
      received_[from].push_back(std::string(wire::name(frame.header.type)) + " " +
                                to_string(frame.header.source));
    } else {
      ++hops_;
      frame.buffer = ++buffers_;
      deliver(peer->second, frame);
    }
    return true;
  }
  void deliver(End to, const FrameRef& frame) { nodes_[to.node].receive(to.port, frame, now, out_); }

  std::vector<Switch> nodes_;
  std::map<End, End> peers_;
  std::map<End, std::vector<std::string>> received_;
  Actions out_;  // not looked at: queues and pauses are asked for
  BufferId buffers_ = 0;
  std::uint64_t hops_ = 0;
};

}  // namespace cnuas::fabric_switch
