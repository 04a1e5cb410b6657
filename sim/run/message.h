// One message of a schedule on its way from one GPU to another.
#pragma once

#include "core/ccl/schedule.h"
#include "core/topology/fabric.h"
#include "core/workload/workload.h"

#include <cstdint>

namespace cnuas::sim {

struct Message {
  std::uint32_t job = 0;  // phase it belongs to
  // Of a collective the ranks; of traffic, `from` is the number of the message. Movers hand both back as they
  // are.
  ccl::Rank from = 0;
  ccl::Rank to = 0;
  GpuIndex from_gpu = 0;
  GpuIndex to_gpu = 0;
  std::uint64_t bytes = 0;
  double late_ps = 0;  // starting: how much after the present moment; sent: likewise. See FlowNetwork
  ccl::Lane lane = 0;
  std::uint8_t channel = 0;
  TrafficKind kind = TrafficKind::data;  // type of its frames
  bool enveloped = true;                 // its frames carry a collective's envelope
};

// Who is told what becomes of messages.
class MessageSink {
 public:
  // The last byte has left the sender's port: the source may be overwritten, the port is free.
  virtual void sent(const Message& message) = 0;
  // All of it has arrived.
  virtual void arrived(std::uint32_t job, ccl::Rank from, ccl::Rank to, std::uint8_t channel) = 0;

 protected:
  ~MessageSink() = default;
};

}  // namespace cnuas::sim
