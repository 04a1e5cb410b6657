// Several racks, shared links, background flows: against hand calculations, and against SimGrid sharing
// everything.
#include "tests/sim/simulation.h"

#include <cmath>

namespace cnuas::test {
namespace {

using ccl::Algorithm;
using ccl::Collective;

constexpr sim::SimulatorOptions kAllInSimGrid{.simgrid_flows = true};

double seconds(Picoseconds time) {
  return static_cast<double>(time) / static_cast<double>(kSecond);
}

TEST(TwoRacks, AFlatRingApproachesTwiceTheVectorOverTheInterSwitchLink) {
  const std::uint64_t rate = 100 * kGB;
  const Fabric fabric = *build_pair(racks({8, 8}, rate));
  const std::uint64_t size = std::uint64_t{16} << 30;
  const Picoseconds time =
      times(run(scenario(fabric, {call(fabric, Collective::all_reduce, Algorithm::ring, size)})))[0];
  const double ideal = 2.0 * static_cast<double>(size) / static_cast<double>(rate);
  // 2(N-1) steps of M/N each over the slow link: 15/16 of 2M/Bx and the latencies.
  EXPECT_NEAR(seconds(time), ideal * 15 / 16, ideal * 0.001);
}

TEST(TwoRacks, AFlatDirectExchangeIsSlowerByHalfTheGpusOfARack) {
  const std::uint64_t rate = 50 * kGB;  // slow enough that nothing else matters
  const std::uint64_t size = std::uint64_t{16} << 30;
  for (const unsigned gpus : {4u, 8u, 16u}) {
    const Fabric fabric = *build_pair(racks({gpus, gpus}, rate));
    const std::vector<Picoseconds> time =
        times(run(scenario(fabric, {call(fabric, Collective::all_reduce, Algorithm::ring, size),
                                    call(fabric, Collective::all_reduce, Algorithm::direct, size)})));
    const double bound =
        static_cast<double>(gpus) * static_cast<double>(size) / static_cast<double>(rate);  // g*M/Bx
    EXPECT_GE(seconds(time[1]), bound * (1 - 1e-6)) << gpus;
    EXPECT_NEAR(seconds(time[1]) / bound, 1, 0.1) << gpus;
    // The ring takes 2(N-1)/N M/Bx.
    const double ratio = static_cast<double>(time[1]) / static_cast<double>(time[0]);
    EXPECT_NEAR(ratio, gpus / 2.0 * (2.0 * gpus) / (2.0 * gpus - 1), 0.1 * ratio) << gpus;
  }
}

// One message over each kind of route, by hand.
TEST(Routes, ABroadcastToOneRankTakesItsRoute) {
  const Fabric spine = *build_spine([] {
    RackParameters parameters = racks({2, 2, 2}, 100 * kGB, 700 * kNanosecond);
    parameters.switch_latency_ps = 250 * kNanosecond;
    return parameters;
  }());
  CollectiveCall within = call(spine, Collective::broadcast, Algorithm::tree, 1'000'000);
  within.ranks = {GpuId{0x0100}, GpuId{0x0101}};
  CollectiveCall across = within;
  across.ranks = {GpuId{0x0100}, GpuId{0x0301}};
  const std::vector<Picoseconds> time = times(run(scenario(spine, {within, across})));
  // Two links, one switch; 10^6 B at 450 GB/s.
  EXPECT_EQ(time[0], 2 * 500'000 + 250'000 + 2'222'222);
  // Two links, two cables, three switches; 10^6 B at 100 GB/s.
  EXPECT_EQ(time[1], 2 * 500'000 + 2 * 700'000 + 3 * 250'000 + 10'000'000);
}

TEST(Routes, AnExplicitGraphTakesTheShortestWay) {
  // a - b - c and a - d - e - c: two cables beat three.
  Fabric fabric;
  for (const char* name : {"a", "b", "c", "d", "e"})
    fabric.switches.push_back(Switch{name, 0, 100 * kNanosecond, 0});
  const LinkProfile cable{200 * kGB, 300 * kNanosecond, {}};
  for (const auto& [from, to] : {std::pair{0u, 1u}, {1u, 2u}, {0u, 3u}, {3u, 4u}, {4u, 2u}}) {
    fabric.cables.push_back(Cable{from, to, cable});
  }
  fabric.gpus = {Gpu{GpuId{0x0100}, 0, 0, pure_pipe()}, Gpu{GpuId{0x0200}, 2, 0, pure_pipe()}};
  ASSERT_TRUE(validate(fabric));
  const Picoseconds time =
      times(run(scenario(fabric, {call(fabric, Collective::broadcast, Algorithm::tree, 1'000'000)})))[0];
  EXPECT_EQ(time, 2 * 500'000 + 2 * 300'000 + 3 * 100'000 + 5'000'000);
}

// The core's sharing and SimGrid's are two programs for one model.
void expect_same_times(const scenarios::Scenario& what) {
  const nlohmann::json core = run(what);
  const nlohmann::json simgrid = run(what, kAllInSimGrid);
  ASSERT_FALSE(core.contains("error")) << core;
  ASSERT_FALSE(simgrid.contains("error")) << simgrid;
  const std::vector<Picoseconds> a = times(core);
  const std::vector<Picoseconds> b = times(simgrid);
  for (std::size_t i = 0; i < a.size(); ++i) {
    const auto& row = core["results"][i];
    // SimGrid's flows end at whole picoseconds each, the core's carry the rest over.
    // Where several messages become ready on a port in one instant, the two may send them in different order,
    // which a pipeline feels.
    const bool pipelined =
        row["algorithm"] == "tree" || row["algorithm"] == "double_tree" || row["algorithm"] == "chain";
    const double relative = pipelined ? 0.02 : 1e-6;
    const double allowed = std::max(relative * static_cast<double>(a[i]), 200.0);
    EXPECT_NEAR(static_cast<double>(a[i]), static_cast<double>(b[i]), allowed) << row;
    EXPECT_EQ(row["wire_bytes"], simgrid["results"][i]["wire_bytes"]);
  }
}

std::vector<CollectiveCall> every_algorithm(const Fabric& fabric, std::uint64_t size) {
  std::vector<CollectiveCall> calls;
  for (const Collective collective : {Collective::all_reduce, Collective::broadcast, Collective::all_gather,
                                      Collective::reduce_scatter, Collective::all_to_all}) {
    for (const Algorithm algorithm : ccl::algorithms_of(collective)) {
      calls.push_back(call(fabric, collective, algorithm, size));
      calls.back().chunks = 8;
    }
  }
  return calls;
}

TEST(Sharing, IsSimGridsOnOneRack) {
  const Fabric fabric = *build_rack(racks({6}));
  expect_same_times(scenario(fabric, every_algorithm(fabric, 6'000'000)));
}

TEST(Sharing, IsSimGridsOnTwoRacksWithANarrowLink) {
  const Fabric fabric = *build_pair(racks({4, 4}, 120 * kGB));
  expect_same_times(scenario(fabric, every_algorithm(fabric, 8'000'000)));
}

TEST(Sharing, IsSimGridsOnASpineOfUnequalRacks) {
  const Fabric fabric = *build_spine(racks({3, 5, 1, 4}, 200 * kGB));
  expect_same_times(scenario(fabric, every_algorithm(fabric, 13 * 40'000)));
}

TEST(Background, AnElasticFlowTakesHalfOfASharedPort) {
  const Fabric fabric = *build_rack(racks({3}));
  scenarios::Scenario what = scenario(fabric, {});
  CollectiveCall move = call(fabric, Collective::broadcast, Algorithm::tree, 450'000'000);
  move.ranks = {GpuId{0x0100}, GpuId{0x0101}};
  what.workload.items.emplace_back(Measurement{{move, move}});
  what.workload.background.push_back({GpuId{0x0102}, GpuId{0x0101}, {}, 0, {}});
  // 1 ms alone; 2 ms when the receiver's port is shared; the second run like the first.
  for (const Picoseconds time : times(run(what)))
    EXPECT_NEAR(seconds(time), 2e-3 + 1e-6, 1e-9);
}

TEST(Background, ALimitedFlowTakesItsRateAndOnlyWhileItRuns) {
  const Fabric fabric = *build_rack(racks({3}));
  scenarios::Scenario what = scenario(fabric, {});
  CollectiveCall move = call(fabric, Collective::broadcast, Algorithm::tree, 450'000'000);
  move.ranks = {GpuId{0x0100}, GpuId{0x0101}};
  what.workload.items.emplace_back(Measurement{{move}});
  what.workload.background.push_back(
      {GpuId{0x0102}, GpuId{0x0101}, 150 * kGB, 100 * kMicrosecond, 300 * kMicrosecond});
  // 450 GB/s for 0.1 ms, 300 GB/s for 0.3 ms, 450 GB/s for the other 315 MB.
  const double expected = 0.1e-3 + 0.3e-3 + (450e6 - 45e6 - 90e6) / 450e9 + 1e-6;
  EXPECT_NEAR(seconds(times(run(what))[0]), expected, 1e-9);
}

TEST(Background, ReachesFlowsThatShareNoLinkWithIt) {
  // 1/2 -> 1/1 in the background; 1/0 -> 1/1 shares 1/1's port with it, and 1/0 -> 1/3 of another collective
  // shares 1/0's.
  const Fabric fabric = *build_rack(racks({4}));
  scenarios::Scenario what = scenario(fabric, {});
  CollectiveCall shared = call(fabric, Collective::broadcast, Algorithm::tree, 450'000'000);
  shared.ranks = {GpuId{0x0100}, GpuId{0x0101}};
  CollectiveCall beside = shared;
  beside.ranks = {GpuId{0x0100}, GpuId{0x0103}};
  TrainingStep step{"both", {Phase{beside, true}, Phase{shared, true}}};
  what.workload.items.emplace_back(step);
  what.workload.background.push_back({GpuId{0x0102}, GpuId{0x0101}, {}, 0, {}});
  const std::vector<Picoseconds> time = times(run(what));
  EXPECT_NEAR(seconds(time[0]), 2e-3 + 1e-6, 1e-9);  // 225 GB/s: the port of 1/0, halved
  EXPECT_NEAR(seconds(time[1]), 2e-3 + 1e-6, 1e-9);
}

TEST(Limits, ARunBeyondTheExactRangeIsRefused) {
  RackParameters slow = racks({2});
  slow.gpu_link.bandwidth_bytes_per_s = 1000;
  const Fabric fabric = *build_rack(slow);
  const nlohmann::json report =
      run(scenario(fabric, {call(fabric, Collective::all_reduce, Algorithm::ring, 1 << 30)}));
  ASSERT_TRUE(report.contains("error"));
  EXPECT_THAT(report["error"].get<std::string>(), ::testing::HasSubstr("900 s"));
}

}  // namespace
}  // namespace cnuas::test
