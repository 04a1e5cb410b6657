#include "core/topology/fabric.h"

#include "tests/scenarios/loading.h"

#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace cnuas::scenarios {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::SizeIs;

std::vector<std::string> ids(const Fabric& fabric) {
  std::vector<std::string> result;
  for (const Gpu& gpu : fabric.gpus)
    result.push_back(to_string(gpu.id));
  return result;
}

TEST(FabricSection, TopologyFollowsTheNumberOfRacks) {
  const std::string rest = "gpus_per_rack: 2\nlink: nvlink4\n";
  EXPECT_THAT(fabric_of(rest).cables, SizeIs(0));
  EXPECT_THAT(fabric_of(rest + "racks: 2\ninter_switch: nvlink4").cables, SizeIs(1));
  EXPECT_THAT(fabric_of(rest + "racks: 2\ntopology: spine\ninter_switch: nvlink4").cables, SizeIs(2));
  EXPECT_THAT(fabric_of(rest + "racks: 3\ninter_switch: nvlink4").switches, SizeIs(4));
  EXPECT_THAT(fabric_of(rest + "topology: spine\ninter_switch: nvlink4").switches, SizeIs(2));
}

TEST(FabricSection, RacksCanDifferInSizeAndBeginAnywhere) {
  const Fabric fabric =
      fabric_of("gpus_per_rack: [1, 3]\nfirst_rack: 7\nlink: nvlink4\ninter_switch: nvlink4");
  EXPECT_THAT(ids(fabric), ElementsAre("7/0", "8/0", "8/1", "8/2"));
}

TEST(FabricSection, TheLargestFabricLoads) {
  const Fabric fabric = fabric_of(
      "racks: 254\ngpus_per_rack: 256\nlink: nvlink4\ninter_switch: {bandwidth: 1 TB/s, latency: 1 us}");
  EXPECT_THAT(fabric.gpus, SizeIs(254 * 256));
  EXPECT_THAT(fabric_of("first_rack: 255\ngpus_per_rack: 255\nlink: nvlink4").gpus, SizeIs(255));
}

TEST(FabricSection, ALinkIsAPresetOrAPipeOrHasPackets) {
  const auto link = [](const std::string& text) {
    return fabric_of("gpus_per_rack: 1\nlink: " + text).gpus[0].link;
  };
  const LinkProfile nvlink4 = find_link_preset("nvlink4")->profile;
  EXPECT_EQ(link("nvlink4"), nvlink4);
  EXPECT_EQ(link("{preset: nvlink4}"), nvlink4);
  EXPECT_EQ(link("{bandwidth: 450 GB/s, latency: 500 ns}"),
            (LinkProfile{450'000'000'000, 500'000, std::nullopt}));
  EXPECT_EQ(link("{bandwidth: 450 GB/s, latency: 0 ns, header_flits: 2}"),
            (LinkProfile{450'000'000'000, 0, PacketFormat{16, 2, 16}}));
  EXPECT_EQ(link("{bandwidth: 1 GB/s, latency: 0 ns, flit: 32 B, header_flits: 0, max_data_flits: 8}"),
            (LinkProfile{1'000'000'000, 0, PacketFormat{32, 0, 8}}));
  LinkProfile changed = nvlink4;
  changed.latency_ps = 123'000;
  EXPECT_EQ(link("{preset: nvlink4, latency: 123 ns}"), changed);
  changed.bandwidth_bytes_per_s = 50'000'000'000;
  EXPECT_EQ(link("{preset: nvlink4, latency: 123 ns, bandwidth: 400 Gb/s}"), changed);
}

TEST(FabricSection, SwitchDefaultsAndSettings) {
  const Switch usual = fabric_of("gpus_per_rack: 1\nlink: nvlink4").switches[0];
  EXPECT_EQ(usual.latency_ps, 250'000);
  EXPECT_EQ(usual.port_buffer_bytes, 256u * 1024);
  const Switch given =
      fabric_of(
          "gpus_per_rack: 1\nlink: nvlink4\nswitch: {latency: 0 ns, port_buffer: 1 MiB, reduction: none}")
          .switches[0];
  EXPECT_EQ(given.latency_ps, 0);
  EXPECT_EQ(given.port_buffer_bytes, 1u << 20);
}

TEST(FabricSection, FramesAndHowTheyAreForwarded) {
  const std::string rest = "gpus_per_rack: 1\nracks: 2\nlink: nvlink4\ninter_switch: nvlink4\n";
  const Fabric usual = fabric_of(rest);
  EXPECT_EQ(usual.frame_bytes, 65'536u);
  EXPECT_TRUE(usual.switches[0].cut_through);
  EXPECT_EQ(usual.switches[0].stall_timeout_ps, 50 * kMillisecond);
  const Fabric given = fabric_of(
      rest +
      "frame_size: 9 KB\nswitch: {forwarding: store_and_forward, stall_timeout: 2 us, port_buffer: 1 B}");
  EXPECT_EQ(given.frame_bytes, 9'000u);
  EXPECT_EQ(given.switches.size(), 2u);
  for (const Switch& each : given.switches) {
    EXPECT_FALSE(each.cut_through);
    EXPECT_EQ(each.stall_timeout_ps, 2 * kMicrosecond);
    EXPECT_EQ(each.port_buffer_bytes, 1u);
  }
  EXPECT_EQ(fabric_of(rest + "frame_size: message").frame_bytes, 0u);
  EXPECT_EQ(fabric_of(rest + "frame_size: 64 B").frame_bytes, 64u);
  EXPECT_EQ(fabric_of(rest + "frame_size: 64 KiB").frame_bytes, 65'536u);
}

TEST(ExplicitFabric, SwitchesDifferInHowTheyForward) {
  const Fabric fabric = fabric_of(
      "topology: explicit\nlink: nvlink4\nframe_size: message\nswitch: {forwarding: store_and_forward}\n"
      "switches:\n  - {name: a, rack: 1, gpus: 1}\n"
      "  - {name: b, forwarding: cut_through, stall_timeout: 1 ms, port_buffer: 1 KiB}\n"
      "links: [{between: [a, b], preset: nvlink4}]");
  EXPECT_EQ(fabric.frame_bytes, 0u);
  EXPECT_FALSE(fabric.switches[0].cut_through);
  EXPECT_EQ(fabric.switches[0].stall_timeout_ps, 50 * kMillisecond);
  EXPECT_TRUE(fabric.switches[1].cut_through);
  EXPECT_EQ(fabric.switches[1].stall_timeout_ps, kMillisecond);
  EXPECT_EQ(fabric.switches[1].port_buffer_bytes, 1024u);
}

TEST(FabricSection, HostsAreKept) {
  const Fabric fabric = fabric_of("gpus_per_rack: 4\nlink: nvlink4\nhosts: {per_rack: 2}");
  EXPECT_EQ(fabric.gpus[1].host, 0u);
  EXPECT_EQ(fabric.gpus[2].host, 1u);
}

TEST(ExplicitFabric, IsWhatItsSwitchesAndLinksSay) {
  const Fabric fabric = fabric_of(
      "topology: explicit\nlink: nvlink4\nswitch: {latency: 300 ns}\nswitches:\n"
      "  - {name: b, rack: 2, gpus: 1, link: nvlink2}\n  - {name: a2, rack: 1, gpus: 2, first_slot: 4, "
      "latency: 1 ns}\n"
      "  - {name: a, rack: 1, gpus: 2}\n  - {name: top}\n"
      "links:\n  - {between: [a, top], bandwidth: 1 GB/s, latency: 5 ns}\n  - {between: [top, a2], preset: "
      "nvlink4}\n"
      "  - {between: [b, top], preset: nvlink1, latency: 7 ns}");
  EXPECT_THAT(ids(fabric), ElementsAre("1/0", "1/1", "1/4", "1/5", "2/0"));
  EXPECT_EQ(fabric.switches[fabric.gpus[2].attached].name, "a2");
  EXPECT_EQ(fabric.switches[1].latency_ps, 1'000);
  EXPECT_EQ(fabric.switches[3].latency_ps, 300'000);
  EXPECT_EQ(fabric.switches[3].rack, 0u);
  EXPECT_EQ(fabric.gpus[4].link, find_link_preset("nvlink2")->profile);
  ASSERT_THAT(fabric.cables, SizeIs(3));
  EXPECT_EQ(fabric.cables[0].link, (LinkProfile{1'000'000'000, 5'000, std::nullopt}));
  EXPECT_EQ(fabric.cables[1].a, 3u);
  EXPECT_EQ(fabric.cables[1].b, 1u);
  EXPECT_EQ(fabric.cables[2].link.latency_ps, 7'000);
}

TEST(ExplicitFabric, RackZeroIsFineWithoutSlotZero) {
  const Fabric fabric =
      fabric_of("topology: explicit\nlink: nvlink4\nswitches: [{name: a, rack: 0, first_slot: 1, gpus: 2}]");
  EXPECT_THAT(ids(fabric), ElementsAre("0/1", "0/2"));
}

TEST(ExplicitFabric, TheMostSwitchesInALineLoad) {
  std::string text = "topology: explicit\nlink: nvlink4\nswitches:\n  - {name: \"0\", rack: 1, gpus: 1}\n";
  std::string links = "links:\n";
  for (int i = 1; i < 512; ++i) {
    text += "  - {name: \"" + std::to_string(i) + "\"}\n";
    links += "  - {between: [\"" + std::to_string(i - 1) + "\", \"" + std::to_string(i) +
             "\"], preset: nvlink4}\n";
  }
  EXPECT_THAT(fabric_of(text + links).switches, SizeIs(512));
  text += "  - {name: one-too-many}\n";
  EXPECT_THAT(messages(scenario_text(text + links, kSmallWorkload)),
              ElementsAre(HasSubstr("has 513 elements")));
}

}  // namespace
}  // namespace cnuas::scenarios
