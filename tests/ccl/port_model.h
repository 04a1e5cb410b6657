// The port model, simulated event by event: what the closed forms are measured against.
#pragma once

#include "core/ccl/cost.h"
#include "core/ccl/schedule.h"
#include "core/engine/time.h"

#include <cstdint>

namespace cnuas::ccl {

struct PortModelRun {
  Picoseconds time_ps = kNever;  // kNever if some rank does not finish
  std::uint64_t messages = 0;
  bool shared = false;  // some ingress had two senders at a time
};

// One executor a rank. A port transmits its messages one at a time in the order in which they were started;
// an ingress shares its rate equally among the messages that come in; a message arrives one latency after its
// transmission has ended, and its send is complete when that has ended.
PortModelRun run_port_model(const Schedule& schedule, std::uint32_t element_bytes, const PortModel& port);

}  // namespace cnuas::ccl
