// Fluid fidelity: each message is a flow. It moves at the rate that max-min sharing gives it from end to end,
// and has arrived one route latency after its last byte was sent.
#pragma once

#include "sim/fluid/flow_network.h"
#include "sim/run/message.h"
#include "sim/run/run.h"
#include "sim/run/timeline.h"

#include <cstdint>
#include <span>
#include <vector>

namespace cnuas::sim {

struct FluidOptions {
  bool simgrid_flows = false;  // give every flow to SimGrid: slower, and docs/timing.md says how close
};

// Flows are the core's own (FlowNetwork) unless SimGrid has a flow on one of the same links, directly or
// through other flows: then SimGrid shares all of them, since one max-min solution needs one owner. A link
// returns to the core when SimGrid's last flow has left it.
class FluidMover {
 public:
  FluidMover(RunContext& context, Timeline& timeline, MessageSink& sink, FluidOptions options);

  Picoseconds open(Picoseconds now) { return now; }
  void start(const Message& message);
  void settle();
  void handle(const Event& event);
  bool wants_launch() const { return !launching_.empty(); }
  void launch();
  void simgrid_done(Kernel::Token token);
  void background(std::size_t index, bool on);
  Result<void> close(Outcome& outcome);

 private:
  enum Kind : std::uint8_t {
    flow_done = kFirstMoverKind,  // a: flow, b: version
    empty_done,                   // a message without bytes has left: a: position in empty_
    delivered,                    // a: job, b: source, c: destination, x: channel
  };
  struct Launch {
    std::uint32_t token;
    double bytes;
  };

  void left(const Message& message);
  void account(const Message& message);
  FlowNetwork::Path path(GpuIndex from, GpuIndex to) const;
  bool simgrid_on(const FlowNetwork::Path& path) const;
  void start_in_simgrid(const Message& message, double bytes);
  // SimGrid takes over the links, with the core's flows on them and those flows' links.
  void claim(const FlowNetwork::Path& path);
  void give_back(const FlowNetwork::Path& path);
  void take_over();

  RunContext& context_;
  Timeline& timeline_;
  MessageSink& sink_;
  FluidOptions options_;
  FlowNetwork network_;
  std::vector<Message> starting_;
  std::vector<Message> by_flow_;
  std::vector<Message> by_token_;
  std::vector<std::uint32_t> free_tokens_;
  std::vector<Launch> launching_;
  std::vector<Message> empty_;                // without bytes, leaving in this instant
  std::vector<std::uint32_t> simgrid_flows_;  // on each link, background included
  std::vector<LinkIndex> claimed_;            // links whose core flows are still to be taken over
  std::vector<FlowNetwork::Completion> changed_;
  std::vector<std::uint64_t> link_bytes_;
  std::vector<std::uint64_t> wire_bytes_;  // by job
};

}  // namespace cnuas::sim
