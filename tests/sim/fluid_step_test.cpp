// Training steps: computation by SimGrid, overlap, stragglers.
#include "tests/sim/simulation.h"

namespace cnuas::test {
namespace {

using ccl::Algorithm;
using ccl::Collective;

constexpr Picoseconds kCompute = 100 * kMicrosecond;

scenarios::Scenario stepped(const Fabric& fabric, std::vector<Phase> phases) {
  scenarios::Scenario what = scenario(fabric, {});
  what.workload.items.emplace_back(TrainingStep{"step", std::move(phases)});
  return what;
}

Picoseconds step_time(const nlohmann::json& report) {
  return report.at("steps").at(0).at("time_ps").get<Picoseconds>();
}

Picoseconds compute_time(const nlohmann::json& report) {
  return report.at("steps").at(0).at("compute_ps").get<Picoseconds>();
}

CollectiveCall gradients(const Fabric& fabric) {
  return call(fabric, Collective::all_reduce, Algorithm::ring, 450'000 * 8);  // 14 steps of 1 us + 1 us
}

TEST(TrainingStep, ComputesThenCommunicates) {
  const Fabric fabric = *build_rack(racks({8}));
  const nlohmann::json report = run(stepped(
      fabric, {Phase{ComputePhase{kCompute, all_gpus(fabric)}, false}, Phase{gradients(fabric), false}}));
  EXPECT_EQ(step_time(report), kCompute + 28 * kMicrosecond);
  EXPECT_EQ(compute_time(report), kCompute);
  EXPECT_EQ(report["results"][0]["time_ps"], 28 * kMicrosecond);
}

TEST(TrainingStep, OverlapHidesCommunication) {
  const Fabric fabric = *build_rack(racks({8}));
  const Phase compute{ComputePhase{kCompute, all_gpus(fabric)}, false};
  const nlohmann::json report = run(stepped(fabric, {compute, Phase{gradients(fabric), true}, compute}));
  EXPECT_EQ(step_time(report), 2 * kCompute);
}

TEST(TrainingStep, AStragglerHoldsUpEverybodyByItsOwnDelay) {
  const Fabric fabric = *build_rack(racks({8}));
  scenarios::Scenario what = stepped(
      fabric, {Phase{ComputePhase{kCompute, all_gpus(fabric)}, false}, Phase{gradients(fabric), false}});
  what.workload.stragglers.push_back({GpuId{0x0103}, 0.5});
  const nlohmann::json report = run(what);
  const Picoseconds time = step_time(report);
  EXPECT_EQ(compute_time(report), 2 * kCompute);
  // The ring starts around the straggler while it computes on; what is left after it depends on how far the
  // others got.
  EXPECT_GE(time, 2 * kCompute + 14 * kMicrosecond);
  EXPECT_LE(time, 2 * kCompute + 28 * kMicrosecond);
}

TEST(TrainingStep, OverlappingComputationsShareTheProcessor) {
  const Fabric fabric = *build_rack(racks({2}));
  const Phase compute{ComputePhase{kCompute, all_gpus(fabric)}, true};
  const nlohmann::json report = run(stepped(fabric, {compute, compute}));
  EXPECT_EQ(step_time(report), 2 * kCompute);
  EXPECT_EQ(compute_time(report), 2 * kCompute);
}

TEST(TrainingStep, WaitingIsNotComputing) {
  const Fabric fabric = *build_rack(racks({2}));
  const std::vector<GpuId> gpus = all_gpus(fabric);
  // The first GPU's step: it computes, waits for the straggler in the collective, and computes again.
  const Phase compute{ComputePhase{kCompute, {gpus[0]}}, false};
  scenarios::Scenario what = stepped(fabric, {Phase{ComputePhase{kCompute, gpus}, false},
                                              Phase{gradients(fabric), false}, compute, compute});
  what.workload.stragglers.push_back({gpus[1], 0.5});
  const nlohmann::json report = run(what);
  EXPECT_GE(step_time(report), 4 * kCompute);
  EXPECT_EQ(compute_time(report), 3 * kCompute);
}

TEST(TrainingStep, TwoCommunicatorsOnDisjointGpusDoNotDisturbEachOther) {
  const Fabric fabric = *build_rack(racks({8}));
  CollectiveCall left = call(fabric, Collective::all_reduce, Algorithm::ring, 450'000 * 4);
  left.ranks = {GpuId{0x0100}, GpuId{0x0101}, GpuId{0x0102}, GpuId{0x0103}};
  CollectiveCall right = left;
  right.ranks = {GpuId{0x0104}, GpuId{0x0105}, GpuId{0x0106}, GpuId{0x0107}};
  const nlohmann::json report = run(stepped(fabric, {Phase{left, true}, Phase{right, true}}));
  EXPECT_EQ(times(report), (std::vector<Picoseconds>{12 * kMicrosecond, 12 * kMicrosecond}));
  EXPECT_EQ(step_time(report), 12 * kMicrosecond);
}

TEST(TrainingStep, RunsAreIndependentOfWhatRanBefore) {
  const Fabric fabric = *build_rack(racks({8}));
  scenarios::Scenario what = stepped(
      fabric, {Phase{ComputePhase{kCompute, all_gpus(fabric)}, false}, Phase{gradients(fabric), false}});
  what.workload.items.push_back(what.workload.items.front());
  what.workload.items.emplace_back(Measurement{{gradients(fabric)}});
  what.workload.items.push_back(what.workload.items.front());
  const nlohmann::json report = run(what);
  ASSERT_EQ(report["steps"].size(), 3u);
  for (const auto& step : report["steps"])
    EXPECT_EQ(step["time_ps"], report["steps"][0]["time_ps"]);
  EXPECT_EQ(report["results"][2]["time_ps"], 28 * kMicrosecond);
}

}  // namespace
}  // namespace cnuas::test
