#include "sim/frame/scripted_fabric.h"

#include <utility>

namespace cnuas::sim {

ScriptedFabric::ScriptedFabric(const Fabric& fabric)
    : routes_(fabric), context_{fabric, routes_, workload_}, mover_(context_, timeline_, *this) {
  mover_.open_switches(*this);
}

Result<std::unique_ptr<ScriptedFabric>> ScriptedFabric::create(const Fabric& fabric) {
  std::unique_ptr<ScriptedFabric> made(new ScriptedFabric(fabric));
  if (made->timeline_.error) return tl::unexpected<Error>(*made->timeline_.error);
  Result<std::vector<Delivery>> rested = made->rest();
  if (!rested) return tl::unexpected<Error>(rested.error());
  return made;
}

Result<std::vector<ScriptedFabric::Delivery>> ScriptedFabric::rest(Picoseconds patience_ps) {
  const Picoseconds begin = timeline_.now_ps;
  const Picoseconds end = begin > kNever - patience_ps ? kNever : begin + patience_ps;
  mover_.settle();
  while (!timeline_.error && !timeline_.queue.empty() && timeline_.queue.next_time() < end) {
    const auto event = timeline_.queue.pop();
    timeline_.now_ps = event.time_ps;
    mover_.handle(event.payload);
  }
  if (timeline_.error) return tl::unexpected<Error>(*timeline_.error);
  if (Result<void> well = mover_.check_conservation(); !well) return tl::unexpected<Error>(well.error());
  return std::exchange(deliveries_, {});
}

void ScriptedFabric::delivered(GpuIndex to, const wire::FrameHeader& header,
                               std::span<const std::byte> payload) {
  Delivery delivery{to, std::vector<std::byte>(wire::kHeaderBytes)};
  wire::encode(header, std::span(delivery.message).first<wire::kHeaderBytes>());
  delivery.message.insert(delivery.message.end(), payload.begin(), payload.end());
  deliveries_.push_back(std::move(delivery));
}

}  // namespace cnuas::sim
