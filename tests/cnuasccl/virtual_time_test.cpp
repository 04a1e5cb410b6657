// Collectives in drawn orders over the simulator's fabric: two racks of real switches in virtual time, which
// passes while ranks do not run.
#include "sim/frame/scripted_fabric.h"
#include "tests/cnuasccl/drawn_ranks.h"
#include "tests/slow_build.h"

#include <cstring>
#include <deque>
#include <utility>

namespace cnuas::live::collectives {
namespace {

constexpr int kMostRanks = 8;  // in two racks

Fabric two_racks() {
  RackParameters parameters;
  parameters.gpus_per_rack = {kMostRanks / 2, kMostRanks / 2};
  parameters.gpu_link = {50'000'000'000, 500 * kNanosecond, {}};
  parameters.inter_switch = {20'000'000'000, kMicrosecond, {}};
  parameters.switch_latency_ps = 250 * kNanosecond;
  parameters.port_buffer_bytes = 1024;  // a few frames, so that ports pause each other
  return *build_pair(parameters);
}

class SimulatedFabric final : public DrawnFabric {
 public:
  // A rank may have so many frames on their way.
  explicit SimulatedFabric(std::size_t most_under_way)
      : fabric_(two_racks()), most_under_way_(most_under_way), ports_(fabric_.gpus.size()) {
    scripted_ = *sim::ScriptedFabric::create(fabric_);
    for (std::size_t i = 0; i < ports_.size(); ++i) {
      ports_[i].fabric = this;
      ports_[i].gpu = static_cast<GpuIndex>(i);
      scripted_->connect(static_cast<GpuIndex>(i), true);
    }
    EXPECT_TRUE(scripted_->rest());
  }

  // Neighbouring ranks are in different racks.
  GpuId gpu_of(int rank) const override { return fabric_.gpus[index_of(rank)].id; }
  cnuasccl_link_transport transport(int rank) const override {
    return {send, recv, local_gpu, &ports_[index_of(rank)]};
  }
  // Some time passes; all of it that it takes, now and then.
  bool deliver(Random& random) override {
    if (under_way_ == 0) return false;
    const bool all = random.below(16) == 0;
    const auto deliveries =
        scripted_->rest(all ? kSecond : static_cast<Picoseconds>(1 + random.below(3000)) * kNanosecond);
    EXPECT_TRUE(deliveries) << deliveries.error().message;
    if (!deliveries) return false;
    for (const sim::ScriptedFabric::Delivery& delivery : *deliveries) {
      const auto header = wire::decode(delivery.message);
      EXPECT_TRUE(header);
      --under_way_;
      --ports_[*find_gpu(fabric_, header->source)].under_way;
      ports_[delivery.to].inbox.push_back(delivery.message);
    }
    return true;
  }

 private:
  struct Port {
    SimulatedFabric* fabric = nullptr;
    GpuIndex gpu = 0;
    std::size_t under_way = 0;
    std::deque<Bytes> inbox;
  };

  static std::size_t index_of(int rank) {
    return static_cast<std::size_t>(rank / 2 + (rank % 2) * (kMostRanks / 2));
  }
  static Port& port(void* context) { return *static_cast<Port*>(context); }

  static cnuasccl_status_t send(std::uint16_t to, const void* data, std::size_t size, void* context) {
    Port& from = port(context);
    SimulatedFabric& all = *from.fabric;
    if (from.under_way == all.most_under_way_) return CNUASCCL_AGAIN;
    ++from.under_way;
    ++all.under_way_;
    Bytes frame(wire::kHeaderBytes + size);
    wire::encode({wire::FrameType::data, wire::ByteOrder::big, all.fabric_.gpus[from.gpu].id, GpuId{to},
                  static_cast<std::uint32_t>(size)},
                 std::span(frame).first<wire::kHeaderBytes>());
    std::memcpy(frame.data() + wire::kHeaderBytes, data, size);
    all.scripted_->send(from.gpu, frame);
    return CNUASCCL_OK;
  }
  static cnuasccl_status_t recv(std::uint16_t* from, void* data, std::size_t capacity, std::size_t* size,
                                void* context) {
    Port& here = port(context);
    if (here.inbox.empty()) return CNUASCCL_AGAIN;
    const Bytes& frame = here.inbox.front();
    *from = wire::decode(frame)->source.value;
    *size = frame.size() - wire::kHeaderBytes;
    std::memcpy(data, frame.data() + wire::kHeaderBytes, std::min(*size, capacity));
    here.inbox.pop_front();
    return CNUASCCL_OK;
  }
  static cnuasccl_status_t local_gpu(std::uint16_t* gpu, void* context) {
    Port& here = port(context);
    *gpu = here.fabric->fabric_.gpus[here.gpu].id.value;
    return CNUASCCL_OK;
  }

  Fabric fabric_;
  std::unique_ptr<sim::ScriptedFabric> scripted_;
  std::size_t most_under_way_;
  std::size_t under_way_ = 0;
  mutable std::vector<Port> ports_;  // what a transport's context points to
};

TEST(VirtualTimeTest, ThousandsOfOrdersOverRealSwitches) {
  for (std::uint64_t seed = 1; seed <= (cnuas::test::kSlowBuild ? 100 : 2000) && !HasFailure(); ++seed) {
    Random random(seed);
    const int ranks = 2 + static_cast<int>(random.below(kMostRanks - 1));
    SimulatedFabric fabric(1 + random.below(6));
    run_drawn(seed, random, ranks, fabric);
  }
}

}  // namespace
}  // namespace cnuas::live::collectives
