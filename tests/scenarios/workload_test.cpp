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
