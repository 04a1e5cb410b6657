// The comparison finds whatever is not the same, and names it.
#include "tests/equivalence/difference.h"

#include "tests/equivalence/daemons.h"
#include "tests/equivalence/simulated_side.h"

#include <algorithm>
#include <functional>

namespace cnuas::equivalence {
namespace {

using ::testing::HasSubstr;

class Differences : public ::testing::Test {
 protected:
  void SetUp() override {
    script_ = script_of("two-racks-watched",
                        "  - connect: 1/0\n  - connect: 1/1\n  - connect: 2/0\n"
                        "  - {create_group: ring, rack: 1, gpus: [1/0, 1/1]}\n"
                        "  - together:\n      - {send: DATA, from: 1/0, to: all, repeat: 2}\n"
                        "      - {send: DATA, from: 1/1, to: 2/0, repeat: 2}\n");
    const auto side = SimulatedSide::create(script_.fabric);
    ASSERT_TRUE(side);
    for (const Step& step : script_.steps)
      seen_ = *(*side)->run(step, {});
  }

  // What is told when the daemons' side is changed like this.
  std::string after(const std::function<void(StepObservation&)>& change) const {
    StepObservation changed = seen_;
    change(changed);
    std::string text;
    for (const Difference& each : compare(script_.fabric, seen_, changed).differences)
      text += to_text(each) + "\n";
    return text;
  }
  std::string after_port(SwitchIndex at, std::size_t port,
                         const std::function<void(PortObservation&)>& change) const {
    return after([&](StepObservation& seen) { change(seen.switches[at].ports[port]); });
  }

  Script script_;
  StepObservation seen_;
};

TEST_F(Differences, ThereAreNoneBetweenEquals) {
  const Comparison comparison = compare(script_.fabric, seen_, seen_);
  EXPECT_TRUE(comparison.differences.empty());
  EXPECT_GT(comparison.values, 2u * 9 * 8 * (12 + 1 + 40));
  EXPECT_GT(comparison.not_zero, 40u);
  EXPECT_EQ(seen_.deliveries.size(), 2u + 4u);
}

TEST_F(Differences, EveryCounterOfEveryTypeCounts) {
  using fabric_switch::TypeCounters;
  for (const auto& [name, member] :
       std::initializer_list<std::pair<const char*, std::uint64_t TypeCounters::*>>{
           {"rx_frames", &TypeCounters::rx_frames},
           {"rx_bytes", &TypeCounters::rx_bytes},
           {"rx_dropped", &TypeCounters::rx_dropped},
           {"consumed", &TypeCounters::consumed},
           {"forwarded", &TypeCounters::forwarded},
           {"copies", &TypeCounters::copies},
           {"own", &TypeCounters::own},
           {"carried_over", &TypeCounters::carried_over},
           {"offered", &TypeCounters::offered},
           {"tx_frames", &TypeCounters::tx_frames},
           {"tx_bytes", &TypeCounters::tx_bytes},
           {"tx_dropped", &TypeCounters::tx_dropped}}) {
    for (std::size_t slot = 0; slot < fabric_switch::kTypeSlots; ++slot) {
      const std::string type = slot == 0 ? "INVALID" : std::string(kTypeNames[slot - 1]);
      const std::uint64_t was = seen_.switches[1].ports[8].by_type[slot].*member;
      EXPECT_EQ(after_port(1, 8, [&](PortObservation& port) { ++(port.by_type[slot].*member); }),
                "rack2 port 8, " + type + ", " + name + ": " + std::to_string(was) + " in the simulator, " +
                    std::to_string(was + 1) + " in the daemon\n");
    }
  }
}

TEST_F(Differences, EveryDropReasonCounts) {
  for (std::size_t reason = 0; reason < fabric_switch::kDropReasons; ++reason) {
    const std::string name(fabric_switch::name(static_cast<fabric_switch::DropReason>(reason)));
    EXPECT_EQ(after_port(0, 2, [&](PortObservation& port) { port.rx_drops[reason][2] = 7; }),
              "rack1 port 2, DOORBELL, rx_drops " + name + ": 0 in the simulator, 7 in the daemon\n");
    EXPECT_EQ(after_port(0, 2, [&](PortObservation& port) { port.tx_drops[reason][7] = 1; }),
              "rack1 port 2, LINK_KEEPALIVE, tx_drops " + name + ": 0 in the simulator, 1 in the daemon\n");
  }
}

TEST_F(Differences, SoDoStatesOfPorts) {
  EXPECT_THAT(after_port(0, 0, [](PortObservation& port) { port.admin_up = false; }),
              HasSubstr("rack1 port 0, admin_up"));
  EXPECT_THAT(after_port(0, 0, [](PortObservation& port) { port.link_up = false; }),
              HasSubstr("link_up: true in the sim"));
  EXPECT_THAT(after_port(0, 0, [](PortObservation& port) { port.stalled = true; }), HasSubstr("stalled"));
  EXPECT_THAT(after_port(0, 0, [](PortObservation& port) { port.ingress_paused = true; }),
              HasSubstr("ingress_paused"));
  EXPECT_THAT(after_port(0, 0, [](PortObservation& port) { port.order = wire::ByteOrder::little; }),
              HasSubstr("byte_order: big in the simulator, little in the daemon"));
  EXPECT_THAT(after_port(0, 0, [](PortObservation& port) { port.gpu = kNoGpu; }),
              HasSubstr("gpu: 1/0 in the simulator, none"));
  EXPECT_THAT(
      after_port(0, 0, [](PortObservation& port) { port.role = fabric_switch::PortRole::inter_switch; }),
      HasSubstr("role"));
  EXPECT_THAT(after_port(0, 0, [](PortObservation& port) { port.queued[1] = 4; }),
              HasSubstr("DATA, queued: 0"));
  EXPECT_THAT(after_port(0, 0, [](PortObservation& port) { port.queued_bytes = 4; }),
              HasSubstr("queued_bytes: 0"));
  EXPECT_THAT(after([](StepObservation& seen) { seen.switches[0].ports.resize(8); }),
              HasSubstr("rack1 port 8"));
}

TEST_F(Differences, SoDoTables) {
  EXPECT_EQ(after([](StepObservation& seen) { seen.switches[1].fdb.erase(seen.switches[1].fdb.begin()); }),
            "rack2, forwarding database, 1/0: port 8, learned in the simulator, none in the daemon\n");
  EXPECT_EQ(after([](StepObservation& seen) { seen.switches[0].fdb[0].port = 5; }),
            "rack1, forwarding database, 1/0: port 0, configured in the simulator, port 5, configured in the "
            "daemon\n");
  EXPECT_THAT(after([](StepObservation& seen) {
                seen.switches[0].fdb[0].origin = fabric_switch::FdbOrigin::learned;
              }),
              HasSubstr("port 0, learned in the daemon"));
  EXPECT_EQ(after([](StepObservation& seen) {
              std::swap(seen.switches[0].groups[0].members[0], seen.switches[0].groups[0].members[1]);
            }),
            "rack1, group table, entry 1: group 1 'ring' of 1/0 1/1 in the simulator, group 1 'ring' of 1/1 "
            "1/0 in the "
            "daemon\n");
  EXPECT_THAT(after([](StepObservation& seen) { seen.switches[0].groups.clear(); }),
              HasSubstr("none in the daemon"));
  EXPECT_THAT(after([](StepObservation& seen) { seen.refused = true; }), HasSubstr("refused"));
}

TEST_F(Differences, SoDoFramesAndTheirOrderPerSource) {
  const auto of = [](StepObservation& seen, GpuIndex to, GpuId source) {
    std::vector<Delivery*> found;
    for (Delivery& each : seen.deliveries) {
      if (each.to == to && each.header.source == source) found.push_back(&each);
    }
    return found;
  };
  const GpuIndex to = *find_gpu(script_.fabric, GpuId{0x0200});
  // Two frames of one source.
  EXPECT_THAT(after([&](StepObservation& seen) {
                const auto frames = of(seen, to, GpuId{0x0100});
                std::swap(*frames.at(0), *frames.at(1));
              }),
              HasSubstr("2/0, frame 1 read from 1/0: DATA to all of 76 B"));
  // Of two sources, in any order.
  EXPECT_EQ(after([&](StepObservation& seen) {
              std::stable_sort(seen.deliveries.begin(), seen.deliveries.end(),
                               [](const Delivery& a, const Delivery& b) {
                                 return a.header.source.value > b.header.source.value;
                               });
            }),
            "");
  // To somebody else.
  EXPECT_THAT(after([&](StepObservation& seen) { of(seen, to, GpuId{0x0100}).at(0)->to = to + 1; }),
              HasSubstr("2/1, frames read from 1/0: 0 in the simulator, 1 in the daemon"));
  EXPECT_THAT(after([&](StepObservation& seen) { of(seen, to, GpuId{0x0100}).at(1)->digest ^= 1; }),
              HasSubstr("2/0, frame 2 read from 1/0"));
  EXPECT_THAT(after([&](StepObservation& seen) { seen.deliveries.pop_back(); }),
              HasSubstr("frames read from"));
}

}  // namespace
}  // namespace cnuas::equivalence
