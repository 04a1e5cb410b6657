#include "core/topology/fabric.h"

#include <algorithm>
#include <cstdint>
#include <functional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

namespace cnuas {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

const LinkProfile kGpuLink{450'000'000'000, 300 * kNanosecond, PacketFormat{}};
const LinkProfile kInterSwitch{400'000'000'000, kMicrosecond, std::nullopt};

RackParameters racks(std::vector<unsigned> gpus_per_rack) {
  RackParameters parameters;
  parameters.gpus_per_rack = std::move(gpus_per_rack);
  parameters.gpu_link = kGpuLink;
  parameters.switch_latency_ps = 250 * kNanosecond;
  parameters.port_buffer_bytes = 64 * 1024;
  parameters.inter_switch = kInterSwitch;
  return parameters;
}

std::vector<std::string> gpu_names(const Fabric& fabric) {
  std::vector<std::string> names;
  for (const Gpu& gpu : fabric.gpus)
    names.push_back(to_string(gpu.id));
  return names;
}

std::vector<std::uint32_t> hosts_of_first_switch(const Fabric& fabric) {
  std::vector<std::uint32_t> hosts;
  for (const Gpu& gpu : fabric.gpus) {
    if (gpu.attached == 0) hosts.push_back(gpu.host);
  }
  return hosts;
}

// --- Builders ------------------------------------------------------------------------------------

TEST(BuildRack, IsOneSwitchWithItsGpus) {
  const Fabric fabric = build_rack(racks({4})).value();
  ASSERT_EQ(fabric.switches.size(), 1u);
  EXPECT_EQ(fabric.switches[0].name, "rack1");
  EXPECT_EQ(fabric.switches[0].rack, 1u);
  EXPECT_EQ(fabric.switches[0].latency_ps, 250 * kNanosecond);
  EXPECT_EQ(fabric.switches[0].port_buffer_bytes, 64u * 1024);
  EXPECT_THAT(gpu_names(fabric), ElementsAre("1/0", "1/1", "1/2", "1/3"));
  for (const Gpu& gpu : fabric.gpus) {
    EXPECT_EQ(gpu.attached, 0u);
    EXPECT_EQ(gpu.link, kGpuLink);
  }
  EXPECT_TRUE(fabric.cables.empty());
  EXPECT_EQ(link_count(fabric), 8u);
}

TEST(BuildRack, NumbersFromTheGivenRack) {
  RackParameters parameters = racks({2});
  parameters.first_rack = 7;
  const Fabric fabric = build_rack(parameters).value();
  EXPECT_EQ(fabric.switches[0].name, "rack7");
  EXPECT_THAT(gpu_names(fabric), ElementsAre("7/0", "7/1"));
}

TEST(BuildRack, DealsGpusToHostsInSlotOrder) {
  RackParameters parameters = racks({8});
  EXPECT_THAT(hosts_of_first_switch(build_rack(parameters).value()), ElementsAre(0, 0, 0, 0, 0, 0, 0, 0));
  parameters.hosts_per_rack = 2;
  EXPECT_THAT(hosts_of_first_switch(build_rack(parameters).value()), ElementsAre(0, 0, 0, 0, 1, 1, 1, 1));
  parameters.hosts_per_rack = 3;
  EXPECT_THAT(hosts_of_first_switch(build_rack(parameters).value()), ElementsAre(0, 0, 0, 1, 1, 1, 2, 2));
  parameters.hosts_per_rack = 100;  // more hosts than GPUs: one each
  EXPECT_THAT(hosts_of_first_switch(build_rack(parameters).value()), ElementsAre(0, 1, 2, 3, 4, 5, 6, 7));
  parameters.hosts_per_rack = 0;
  EXPECT_THAT(hosts_of_first_switch(build_rack(parameters).value()), ElementsAre(0, 0, 0, 0, 0, 0, 0, 0));
}

RC_GTEST_PROP(BuildRackProperty, HostsAreFilledAsEvenlyAsTheyGo, ()) {
  RackParameters parameters = racks({*rc::gen::inRange(1u, 257u)});
  parameters.hosts_per_rack = *rc::gen::inRange(1u, 300u);
  const Fabric fabric = build_rack(parameters).value();
  const unsigned gpus = parameters.gpus_per_rack[0];
  const unsigned hosts = std::min(gpus, parameters.hosts_per_rack);
  std::vector<unsigned> on_host(hosts, 0);
  for (std::size_t i = 0; i < fabric.gpus.size(); ++i) {
    RC_ASSERT(fabric.gpus[i].host < hosts);
    if (i > 0) RC_ASSERT(fabric.gpus[i].host >= fabric.gpus[i - 1].host);
    ++on_host[fabric.gpus[i].host];
  }
  const auto [least, most] = std::minmax_element(on_host.begin(), on_host.end());
  RC_ASSERT(*least >= gpus / hosts);
  RC_ASSERT(*most <= gpus / hosts + 1);
}

TEST(BuildRack, HoldsUpTo256Gpus) {
  const Fabric fabric = build_rack(racks({256})).value();
  EXPECT_EQ(fabric.gpus.size(), 256u);
  EXPECT_EQ(to_string(fabric.gpus.back().id), "1/255");
}

TEST(BuildPair, IsTwoRacksAndACable) {
  const Fabric fabric = build_pair(racks({2, 1})).value();
  ASSERT_EQ(fabric.switches.size(), 2u);
  EXPECT_EQ(fabric.switches[1].name, "rack2");
  EXPECT_EQ(fabric.switches[1].rack, 2u);
  EXPECT_THAT(gpu_names(fabric), ElementsAre("1/0", "1/1", "2/0"));
  EXPECT_EQ(fabric.gpus[2].attached, 1u);
  ASSERT_EQ(fabric.cables.size(), 1u);
  EXPECT_EQ(fabric.cables[0].a, 0u);
  EXPECT_EQ(fabric.cables[0].b, 1u);
  EXPECT_EQ(fabric.cables[0].link, kInterSwitch);
  EXPECT_EQ(link_count(fabric), 8u);
}

TEST(BuildSpine, IsACableFromEveryRackToTheSpine) {
  const Fabric fabric = build_spine(racks({1, 2, 3})).value();
  ASSERT_EQ(fabric.switches.size(), 4u);
  EXPECT_EQ(fabric.switches[3].name, "spine");
  EXPECT_EQ(fabric.switches[3].rack, 0u);
  EXPECT_EQ(fabric.switches[3].latency_ps, 250 * kNanosecond);
  EXPECT_THAT(gpu_names(fabric), ElementsAre("1/0", "2/0", "2/1", "3/0", "3/1", "3/2"));
  ASSERT_EQ(fabric.cables.size(), 3u);
  for (SwitchIndex rack = 0; rack < 3; ++rack) {
    EXPECT_EQ(fabric.cables[rack].a, rack);
    EXPECT_EQ(fabric.cables[rack].b, 3u);
    EXPECT_EQ(fabric.cables[rack].link, kInterSwitch);
  }
}

TEST(BuildSpine, TakesFrom1To255Racks) {
  EXPECT_EQ(build_spine(racks({1}))->switches.size(), 2u);
  EXPECT_EQ(build_spine(racks(std::vector<unsigned>(255, 255)))->gpus.size(), 255u * 255);
}

struct Refusal {
  const char* what;
  Result<Fabric> result;
  std::string message;
  std::string where;
};

TEST(Builders, SayWhatTheyRefuse) {
  RackParameters at_zero = racks({2});
  at_zero.first_rack = 0;
  RackParameters past_the_last = racks({1, 1});
  past_the_last.first_rack = 255;
  RackParameters last_slot = racks({256});
  last_slot.first_rack = 255;
  RackParameters no_rate = racks({2});
  no_rate.gpu_link.bandwidth_bytes_per_s = 0;
  RackParameters no_cable_rate = racks({2, 2});
  no_cable_rate.inter_switch.bandwidth_bytes_per_s = 0;
  RackParameters negative = racks({2});
  negative.switch_latency_ps = -1;

  const Refusal refusals[] = {
      {"no rack", build_rack(racks({})), "topology 'rack' is one rack, not 0", "fabric"},
      {"two racks in one", build_rack(racks({1, 1})), "topology 'rack' is one rack, not 2", "fabric"},
      {"half a pair", build_pair(racks({1})), "topology 'pair' is two racks, not 1", "fabric"},
      {"too many for a pair", build_pair(racks({1, 1, 1})), "topology 'pair' is two racks, not 3", "fabric"},
      {"empty spine", build_spine(racks({})), "topology 'spine' takes 1 to 255 racks, not 0", "fabric"},
      {"spine too wide", build_spine(racks(std::vector<unsigned>(256, 1))),
       "topology 'spine' takes 1 to 255 racks, not 256", "fabric"},
      {"empty rack", build_rack(racks({0})), "a rack holds 1 to 256 GPUs, not 0", "rack1"},
      {"full rack", build_pair(racks({1, 257})), "a rack holds 1 to 256 GPUs, not 257", "rack2"},
      {"GPU 0x0000", build_rack(at_zero), "0x0000", "GPU 0/0"},
      {"GPU 0xFFFF", build_rack(last_slot), "0xFFFF", "GPU 255/255"},
      {"rack 256", build_pair(past_the_last), "rack numbers go from 0 to 255, and 256 is beyond",
       "GPU 256/0"},
      {"no rate", build_rack(no_rate), "its link has no bandwidth", "GPU 1/0"},
      {"no rate between racks", build_pair(no_cable_rate), "it has no bandwidth",
       "cable between 'rack1' and 'rack2'"},
      {"negative latency", build_rack(negative), "its latency is negative", "switch 'rack1'"},
  };
  for (const Refusal& refusal : refusals) {
    ASSERT_FALSE(refusal.result) << refusal.what;
    EXPECT_EQ(refusal.result.error().code, ErrorCode::invalid_argument) << refusal.what;
    EXPECT_THAT(refusal.result.error().message, HasSubstr(refusal.message)) << refusal.what;
    EXPECT_EQ(refusal.result.error().where, refusal.where) << refusal.what;
  }
}

// --- validate ------------------------------------------------------------------------------------

// Three switches in a row, a GPU at either end and one in the middle.
Fabric row() {
  Fabric fabric;
  fabric.switches = {Switch{"left", 1, 100, 0}, Switch{"middle", 2, 200, 0}, Switch{"right", 3, 400, 0}};
  fabric.gpus = {Gpu{GpuId{0x0100}, 0, 0, kGpuLink}, Gpu{GpuId{0x0200}, 1, 0, kGpuLink},
                 Gpu{GpuId{0x0300}, 2, 0, kGpuLink}};
  fabric.cables = {Cable{0, 1, kInterSwitch}, Cable{1, 2, kInterSwitch}};
  return fabric;
}

struct Violation {
  const char* what;
  std::function<void(Fabric&)> damage;
  ErrorCode code;
  std::string message;
  std::string where;
};

TEST(Validate, AcceptsAWellFormedFabric) {
  EXPECT_TRUE(validate(row()).has_value());
}

TEST(Validate, AcceptsASpareSwitchWithoutGpus) {
  Fabric fabric = row();
  fabric.switches.push_back(Switch{"spare", 0, 0, 0});
  EXPECT_TRUE(validate(fabric).has_value());
}

TEST(Validate, NamesEveryViolation) {
  const auto bad = ErrorCode::invalid_argument;
  const Violation violations[] = {
      {"nameless switch", [](Fabric& f) { f.switches[1].name.clear(); }, bad, "a switch needs a name",
       "switch"},
      {"name twice", [](Fabric& f) { f.switches[2].name = "left"; }, bad, "two switches have this name",
       "switch 'left'"},
      {"switch into the past", [](Fabric& f) { f.switches[1].latency_ps = -1; }, bad,
       "its latency is negative", "switch 'middle'"},
      {"no GPU", [](Fabric& f) { f.gpus.clear(); }, bad, "a fabric needs at least one GPU", "fabric"},
      {"GPU 0x0000", [](Fabric& f) { f.gpus[0].id = kNoGpu; }, bad, "0x0000", "GPU 0/0"},
      {"GPU 0xFFFF", [](Fabric& f) { f.gpus[2].id = kBroadcast; }, bad, "0xFFFF", "GPU 255/255"},
      {"GPU twice", [](Fabric& f) { f.gpus[1].id = f.gpus[0].id; }, bad, "two GPUs have the same ID",
       "GPU 1/0"},
      {"out of order", [](Fabric& f) { std::swap(f.gpus[0].id, f.gpus[1].id); }, bad,
       "GPUs must be listed in ascending order of their IDs", "GPU 1/0"},
      {"GPU on nothing", [](Fabric& f) { f.gpus[1].attached = 3; }, bad,
       "it is attached to a switch that does not exist", "GPU 2/0"},
      {"dead GPU link", [](Fabric& f) { f.gpus[1].link.bandwidth_bytes_per_s = 0; }, bad,
       "its link has no bandwidth", "GPU 2/0"},
      {"packets without data", [](Fabric& f) { f.gpus[1].link.packets->max_data_flits = 0; }, bad,
       "its link has no bandwidth", "GPU 2/0"},
      {"flits of 0 bytes", [](Fabric& f) { f.gpus[1].link.packets->flit_bytes = 0; }, bad,
       "its link has no bandwidth", "GPU 2/0"},
      {"GPU link into the past", [](Fabric& f) { f.gpus[1].link.latency_ps = -1; }, bad,
       "its link has a negative latency", "GPU 2/0"},
      {"cable from nothing", [](Fabric& f) { f.cables[1].a = 3; }, bad, "one of its ends does not exist",
       "cable 1"},
      {"cable to nothing", [](Fabric& f) { f.cables[1].b = 3; }, bad, "one of its ends does not exist",
       "cable 1"},
      {"cable to itself", [](Fabric& f) { f.cables[1].b = 1; }, bad, "a cable joins two different switches",
       "cable between 'middle' and 'middle'"},
      {"dead cable", [](Fabric& f) { f.cables[0].link.bandwidth_bytes_per_s = 0; }, bad,
       "it has no bandwidth", "cable between 'left' and 'middle'"},
      {"cable into the past", [](Fabric& f) { f.cables[1].link.latency_ps = -1; }, bad,
       "its latency is negative", "cable between 'middle' and 'right'"},
      {"cut in two", [](Fabric& f) { f.cables.pop_back(); }, ErrorCode::unreachable,
       "it cannot be reached from GPU 1/0: no cables lead from switch 'left' to switch 'right'", "GPU 3/0"},
      {"no switch at all", [](Fabric& f) { f.switches.clear(); }, bad,
       "it is attached to a switch that does not exist", "GPU 1/0"},
  };
  for (const Violation& violation : violations) {
    Fabric fabric = row();
    violation.damage(fabric);
    const Result<void> result = validate(fabric);
    ASSERT_FALSE(result) << violation.what;
    EXPECT_EQ(result.error().code, violation.code) << violation.what;
    EXPECT_THAT(result.error().message, HasSubstr(violation.message)) << violation.what;
    EXPECT_EQ(result.error().where, violation.where) << violation.what;
  }
}

// --- Names and numbers of links ------------------------------------------------------------------

TEST(Links, AreNumberedGpusFirstThenCables) {
  const Fabric fabric = row();
  EXPECT_EQ(link_count(fabric), 10u);
  EXPECT_EQ(gpu_uplink(1), 2u);
  EXPECT_EQ(gpu_downlink(1), 3u);
  EXPECT_EQ(cable_link(fabric, 0, true), 6u);
  EXPECT_EQ(cable_link(fabric, 0, false), 7u);
  EXPECT_EQ(cable_link(fabric, 1, true), 8u);
  EXPECT_EQ(cable_link(fabric, 1, false), 9u);
}

TEST(Links, HaveTheProfileOfTheirGpuOrCable) {
  Fabric fabric = row();
  fabric.gpus[1].link.latency_ps = 11;
  fabric.cables[1].link.latency_ps = 22;
  EXPECT_EQ(link_profile(fabric, 0), kGpuLink);
  EXPECT_EQ(link_profile(fabric, gpu_uplink(1)).latency_ps, 11);
  EXPECT_EQ(link_profile(fabric, gpu_downlink(1)).latency_ps, 11);
  EXPECT_EQ(link_profile(fabric, cable_link(fabric, 0, false)), kInterSwitch);
  EXPECT_EQ(link_profile(fabric, cable_link(fabric, 1, true)).latency_ps, 22);
  EXPECT_EQ(link_profile(fabric, cable_link(fabric, 1, false)).latency_ps, 22);
}

TEST(Links, AreNamedByTheirEnds) {
  const Fabric fabric = row();
  std::vector<std::string> names;
  for (LinkIndex link = 0; link < link_count(fabric); ++link)
    names.push_back(link_name(fabric, link));
  EXPECT_THAT(names, ElementsAre("1/0 -> left", "left -> 1/0", "2/0 -> middle", "middle -> 2/0",
                                 "3/0 -> right", "right -> 3/0", "left -> middle", "middle -> left",
                                 "middle -> right", "right -> middle"));
}

TEST(Links, ParallelCablesAreCounted) {
  Fabric fabric = row();
  fabric.cables.push_back(Cable{0, 1, kInterSwitch});
  fabric.cables.push_back(Cable{1, 0, kInterSwitch});  // the same pair, laid the other way round
  EXPECT_EQ(link_name(fabric, cable_link(fabric, 0, true)), "left -> middle");
  EXPECT_EQ(link_name(fabric, cable_link(fabric, 2, true)), "left -> middle #2");
  EXPECT_EQ(link_name(fabric, cable_link(fabric, 2, false)), "middle -> left #2");
  EXPECT_EQ(link_name(fabric, cable_link(fabric, 3, true)), "middle -> left #3");
  EXPECT_EQ(link_name(fabric, cable_link(fabric, 3, false)), "left -> middle #3");
  std::set<std::string> names;
  for (LinkIndex link = 0; link < link_count(fabric); ++link)
    names.insert(link_name(fabric, link));
  EXPECT_EQ(names.size(), link_count(fabric));
}

TEST(FindGpu, FindsEveryGpuAndNoOther) {
  const Fabric fabric = build_spine(racks({3, 1, 2})).value();
  for (GpuIndex index = 0; index < fabric.gpus.size(); ++index)
    EXPECT_EQ(find_gpu(fabric, fabric.gpus[index].id).value(), index);
  for (const GpuId absent : {GpuId{0x0001}, GpuId{0x0103}, GpuId{0x0201}, GpuId{0xFFFE}}) {
    const Result<GpuIndex> found = find_gpu(fabric, absent);
    ASSERT_FALSE(found) << to_string(absent);
    EXPECT_EQ(found.error().code, ErrorCode::not_found);
    EXPECT_EQ(found.error().message, "the fabric has no GPU " + to_string(absent));
  }
}

}  // namespace
}  // namespace cnuas
