#include "sim/run/traffic.h"

#include "core/wire/atomic.h"
#include "core/wire/doorbell.h"

#include <algorithm>

namespace cnuas::sim {

Traffic::Traffic(const TrafficPhase& phase, std::vector<GpuIndex> senders, std::vector<GpuIndex> receivers,
                 std::uint64_t seed)
    : phase_(phase),
      senders_(std::move(senders)),
      receivers_(std::move(receivers)),
      random_(seed),
      states_(senders_.size()) {}

Picoseconds Traffic::due_ps(std::uint32_t sender) const {
  const State& state = states_[sender];
  return state.begin_ps + static_cast<Picoseconds>(state.sent) * phase_.interval_ps.value_or(0);
}

std::uint64_t Traffic::message_bytes() const {
  switch (phase_.kind) {
    case TrafficKind::doorbell:
      return wire::kDoorbellBytes;
    case TrafficKind::atomic:
      return wire::kAtomicBytes;
    case TrafficKind::data:
      break;
  }
  return phase_.size_bytes;
}

GpuIndex Traffic::receiver_for(std::uint32_t sender) {
  switch (phase_.pattern) {
    case TrafficPattern::point_to_point:
      return receivers_[sender];
    case TrafficPattern::incast:
      return receivers_[0];
    case TrafficPattern::hotspot:
      if (receivers_[0] != senders_[sender] && random_.unit() < phase_.hot_fraction) return receivers_[0];
      break;
    case TrafficPattern::uniform:
      break;
  }
  // Any but the sender itself; the scenario has made sure that there is one.
  for (;;) {
    const GpuIndex receiver = receivers_[random_.below(receivers_.size())];
    if (receiver != senders_[sender]) return receiver;
  }
}

Message Traffic::next(std::uint32_t job, std::uint32_t sender, Picoseconds now) {
  std::uint32_t number = 0;
  if (free_.empty()) {
    number = static_cast<std::uint32_t>(in_flight_.size());
    in_flight_.emplace_back();
  } else {
    number = free_.back();
    free_.pop_back();
  }
  in_flight_[number] = {sender, phase_.interval_ps ? due_ps(sender) : now};
  ++states_[sender].sent;
  ++sent_;
  Message message;
  message.job = job;
  message.from = number;
  message.from_gpu = senders_[sender];
  message.to_gpu = receiver_for(sender);
  message.bytes = message_bytes();
  message.kind = phase_.kind;
  message.enveloped = false;
  return message;
}

bool Traffic::arrived(std::uint32_t number, Picoseconds now) {
  const InFlight message = in_flight_[number];
  free_.push_back(number);
  latency_.record(now - message.due_ps);
  ++arrived_;
  return ++states_[message.sender].arrived == phase_.messages;
}

TrafficOutcome Traffic::outcome() const {
  return {sent_, arrived_, arrived_ * message_bytes(), latency_.p50_ps(), latency_.p99_ps()};
}

}  // namespace cnuas::sim
