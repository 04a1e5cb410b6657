// What breaks in frame fidelity, and what must hold all the same. Every run checks by itself that no frame is
// lost without a count; a violation would be an "error" in the report.
#include "sim/frame/frame_mover.h"
#include "tests/sim/simulation.h"

namespace cnuas::test {
namespace {

using ccl::Algorithm;
using ccl::Collective;

constexpr GpuId gpu(unsigned rack, unsigned slot) {
  return GpuId{static_cast<std::uint16_t>(rack << 8 | slot)};
}

Phase traffic(TrafficPattern pattern, std::vector<GpuId> from, std::vector<GpuId> to, std::uint64_t size,
              std::uint64_t messages, bool overlap = true) {
  TrafficPhase phase;
  phase.pattern = pattern;
  phase.senders = std::move(from);
  phase.receivers = std::move(to);
  phase.size_bytes = size;
  phase.messages = messages;
  return Phase{phase, overlap};
}

scenarios::Scenario framed(Fabric fabric, std::vector<Phase> phases, std::vector<Fault> faults = {}) {
  scenarios::Scenario what = scenario(std::move(fabric), {});
  what.fidelity = Fidelity::frame;
  what.workload.items.emplace_back(TrainingStep{"traffic", std::move(phases)});
  what.workload.faults = std::move(faults);
  return what;
}

Fabric rack_of(unsigned gpus, Picoseconds stall_timeout = 50 * kMillisecond) {
  Fabric fabric = *build_rack(racks({gpus}));
  for (Switch& each : fabric.switches)
    each.stall_timeout_ps = stall_timeout;
  return fabric;
}

std::uint64_t arrived(const nlohmann::json& report, std::size_t row) {
  return report.at("traffic").at(row).at("messages_arrived").get<std::uint64_t>();
}
Picoseconds time_of(const nlohmann::json& report, std::size_t row) {
  return report.at("traffic").at(row).at("time_ps").get<Picoseconds>();
}

TEST(Lossless, AnIncastLosesNothingAndKeepsThePortBusy) {
  const Fabric fabric = rack_of(8);
  const nlohmann::json report = run(
      framed(fabric, {traffic(TrafficPattern::incast,
                              {gpu(1, 1), gpu(1, 2), gpu(1, 3), gpu(1, 4), gpu(1, 5), gpu(1, 6), gpu(1, 7)},
                              {gpu(1, 0)}, 1 << 20, 20)}));
  ASSERT_FALSE(report.contains("error")) << report;
  EXPECT_EQ(arrived(report, 0), 7u * 20);
  EXPECT_GT(report["traffic"][0]["throughput_bytes_per_s"].get<double>(), 0.85 * 450e9);
}

TEST(Lossless, ASlowReceiverHoldsUpItsSenderAndLosesNothing) {
  const nlohmann::json report =
      run(framed(rack_of(4), {traffic(TrafficPattern::point_to_point, {gpu(1, 0)}, {gpu(1, 1)}, 640'000, 10)},
                 {Fault{0, {}, SlowReceiver{gpu(1, 1), 5 * kMicrosecond}}}));
  ASSERT_FALSE(report.contains("error")) << report;
  EXPECT_EQ(arrived(report, 0), 10u);
  EXPECT_GT(time_of(report, 0), 95 * 5 * kMicrosecond);  // some hundred frames, one at a time
}

TEST(HeadOfLine, OneStalledReceiverDoesNotStopOtherPairs) {
  const auto pairs = [](bool stalled) {
    std::vector<Fault> faults;
    if (stalled) faults.push_back(Fault{0, {}, SlowReceiver{gpu(1, 1), 200 * kMicrosecond}});
    return run(framed(rack_of(6),
                      {traffic(TrafficPattern::point_to_point, {gpu(1, 0)}, {gpu(1, 1)}, 1 << 20, 2),
                       traffic(TrafficPattern::point_to_point, {gpu(1, 2), gpu(1, 4)}, {gpu(1, 3), gpu(1, 5)},
                               1 << 20, 50)},
                      faults));
  };
  const nlohmann::json well = pairs(false);
  const nlohmann::json stalled = pairs(true);
  ASSERT_FALSE(stalled.contains("error")) << stalled;
  EXPECT_GT(time_of(stalled, 0), 10 * time_of(well, 0));
  EXPECT_EQ(time_of(stalled, 1), time_of(well, 1));
}

TEST(Watchdog, ADeadReceiverHoldsUpASenderOnceAndNobodyBeyondTheTimeout) {
  const Picoseconds timeout = 100 * kMicrosecond;
  // 1/0 sends to the dead 1/1 and then to 1/2; 1/3 sends to 1/4 all the while.
  const nlohmann::json report =
      run(framed(rack_of(5, timeout),
                 {traffic(TrafficPattern::point_to_point, {gpu(1, 0)}, {gpu(1, 1)}, 8 << 20, 3),
                  traffic(TrafficPattern::point_to_point, {gpu(1, 3)}, {gpu(1, 4)}, 1 << 20, 10)},
                 {Fault{0, {}, DeadReceiver{gpu(1, 1)}}}));
  ASSERT_FALSE(report.contains("error")) << report;
  EXPECT_EQ(arrived(report, 0), 0u);
  EXPECT_EQ(report["traffic"][0]["messages_sent"], 3);  // the sender got rid of all of them
  EXPECT_EQ(report["traffic"][0]["incomplete"], "0 of 3 messages sent arrived");
  EXPECT_EQ(arrived(report, 1), 10u);
}

TEST(Watchdog, AReaderThatMovesAgainIsSentToAgain) {
  const Picoseconds timeout = 100 * kMicrosecond;
  Phase phase = traffic(TrafficPattern::point_to_point, {gpu(1, 0)}, {gpu(1, 1)}, 1000, 20);
  std::get<TrafficPhase>(phase.work).interval_ps = 50 * kMicrosecond;
  const nlohmann::json report =
      run(framed(rack_of(2, timeout), {phase}, {Fault{0, 500 * kMicrosecond, DeadReceiver{gpu(1, 1)}}}));
  ASSERT_FALSE(report.contains("error")) << report;
  // One that it still took, and those that were sent from 500 us on.
  EXPECT_EQ(arrived(report, 0), 11u);
}

TEST(LinkDown, FramesInFlightAreLostAndTheRestGoesOnAfterwards) {
  const nlohmann::json report = run(framed(
      rack_of(4),
      {traffic(TrafficPattern::point_to_point, {gpu(1, 0), gpu(1, 2)}, {gpu(1, 1), gpu(1, 3)}, 1 << 20, 100)},
      {Fault{20 * kMicrosecond, 30 * kMicrosecond, LinkDown{gpu(1, 1)}}}));
  ASSERT_FALSE(report.contains("error")) << report;
  // While the port is down its frames have nowhere to go: the GPU has left the FDB. After it is up again they
  // arrive.
  const std::uint64_t lost = 200 - arrived(report, 0);
  EXPECT_GT(lost, 5u);
  EXPECT_LT(lost, 40u);
}

TEST(LinkDown, ACableTakesTheOtherRackAwayAndBringsItBack) {
  Fabric fabric = *build_pair(racks({2, 2}, 200 * kGB));
  const nlohmann::json report =
      run(framed(fabric, {traffic(TrafficPattern::point_to_point, {gpu(1, 0)}, {gpu(2, 0)}, 1 << 20, 100)},
                 {Fault{100 * kMicrosecond, 100 * kMicrosecond, LinkDown{CableIndex{0}}}}));
  ASSERT_FALSE(report.contains("error")) << report;
  EXPECT_LT(arrived(report, 0), 100u);
  EXPECT_GT(arrived(report, 0), 50u);
}

TEST(SwitchRestart, EverythingIsLearnedAgain) {
  const nlohmann::json report = run(
      framed(rack_of(4), {traffic(TrafficPattern::point_to_point, {gpu(1, 0)}, {gpu(1, 1)}, 1 << 20, 100)},
             {Fault{50 * kMicrosecond, 20 * kMicrosecond, SwitchRestart{0}}}));
  ASSERT_FALSE(report.contains("error")) << report;
  EXPECT_GE(arrived(report, 0), 95u);  // a GPU whose link is down keeps what it has not sent
  EXPECT_LT(arrived(report, 0), 100u);
}

TEST(Credits, LimitALinkToThemselvesARoundTrip) {
  RackParameters parameters = racks({2});
  parameters.gpu_link.credit_bytes = 65536;
  const Fabric fabric = *build_rack(parameters);
  const nlohmann::json report =
      run(framed(fabric, {traffic(TrafficPattern::point_to_point, {gpu(1, 0)}, {gpu(1, 1)}, 65524, 100)}));
  // A frame of 64 KiB, then nothing until its acknowledgement has come back.
  const double round_trip = 2 * 500e-9 + 65536 / 450e9;
  EXPECT_NEAR(report["traffic"][0]["throughput_bytes_per_s"].get<double>(), 65524 / round_trip,
              0.01 * 65524 / round_trip);
  parameters.gpu_link.credit_bytes = 4 << 20;
  const nlohmann::json plenty =
      run(framed(*build_rack(parameters),
                 {traffic(TrafficPattern::point_to_point, {gpu(1, 0)}, {gpu(1, 1)}, 65524, 1000)}));
  EXPECT_GT(plenty["traffic"][0]["throughput_bytes_per_s"].get<double>(), 0.98 * 450e9);
}

// Flits and packet headers of NVLink, for frames that are one packet: what is left of the raw rate for the
// frame.
TEST(Packets, TakeTheirShareOfTheRate) {
  for (const auto& [payload, share] :
       {std::pair{16u, 0.50}, {32u, 0.667}, {64u, 0.80}, {128u, 0.889}, {256u, 0.941}}) {
    RackParameters parameters = racks({2});
    parameters.gpu_link = find_link_preset("nvlink4")->profile;
    Fabric fabric = *build_rack(parameters);
    fabric.frame_bytes = 4096;
    const auto time = [&](std::uint64_t messages) {
      const Phase phase = traffic(TrafficPattern::point_to_point, {gpu(1, 0)}, {gpu(1, 1)},
                                  payload - wire::kHeaderBytes, messages);
      return time_of(run(framed(fabric, {phase})), 0);
    };
    const double a_frame_ps = static_cast<double>(time(3000) - time(1000)) / 2000;
    EXPECT_NEAR(payload / a_frame_ps / 0.45, share, 0.003) << payload;
  }
}

TEST(Lanes, HalfOfThemMeansTwiceTheTime) {
  const auto with = [](std::vector<Fault> faults) {
    return time_of(
        run(framed(rack_of(2),
                   {traffic(TrafficPattern::point_to_point, {gpu(1, 0)}, {gpu(1, 1)}, 45'000'000, 10)},
                   faults)),
        0);
  };
  const double ratio =
      static_cast<double>(with({Fault{0, {}, LanesLost{gpu(1, 0), 0.5}}})) / static_cast<double>(with({}));
  EXPECT_NEAR(ratio, 2, 0.01);
}

TEST(BitErrors, CostReplaysAndNoFrames) {
  const auto with = [](double rate, std::uint64_t seed) {
    scenarios::Scenario what = framed(
        rack_of(2), {traffic(TrafficPattern::point_to_point, {gpu(1, 0)}, {gpu(1, 1)}, 45'000'000, 10)},
        {Fault{0, {}, BitErrorRate{gpu(1, 0), rate}}});
    what.seed = seed;
    return run(what);
  };
  const nlohmann::json rare = with(1e-9, 1);
  const nlohmann::json often = with(1e-7, 1);
  EXPECT_EQ(arrived(often, 0), 10u);
  EXPECT_GT(time_of(often, 0), time_of(rare, 0));
  // 450 MB at 1e-7 a bit: some 360 packets again, each costing 1 us and its own time.
  const double extra_us = static_cast<double>(time_of(often, 0) - time_of(with(1e-15, 1), 0)) / 1e6;
  EXPECT_NEAR(extra_us, 360, 100);
  EXPECT_EQ(with(1e-7, 1), often);  // the same seed, the same run
  EXPECT_NE(time_of(with(1e-7, 2), 0), time_of(often, 0));
}

TEST(Collectives, AFaultLeavesThemIncompleteAndSaysWhoWaits) {
  Fabric fabric = rack_of(4);
  scenarios::Scenario what =
      scenario(fabric, {call(fabric, Collective::all_reduce, Algorithm::ring, 1 << 24)});
  what.fidelity = Fidelity::frame;
  what.workload.faults = {Fault{20 * kMicrosecond, 10 * kMicrosecond, LinkDown{gpu(1, 2)}}};
  const nlohmann::json report = run(what);
  ASSERT_FALSE(report.contains("error")) << report;
  EXPECT_TRUE(report["results"][0]["time_ps"].is_null());
  EXPECT_THAT(report["results"][0]["incomplete"].get<std::string>(),
              ::testing::HasSubstr("waits for a message from rank"));
}

TEST(Traffic, DoorbellsAndAtomicsAreFramesOfTheirTypes) {
  TrafficPhase bells;
  bells.kind = TrafficKind::doorbell;
  bells.senders = {gpu(1, 0)};
  bells.receivers = {gpu(1, 1)};
  bells.messages = 5;
  bells.interval_ps = 10 * kMicrosecond;
  TrafficPhase atomics = bells;
  atomics.kind = TrafficKind::atomic;
  const scenarios::Scenario what = framed(rack_of(2), {Phase{bells, true}, Phase{atomics, true}});
  const Result<std::string> counts = sim::in_child_process([&]() -> std::string {
    const Result<sim::RunResult> result = sim::simulate(what, {}, [](const sim::Progress&) {});
    if (!result) return result.error().message;
    const fabric_switch::PortCounters& port = result->switches[0].counters(0);
    const auto rx = [&](wire::FrameType type) {
      return std::to_string(port.by_type[fabric_switch::slot(type)].rx_frames);
    };
    return rx(wire::FrameType::doorbell) + " " + rx(wire::FrameType::atomic) + " " +
           rx(wire::FrameType::data) + " " + rx(wire::FrameType::discovery);
  });
  EXPECT_EQ(*counts, "5 5 0 1");
}

TEST(Traffic, UniformAndHotspotReachWhomTheyShould) {
  const Fabric fabric = *build_spine(racks({3, 3, 2}, 200 * kGB));
  const nlohmann::json report =
      run(framed(fabric, {traffic(TrafficPattern::uniform, all_gpus(fabric), all_gpus(fabric), 10'000, 50),
                          traffic(TrafficPattern::hotspot, all_gpus(fabric), all_gpus(fabric), 10'000, 50)}));
  ASSERT_FALSE(report.contains("error")) << report;
  EXPECT_EQ(arrived(report, 0), 400u);
  EXPECT_EQ(arrived(report, 1), 400u);
  EXPECT_GT(report["traffic"][1]["latency_p99_ps"].get<Picoseconds>(),
            report["traffic"][0]["latency_p50_ps"].get<Picoseconds>());
}

}  // namespace
}  // namespace cnuas::test
