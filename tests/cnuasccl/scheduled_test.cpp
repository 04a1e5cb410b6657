// Collectives in drawn orders over a fabric without time: any frame may arrive next, those of one sender in
// order.
#include "tests/cnuasccl/drawn_ranks.h"
#include "tests/slow_build.h"

#include <cstring>
#include <deque>
#include <map>
#include <utility>

namespace cnuas::live::collectives {
namespace {

// A fabric with room for `slots` frames a receiver, on the way and not taken; those of one sender stay in
// order.
class Fabric final : public DrawnFabric {
 public:
  struct Port {
    Fabric* fabric = nullptr;
    std::uint16_t gpu = 0;
    std::deque<std::pair<std::uint16_t, Bytes>> inbox;
    std::map<std::uint16_t, std::deque<Bytes>> coming;  // by source
    std::size_t held = 0;
  };

  Fabric(int ranks, std::size_t slots) : slots_(slots), ports_(static_cast<std::size_t>(ranks) + 1) {
    for (std::size_t gpu = 0; gpu < ports_.size(); ++gpu) {
      ports_[gpu].fabric = this;
      ports_[gpu].gpu = static_cast<std::uint16_t>(gpu);
    }
  }

  GpuId gpu_of(int rank) const override { return GpuId{static_cast<std::uint16_t>(rank + 1)}; }
  cnuasccl_link_transport transport(int rank) const override {
    return {send, recv, local_gpu, &ports_[static_cast<std::size_t>(rank) + 1]};
  }

  // One frame, of a receiver and a source that are drawn, arrives. False if none is on its way.
  bool deliver(Random& random) override {
    std::vector<std::pair<Port*, std::uint16_t>> candidates;
    for (Port& port : ports_)
      for (auto& [source, frames] : port.coming)
        if (!frames.empty()) candidates.emplace_back(&port, source);
    if (candidates.empty()) return false;
    const auto& [port, source] = candidates[random.below(candidates.size())];
    std::deque<Bytes>& frames = port->coming[source];
    port->inbox.emplace_back(source, std::move(frames.front()));
    frames.pop_front();
    return true;
  }

 private:
  static Port& port(void* context) { return *static_cast<Port*>(context); }

  static cnuasccl_status_t send(std::uint16_t to, const void* data, std::size_t size, void* context) {
    Port& from = port(context);
    Port& target = from.fabric->ports_[to];
    if (target.held == from.fabric->slots_) return CNUASCCL_AGAIN;
    ++target.held;
    const auto* first = static_cast<const std::byte*>(data);
    target.coming[from.gpu].emplace_back(first, first + size);
    return CNUASCCL_OK;
  }
  static cnuasccl_status_t recv(std::uint16_t* from, void* data, std::size_t capacity, std::size_t* size,
                                void* context) {
    Port& here = port(context);
    if (here.inbox.empty()) return CNUASCCL_AGAIN;
    const auto& [source, bytes] = here.inbox.front();
    *from = source;
    *size = bytes.size();
    std::memcpy(data, bytes.data(), std::min(bytes.size(), capacity));
    here.inbox.pop_front();
    --here.held;
    return CNUASCCL_OK;
  }
  static cnuasccl_status_t local_gpu(std::uint16_t* gpu, void* context) {
    *gpu = port(context).gpu;
    return CNUASCCL_OK;
  }

  const std::size_t slots_;
  mutable std::vector<Port> ports_;  // what a transport's context points to
};

void run(std::uint64_t seed) {
  Random random(seed);
  const int ranks = 2 + static_cast<int>(random.below(7));
  Fabric fabric(ranks, 1 + random.below(4));
  run_drawn(seed, random, ranks, fabric);
}

TEST(ScheduledTest, ThousandsOfOrders) {
  for (std::uint64_t seed = 1; seed <= (cnuas::test::kSlowBuild ? 200 : 3000) && !HasFailure(); ++seed)
    run(seed);
}

}  // namespace
}  // namespace cnuas::live::collectives
