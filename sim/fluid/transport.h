// Moves messages over the fabric's links in fluid fidelity: by the core's flows, or by SimGrid's where it
// must.
#pragma once

#include "core/ccl/schedule.h"
#include "core/topology/routes.h"
#include "sim/fluid/flow_network.h"
#include "sim/simgrid/kernel.h"

#include <cstdint>
#include <span>
#include <vector>

namespace cnuas::sim {

struct Message {
  std::uint32_t job = 0;
  ccl::Rank from = 0;
  ccl::Rank to = 0;
  GpuIndex from_gpu = 0;
  GpuIndex to_gpu = 0;
  std::uint64_t bytes = 0;  // above 0
  double late_ps = 0;  // starting: how much after the present moment; through: likewise. See FlowNetwork.
  ccl::Lane lane = 0;
  std::uint8_t channel = 0;
};

// Flows are the core's own (FlowNetwork) unless SimGrid has a flow on one of the same links, directly or
// through other flows: then SimGrid shares all of them, since one max-min solution needs one owner. A link
// returns to the core when SimGrid's last flow has left it.
//
// Starting takes effect in settle(), once for all that starts and ends in an instant.
class Transport {
 public:
  Transport(const Fabric& fabric, const RouteTable& routes, Kernel& kernel, bool all_in_simgrid);

  void start(const Message& message) { starting_.push_back(message); }

  // Starts what was asked for and shares the links anew. Appends when the core's flows will be through.
  // SimGrid's wait for launch().
  void settle(Picoseconds now, std::vector<FlowNetwork::Completion>& changed);

  // Whether flows wait to be started in SimGrid, whose clock must first be at the present moment.
  bool wants_launch() const { return !launching_.empty(); }
  void launch();

  // A core flow's completion has come: false when the announcement was overtaken by a newer one. Else
  // `message` is set and the flow is gone.
  bool finish(FlowId flow, std::uint32_t version, Message& message);
  // SimGrid's flow with this token is through.
  Message finish_in_simgrid(Kernel::Token token);

  // A background flow takes, or gives back, the links between two GPUs.
  void occupy(GpuIndex from, GpuIndex to);
  void vacate(GpuIndex from, GpuIndex to);

 private:
  struct Launch {
    std::uint32_t token;
    double bytes;
  };

  FlowNetwork::Path path(GpuIndex from, GpuIndex to) const;
  bool simgrid_on(const FlowNetwork::Path& path) const;
  void start_in_simgrid(const Message& message, double bytes, Picoseconds now);
  // SimGrid takes over the links, with the core's flows on them and those flows' links.
  void claim(const FlowNetwork::Path& path);
  void take_over(Picoseconds now);

  const Fabric& fabric_;
  const RouteTable& routes_;
  Kernel& kernel_;
  bool all_in_simgrid_;
  FlowNetwork network_;
  std::vector<Message> starting_;
  std::vector<Message> by_flow_;
  std::vector<Message> by_token_;
  std::vector<std::uint32_t> free_tokens_;
  std::vector<Launch> launching_;
  std::vector<std::uint32_t> simgrid_flows_;  // on each link, background included
  std::vector<LinkIndex> claimed_;            // links whose core flows are still to be taken over
};

}  // namespace cnuas::sim
