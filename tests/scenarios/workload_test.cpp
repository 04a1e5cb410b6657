#include "core/workload/workload.h"

#include "core/link/link_profile.h"
#include "scenarios/fabric_grammar.h"
#include "scenarios/workload_grammar.h"
#include "tests/scenarios/loading.h"

#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace cnuas::scenarios {
namespace {

using ccl::Algorithm;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

std::vector<std::uint64_t> sizes_of(const std::string& sizes, const std::string& type = "int8") {
  std::vector<std::uint64_t> result;
  for (const CollectiveCall& call :
       calls_of("- {collective: all_reduce, algorithm: ring, type: " + type + ", sizes: " + sizes + "}"))
    result.push_back(call.size_bytes);
  return result;
}

TEST(Measurement, SizesAreOuterAndAlgorithmsInner) {
  const auto calls = calls_of("- {collective: all_reduce, algorithms: [tree, ring], sizes: [8 B, 4 B]}");
  ASSERT_THAT(calls, SizeIs(4));
  EXPECT_EQ(calls[0].algorithm, Algorithm::tree);
  EXPECT_EQ(calls[1].algorithm, Algorithm::ring);
  EXPECT_EQ(calls[1].size_bytes, 8u);
  EXPECT_EQ(calls[2].size_bytes, 4u);
}

TEST(Measurement, DefaultsAreAllRanksFloat32SumAndRankZero) {
  const CollectiveCall call = calls_of("- {collective: broadcast, algorithm: tree, size: 1 KiB}").at(0);
  EXPECT_EQ(call.type, ccl::DataType::float32);
  EXPECT_EQ(call.op, ccl::Operator::sum);
  EXPECT_THAT(call.ranks, SizeIs(4));
  EXPECT_EQ(call.root, 0u);
  EXPECT_EQ(call.chunks, 0u);
}

TEST(Measurement, RangesOfSizes) {
  EXPECT_THAT(sizes_of("{from: 1 KiB, to: 20 KiB, factor: 4}"), ElementsAre(1024u, 4096u, 16384u));
  EXPECT_THAT(sizes_of("{from: 1 B, to: 1 B, factor: 2}"), ElementsAre(1u));
  EXPECT_THAT(sizes_of("{from: 0 B, to: 10 B, step: 5 B}"), ElementsAre(0u, 5u, 10u));
  EXPECT_THAT(sizes_of("{from: 0 B, to: 0 B, step: 1 B}"), ElementsAre(0u));
  EXPECT_THAT(sizes_of("{from: 1024 TiB, to: 1024 TiB, factor: 1000000}"),
              ElementsAre(std::uint64_t{1} << 50));
  EXPECT_THAT(sizes_of("{from: 1 B, to: 4096 B, step: 1 B}"), SizeIs(4096));
}

TEST(Measurement, SizesAreRoundedDownToWholeElements) {
  EXPECT_THAT(sizes_of("[7 B, 8 B, 1001 B]", "int32"), ElementsAre(4u, 8u, 1000u));
  EXPECT_THAT(sizes_of("{from: 1 B, to: 20 B, step: 1 B}", "float64"), ElementsAre(0u, 8u, 16u));
}

TEST(Measurement, RanksAreTheFirstOrThoseListed) {
  const std::string fabric = "gpus_per_rack: [1, 2]\nlink: nvlink4\ninter_switch: nvlink4";
  const auto ranks = [&](const std::string& text) {
    std::vector<std::string> names;
    const auto calls = calls_of("- {collective: all_gather, size: 1 KiB, ranks: " + text + "}", fabric);
    for (GpuId id : calls.at(0).ranks)
      names.push_back(to_string(id));
    return names;
  };
  EXPECT_THAT(ranks("2"), ElementsAre("1/0", "2/0"));
  EXPECT_THAT(ranks("[2/1, 1/0]"), ElementsAre("2/1", "1/0"));
  EXPECT_THAT(ranks("[\"2/1\", \"0x0100\"]"), ElementsAre("2/1", "1/0"));
}

TEST(Measurement, RootIsARankOrAGpu) {
  const auto root = [](const std::string& text) {
    return calls_of("- {collective: broadcast, algorithm: tree, size: 1 KiB, ranks: [1/2, 1/3, 1/0], root: " +
                    text + "}")
        .at(0)
        .root;
  };
  EXPECT_EQ(root("1"), 1u);
  EXPECT_EQ(root("1/0"), 2u);
  EXPECT_EQ(root("\"0x0102\""), 0u);
}

TEST(Measurement, AllMeansTheAlgorithmsOfTheCollective) {
  for (std::string_view name : kCollectives) {
    const auto collective = *ccl::parse_collective(name);
    const auto calls = calls_of("- {collective: " + std::string(name) + ", algorithms: all, size: 1 KiB}");
    std::vector<Algorithm> algorithms;
    for (const CollectiveCall& call : calls)
      algorithms.push_back(call.algorithm);
    const auto expected = ccl::algorithms_of(collective);
    EXPECT_EQ(algorithms, std::vector<Algorithm>(expected.begin(), expected.end()));
  }
}

TEST(Measurement, AutoIsResolvedForEachSizeAndIsTheDefault) {
  const std::string fabric = "gpus_per_rack: 64\nlink: {bandwidth: 100 GB/s, latency: 1 us}";
  const auto calls = calls_of("- {collective: all_gather, sizes: [1 KiB, 1 GiB]}", fabric);
  const auto stated = calls_of("- {collective: all_gather, algorithms: auto, sizes: [1 KiB, 1 GiB]}", fabric);
  ASSERT_THAT(calls, SizeIs(2));
  EXPECT_EQ(calls[0].algorithm, stated[0].algorithm);
  EXPECT_EQ(calls[1].algorithm, stated[1].algorithm);
  EXPECT_NE(calls[0].algorithm, Algorithm::ring) << "63 latencies are not the fastest for 1 KiB";
}

TEST(Step, PhasesKeepOrderRanksAndOverlap) {
  const Workload workload = workload_of(
      "- step: one\n  phases:\n    - {compute: 250 us, ranks: 2}\n"
      "    - {collective: all_reduce, algorithm: ring, size: 1 MB, overlap: true}\n    - {compute: 1 ps, "
      "overlap: false}");
  const auto& step = std::get<TrainingStep>(workload.items.at(0));
  EXPECT_EQ(step.name, "one");
  ASSERT_THAT(step.phases, SizeIs(3));
  EXPECT_EQ(std::get<ComputePhase>(step.phases[0].work).duration_ps, 250 * kMicrosecond);
  EXPECT_THAT(std::get<ComputePhase>(step.phases[0].work).ranks, SizeIs(2));
  EXPECT_EQ(std::get<CollectiveCall>(step.phases[1].work).size_bytes, 1'000'000u);
  EXPECT_TRUE(step.phases[1].overlap);
  EXPECT_FALSE(step.phases[2].overlap);
  EXPECT_THAT(std::get<ComputePhase>(step.phases[2].work).ranks, SizeIs(4));
}

const TrafficPhase& traffic_of(const Workload& workload, std::size_t item = 0, std::size_t phase = 0) {
  return std::get<TrafficPhase>(std::get<TrainingStep>(workload.items.at(item)).phases.at(phase).work);
}
std::string names_of(const std::vector<GpuId>& gpus) {
  std::string names;
  for (GpuId id : gpus)
    names += (names.empty() ? "" : " ") + to_string(id);
  return names;
}

TEST(Traffic, IsAStepOfOnePhase) {
  const Workload workload = workload_of(
      "- {traffic: point_to_point, from: [1/0, 1/1], to: [1/2, 1/2], size: 1 MiB, messages: 3, interval: 5 "
      "us}\n"
      "- {traffic: hotspot, from: 1/3, to: all, kind: doorbell, hot_fraction: 0.25, name: bells}\n"
      "- {traffic: uniform, from: all, to: [1/1, 1/0], kind: atomic, hot_fraction: 1}");
  const auto& step = std::get<TrainingStep>(workload.items.at(0));
  EXPECT_EQ(step.name, "point_to_point");
  ASSERT_THAT(step.phases, SizeIs(1));
  EXPECT_FALSE(step.phases[0].overlap);
  const TrafficPhase& pairs = traffic_of(workload, 0);
  EXPECT_EQ(pairs.pattern, TrafficPattern::point_to_point);
  EXPECT_EQ(pairs.kind, TrafficKind::data);
  EXPECT_EQ(names_of(pairs.senders), "1/0 1/1");
  EXPECT_EQ(names_of(pairs.receivers), "1/2 1/2");
  EXPECT_EQ(pairs.size_bytes, 1u << 20);
  EXPECT_EQ(pairs.messages, 3u);
  EXPECT_EQ(pairs.interval_ps, 5 * kMicrosecond);
  EXPECT_EQ(std::get<TrainingStep>(workload.items.at(1)).name, "bells");
  const TrafficPhase& hotspot = traffic_of(workload, 1);
  EXPECT_EQ(hotspot.pattern, TrafficPattern::hotspot);
  EXPECT_EQ(hotspot.kind, TrafficKind::doorbell);
  EXPECT_EQ(hotspot.messages, 1u);
  EXPECT_FALSE(hotspot.interval_ps);
  EXPECT_EQ(hotspot.hot_fraction, 0.25);
  EXPECT_EQ(names_of(hotspot.receivers), "1/0 1/1 1/2 1/3");
  EXPECT_EQ(traffic_of(workload, 2).pattern, TrafficPattern::uniform);
  EXPECT_EQ(traffic_of(workload, 2).kind, TrafficKind::atomic);
}

TEST(Traffic, AllInAnIncastAreAllButTheReceiver) {
  const Workload workload = workload_of(
      "- {traffic: incast, from: all, to: 1/2, size: 1 B}\n- {traffic: incast, from: \"all\", to: "
      "[\"0x0100\"], size: 1 B}");
  EXPECT_EQ(traffic_of(workload).pattern, TrafficPattern::incast);
  EXPECT_EQ(names_of(traffic_of(workload).senders), "1/0 1/1 1/3");
  EXPECT_EQ(names_of(traffic_of(workload, 1).senders), "1/1 1/2 1/3");
}

TEST(Traffic, IsAPhaseOfAStep) {
  const Workload workload = workload_of(
      "- step: s\n  phases:\n    - {traffic: incast, from: 1/1, to: 1/0, size: 1 B, overlap: true}\n"
      "    - {compute: 1 us}");
  const auto& step = std::get<TrainingStep>(workload.items.at(0));
  EXPECT_TRUE(step.phases.at(0).overlap);
  EXPECT_EQ(names_of(traffic_of(workload).senders), "1/1");
}

TEST(Faults, KeepWhatTheySay) {
  const Workload workload = workload_of(
      kSmallWorkload,
      "faults:\n  - {at: 10 us, port: 2/1, set: down, for: 50 us}\n"
      "  - {at: 0 us, link: [spine, rack2], set: down}\n  - {at: 1 us, gpu: 1/0, receiver: slow, hold: 10 "
      "us}\n"
      "  - {at: 1 us, gpu: 1/1, receiver: dead, for: 1 ms}\n  - {at: 1 us, port: 1/0, lanes: 3/4}\n"
      "  - {at: 1 us, link: [rack1, spine], lanes: 0.5}\n  - {at: 1 us, port: 1/0, bit_error_rate: 1e-9}\n"
      "  - {at: 1 us, link: [rack1, spine], bit_error_rate: 0.0025}\n  - {at: 2 ms, switch: spine, set: "
      "down}\n",
      "topology: spine\nracks: 2\ngpus_per_rack: 2\nlink: nvlink4\ninter_switch: nvlink4");
  ASSERT_THAT(workload.faults, SizeIs(9));
  const auto& faults = workload.faults;
  EXPECT_EQ(faults[0].at_ps, 10 * kMicrosecond);
  EXPECT_EQ(faults[0].duration_ps, 50 * kMicrosecond);
  EXPECT_EQ(to_string(std::get<GpuId>(std::get<LinkDown>(faults[0].what).link)), "2/1");
  EXPECT_EQ(std::get<CableIndex>(std::get<LinkDown>(faults[1].what).link), 1u);
  EXPECT_FALSE(faults[1].duration_ps);
  EXPECT_EQ(std::get<SlowReceiver>(faults[2].what).hold_ps, 10 * kMicrosecond);
  EXPECT_EQ(to_string(std::get<SlowReceiver>(faults[2].what).gpu), "1/0");
  EXPECT_EQ(to_string(std::get<DeadReceiver>(faults[3].what).gpu), "1/1");
  EXPECT_EQ(std::get<LanesLost>(faults[4].what).rate_left, 0.75);
  EXPECT_EQ(std::get<LanesLost>(faults[5].what).rate_left, 0.5);
  EXPECT_EQ(std::get<CableIndex>(std::get<LanesLost>(faults[5].what).link), 0u);
  EXPECT_EQ(std::get<BitErrorRate>(faults[6].what).rate, 1e-9);
  EXPECT_EQ(std::get<BitErrorRate>(faults[7].what).rate, 0.0025);
  EXPECT_EQ(std::get<SwitchRestart>(faults[8].what).target, 2u);
}

// What has an effect only on frames is warned about only without them.
TEST(Fidelity, DecidesWhichSettingsHaveAnEffect) {
  const std::string fabric =
      "gpus_per_rack: 2\nlink: nvlink4\nframe_size: 9 KB\nswitch: {port_buffer: 1 MiB, "
      "forwarding: cut_through, stall_timeout: 1 ms}";
  // The check, which has no Scenario yet, must expect the fidelity that the Scenario then runs in.
  const auto warnings = [&](const std::string& rest) {
    const std::string text = scenario_text(fabric, kSmallWorkload, rest);
    const std::size_t count = messages(text).size();
    EXPECT_EQ(fidelity_of(loaded(text)), count == 0 ? Fidelity::frame : Fidelity::fluid) << rest;
    return count;
  };
  const std::string fault = "faults: [{at: 1 us, port: 1/0, lanes: 1/2}]\n";
  EXPECT_EQ(warnings(""), 4u);
  EXPECT_EQ(warnings("fidelity: auto\n"), 4u);
  EXPECT_EQ(warnings("fidelity: fluid\n"), 4u);
  EXPECT_EQ(warnings("fidelity: frame\n"), 0u);
  EXPECT_EQ(warnings("faults: []\n"), 4u);
  EXPECT_EQ(warnings(fault), 0u);
  EXPECT_EQ(warnings("fidelity: auto\n" + fault), 0u);
  EXPECT_EQ(loaded(scenario_text(fabric, kSmallWorkload, "fidelity: frame\n")).fidelity, Fidelity::frame);
}

TEST(Fidelity, IsFramesWhereThereAreFaultsUnlessAskedFor) {
  EXPECT_EQ(chosen_fidelity(Fidelity::automatic, false), Fidelity::fluid);
  EXPECT_EQ(chosen_fidelity(Fidelity::automatic, true), Fidelity::frame);
  for (const bool faults : {false, true}) {
    EXPECT_EQ(chosen_fidelity(Fidelity::fluid, faults), Fidelity::fluid);
    EXPECT_EQ(chosen_fidelity(Fidelity::frame, faults), Fidelity::frame);
  }
}

TEST(Fidelity, FluidAllowsCircles) {
  const std::string fabric =
      "topology: explicit\nlink: nvlink4\nswitches: [{name: a, rack: 1, gpus: 2}, {name: b, rack: 2, gpus: "
      "2}]\n"
      "links:\n  - {between: [a, b], preset: nvlink4}\n  - {between: [b, a], preset: nvlink4}";
  EXPECT_THAT(messages(scenario_text(fabric, kSmallWorkload)), IsEmpty());
  EXPECT_THAT(messages(scenario_text(fabric, kSmallWorkload, "fidelity: frame\n")),
              ElementsAre(HasSubstr("closes a circle")));
}

TEST(Background, FlowsKeepWhatTheySay) {
  const Workload workload = workload_of(kSmallWorkload,
                                        "background:\n  - {from: 1/0, to: 1/1}\n  - {from: 1/2, to: 1/3, "
                                        "rate: 100 GB/s, start: 5 us, for: 1 ms}\n");
  ASSERT_THAT(workload.background, SizeIs(2));
  EXPECT_FALSE(workload.background[0].rate_bytes_per_s);
  EXPECT_FALSE(workload.background[0].duration_ps);
  EXPECT_EQ(workload.background[1].rate_bytes_per_s, 100'000'000'000u);
  EXPECT_EQ(workload.background[1].start_ps, 5 * kMicrosecond);
  EXPECT_EQ(workload.background[1].duration_ps, kMillisecond);
}

TEST(Stragglers, KeepTheirSpeed) {
  const Workload workload = workload_of("- {step: s, phases: [{compute: 1 us}]}",
                                        "stragglers: [{gpu: 1/3, speed: 0.5}, {gpu: 1/2, speed: 1}]\n");
  ASSERT_THAT(workload.stragglers, SizeIs(2));
  EXPECT_EQ(workload.stragglers[0].speed, 0.5);
  EXPECT_EQ(workload.stragglers[1].speed, 1.0);
}

TEST(Workload, EmptyListsBesideItAreAllowed) {
  const Workload workload = workload_of(kSmallWorkload, "background: []\nstragglers: []\n");
  EXPECT_THAT(workload.background, IsEmpty());
  EXPECT_THAT(messages(scenario_text(kSmallFabric, kSmallWorkload, "stragglers: []\n")), IsEmpty());
}

// The tables of names are written out for the compiler; they must be those of core.
TEST(Names, AreThoseOfCore) {
  const auto names = [](auto begin, auto end) { return std::vector<std::string_view>(begin, end); };
  std::vector<std::string_view> presets;
  for (const LinkPreset& preset : link_presets())
    presets.push_back(preset.name);
  EXPECT_EQ(names(std::begin(kPresetNames), std::end(kPresetNames)), presets);
  for (std::size_t i = 0; i < std::size(kCollectives); ++i)
    EXPECT_EQ(ccl::name(static_cast<ccl::Collective>(i)), kCollectives[i]);
  for (std::size_t i = 0; i < std::size(kDataTypes); ++i)
    EXPECT_EQ(ccl::name(static_cast<ccl::DataType>(i)), kDataTypes[i]);
  for (std::size_t i = 0; i < std::size(kOperators); ++i)
    EXPECT_EQ(ccl::name(static_cast<ccl::Operator>(i)), kOperators[i]);
  for (std::size_t i = 1; i < std::size(kAlgorithms); ++i) {
    EXPECT_EQ(ccl::name(static_cast<Algorithm>(i - 1)), kAlgorithms[i]);
    EXPECT_EQ(kAlgorithmsOrAll[i + 1], kAlgorithms[i]);
  }
  EXPECT_FALSE(ccl::parse_collective(ccl::name(static_cast<ccl::Collective>(std::size(kCollectives)))));
  EXPECT_FALSE(ccl::parse_algorithm(ccl::name(static_cast<Algorithm>(std::size(kAlgorithms) - 1))));
}

}  // namespace
}  // namespace cnuas::scenarios
