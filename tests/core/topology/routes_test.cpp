#include "core/topology/routes.h"

#include <algorithm>
#include <cstdint>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

namespace cnuas {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

constexpr std::uint64_t kGigabyte = 1'000'000'000;
const LinkProfile kGpuLink{100 * kGigabyte, 300, std::nullopt};
const LinkProfile kCable{40 * kGigabyte, 1'000, std::nullopt};

std::vector<std::string> route(const RouteTable& table, GpuIndex src, GpuIndex dst) {
  std::vector<LinkIndex> links{4711};  // must be overwritten
  table.links(src, dst, links);
  std::vector<std::string> names;
  for (const LinkIndex link : links)
    names.push_back(link_name(table.fabric(), link));
  return names;
}

RackParameters racks(std::vector<unsigned> gpus_per_rack) {
  RackParameters parameters;
  parameters.gpus_per_rack = std::move(gpus_per_rack);
  parameters.gpu_link = kGpuLink;
  parameters.switch_latency_ps = 250;
  parameters.inter_switch = kCable;
  return parameters;
}

// `count` switches of different latencies, each with one GPU, and no cable yet.
Fabric islands(unsigned count) {
  Fabric fabric;
  for (unsigned i = 0; i < count; ++i) {
    std::string name = "s";
    name += std::to_string(i);
    fabric.switches.push_back(Switch{std::move(name), i + 1, 10 * (i + 1), 0});
    fabric.gpus.push_back(Gpu{make_gpu_id(i + 1, 0).value(), i, 0, kGpuLink});
  }
  return fabric;
}

TEST(Routes, WithinARackCrossTwoLinksAndOneSwitch) {
  const Fabric fabric = build_rack(racks({4})).value();
  const RouteTable table(fabric);
  EXPECT_THAT(route(table, 1, 3), ElementsAre("1/1 -> rack1", "rack1 -> 1/3"));
  EXPECT_THAT(route(table, 3, 1), ElementsAre("1/3 -> rack1", "rack1 -> 1/1"));
  EXPECT_THAT(table.between_switches(0, 0), IsEmpty());
  EXPECT_EQ(table.latency_ps(1, 3), 300 + 250 + 300);
  EXPECT_EQ(table.bottleneck_bytes_per_s(1, 3), 100 * kGigabyte);
}

TEST(Routes, BetweenAPairOfRacksCrossTheCable) {
  const Fabric fabric = build_pair(racks({2, 2})).value();
  const RouteTable table(fabric);
  EXPECT_THAT(route(table, 0, 3), ElementsAre("1/0 -> rack1", "rack1 -> rack2", "rack2 -> 2/1"));
  EXPECT_THAT(route(table, 3, 0), ElementsAre("2/1 -> rack2", "rack2 -> rack1", "rack1 -> 1/0"));
  EXPECT_EQ(table.latency_ps(0, 3), 300 + 250 + 1'000 + 250 + 300);
  EXPECT_EQ(table.bottleneck_bytes_per_s(0, 3), 40 * kGigabyte);
  EXPECT_EQ(table.latency_ps(0, 1), 300 + 250 + 300);
  EXPECT_EQ(table.bottleneck_bytes_per_s(0, 1), 100 * kGigabyte);
}

TEST(Routes, BetweenRacksOfASpineCrossTheSpine) {
  const Fabric fabric = build_spine(racks({1, 1, 2})).value();
  const RouteTable table(fabric);
  EXPECT_THAT(route(table, 0, 3),
              ElementsAre("1/0 -> rack1", "rack1 -> spine", "spine -> rack3", "rack3 -> 3/1"));
  EXPECT_EQ(table.latency_ps(0, 3), 300 + 250 + 1'000 + 250 + 1'000 + 250 + 300);
  EXPECT_THAT(route(table, 2, 3), ElementsAre("3/0 -> rack3", "rack3 -> 3/1"));
}

TEST(Routes, AddUpDifferentLatenciesAndTakeTheLeastRate) {
  Fabric fabric = islands(3);
  fabric.cables = {Cable{0, 1, LinkProfile{50 * kGigabyte, 1'000, std::nullopt}},
                   Cable{2, 1, LinkProfile{34 * kGigabyte, 2'000, PacketFormat{}}}};
  fabric.gpus[2].link = LinkProfile{100 * kGigabyte, 7, std::nullopt};
  ASSERT_TRUE(validate(fabric).has_value());
  const RouteTable table(fabric);
  EXPECT_EQ(table.latency_ps(0, 2), 300 + 10 + 1'000 + 20 + 2'000 + 30 + 7);
  EXPECT_EQ(table.latency_ps(2, 0), table.latency_ps(0, 2));
  EXPECT_EQ(table.bottleneck_bytes_per_s(0, 2), 32 * kGigabyte);  // 34 GB/s of wire carry 32 GB/s of payload
  EXPECT_EQ(table.bottleneck_bytes_per_s(0, 1), 50 * kGigabyte);
}

TEST(Routes, PreferFewerCablesToLessLatency) {
  Fabric fabric = islands(3);
  fabric.cables = {Cable{0, 1, LinkProfile{kGigabyte, 1, std::nullopt}},
                   Cable{1, 2, LinkProfile{kGigabyte, 1, std::nullopt}},
                   Cable{0, 2, LinkProfile{kGigabyte, kSecond, std::nullopt}}};
  const RouteTable table(fabric);
  EXPECT_THAT(route(table, 0, 2), ElementsAre("1/0 -> s0", "s0 -> s2", "s2 -> 3/0"));
}

TEST(Routes, TakeTheNextSwitchOfLowestIndexAmongEquals) {
  // 0 and 3 joined through 1 and through 2; the cables are listed so that their order says otherwise.
  Fabric fabric = islands(4);
  fabric.cables = {Cable{2, 3, kCable}, Cable{0, 2, kCable}, Cable{3, 1, kCable}, Cable{1, 0, kCable}};
  const RouteTable table(fabric);
  EXPECT_THAT(route(table, 0, 3), ElementsAre("1/0 -> s0", "s0 -> s1", "s1 -> s3", "s3 -> 4/0"));
  EXPECT_THAT(route(table, 3, 0), ElementsAre("4/0 -> s3", "s3 -> s1", "s1 -> s0", "s0 -> 1/0"));
}

TEST(Routes, TakeTheFirstOfParallelCables) {
  Fabric fabric = islands(2);
  fabric.cables = {Cable{1, 0, kCable}, Cable{0, 1, LinkProfile{400 * kGigabyte, 1, std::nullopt}}};
  const RouteTable table(fabric);
  EXPECT_THAT(table.between_switches(0, 1), ElementsAre(cable_link(fabric, 0, false)));
  EXPECT_THAT(table.between_switches(1, 0), ElementsAre(cable_link(fabric, 0, true)));
  EXPECT_EQ(table.bottleneck_bytes_per_s(0, 1), 40 * kGigabyte);
}

TEST(Routes, GoAroundAGrid) {
  // 0 - 1 - 2
  // |   |   |
  // 3 - 4 - 5
  Fabric fabric = islands(6);
  for (const auto& [a, b] : {std::pair{0u, 1u}, {1u, 2u}, {3u, 4u}, {4u, 5u}, {0u, 3u}, {1u, 4u}, {2u, 5u}})
    fabric.cables.push_back(Cable{a, b, kCable});
  const RouteTable table(fabric);
  EXPECT_THAT(route(table, 0, 5), ElementsAre("1/0 -> s0", "s0 -> s1", "s1 -> s2", "s2 -> s5", "s5 -> 6/0"));
  EXPECT_THAT(route(table, 5, 0), ElementsAre("6/0 -> s5", "s5 -> s2", "s2 -> s1", "s1 -> s0", "s0 -> 1/0"));
  EXPECT_THAT(route(table, 3, 2), ElementsAre("4/0 -> s3", "s3 -> s0", "s0 -> s1", "s1 -> s2", "s2 -> 3/0"));
}

TEST(Routes, LeaveOutSwitchesThatLeadNowhere) {
  Fabric fabric = islands(2);
  fabric.switches.push_back(Switch{"spare", 0, 0, 0});
  fabric.cables = {Cable{0, 1, kCable}};
  const RouteTable table(fabric);
  EXPECT_THAT(table.between_switches(0, 2), IsEmpty());
  EXPECT_THAT(route(table, 0, 1), ElementsAre("1/0 -> s0", "s0 -> s1", "s1 -> 2/0"));
}

// --- Against a slower, simpler algorithm ----------------------------------------------------------

constexpr std::uint32_t kFar = 1'000'000;

// Hop counts by Floyd and Warshall.
std::vector<std::vector<std::uint32_t>> hop_counts(const Fabric& fabric) {
  const std::size_t n = fabric.switches.size();
  std::vector<std::vector<std::uint32_t>> hops(n, std::vector<std::uint32_t>(n, kFar));
  for (std::size_t i = 0; i < n; ++i)
    hops[i][i] = 0;
  for (const Cable& cable : fabric.cables)
    hops[cable.a][cable.b] = hops[cable.b][cable.a] = 1;
  for (std::size_t k = 0; k < n; ++k) {
    for (std::size_t i = 0; i < n; ++i) {
      for (std::size_t j = 0; j < n; ++j)
        hops[i][j] = std::min(hops[i][j], hops[i][k] + hops[k][j]);
    }
  }
  return hops;
}

// A random tree, so that all is connected, and random further cables, parallel ones among them.
Fabric random_fabric() {
  const auto count = *rc::gen::inRange(1u, 12u);
  Fabric fabric = islands(count);
  const auto random_cable = [](SwitchIndex a, SwitchIndex b) {
    const auto rate = *rc::gen::inRange<std::uint64_t>(1, 1'000) * kGigabyte;
    const auto latency = *rc::gen::inRange<Picoseconds>(0, 5'000);
    return Cable{a, b, LinkProfile{rate, latency, PacketFormat{}}};
  };
  for (SwitchIndex i = 1; i < count; ++i)
    fabric.cables.push_back(random_cable(i, *rc::gen::inRange(0u, i)));
  if (count > 1) {
    const auto extra = *rc::gen::inRange(0, 16);
    for (int i = 0; i < extra; ++i) {
      const auto a = *rc::gen::inRange(0u, count);
      const auto step = *rc::gen::inRange(1u, count);
      fabric.cables.push_back(random_cable(a, (a + step) % count));
    }
  }
  return fabric;
}

// The next cable by the rule as it is documented.
CableIndex expected_cable(const Fabric& fabric, const std::vector<std::vector<std::uint32_t>>& hops,
                          SwitchIndex at, SwitchIndex to) {
  std::pair<SwitchIndex, CableIndex> best{std::numeric_limits<SwitchIndex>::max(), 0};
  for (CableIndex index = 0; index < fabric.cables.size(); ++index) {
    const Cable& cable = fabric.cables[index];
    if (cable.a != at && cable.b != at) continue;
    const SwitchIndex next = cable.a == at ? cable.b : cable.a;
    if (hops[next][to] + 1 == hops[at][to]) best = std::min(best, std::pair{next, index});
  }
  return best.second;
}

RC_GTEST_PROP(RoutesProperty, AreShortestAndFollowTheRuleForTies, ()) {
  const Fabric fabric = random_fabric();
  RC_ASSERT(validate(fabric).has_value());
  const RouteTable table(fabric);
  const auto hops = hop_counts(fabric);
  for (SwitchIndex from = 0; from < fabric.switches.size(); ++from) {
    for (SwitchIndex to = 0; to < fabric.switches.size(); ++to) {
      const auto path = table.between_switches(from, to);
      RC_ASSERT(path.size() == hops[from][to]);
      SwitchIndex at = from;
      Picoseconds latency = fabric.switches[from].latency_ps;
      std::uint64_t rate = kGpuLink.payload_bytes_per_s();
      for (const LinkIndex link : path) {
        const CableIndex index = expected_cable(fabric, hops, at, to);
        const Cable& cable = fabric.cables[index];
        RC_ASSERT(link == cable_link(fabric, index, cable.a == at));
        at = cable.a == at ? cable.b : cable.a;
        latency += cable.link.latency_ps + fabric.switches[at].latency_ps;
        rate = std::min(rate, cable.link.payload_bytes_per_s());
      }
      RC_ASSERT(at == to);
      if (from == to) continue;
      RC_ASSERT(table.latency_ps(from, to) == latency + 2 * kGpuLink.latency_ps);
      RC_ASSERT(table.bottleneck_bytes_per_s(from, to) == rate);
    }
  }
}

}  // namespace
}  // namespace cnuas
