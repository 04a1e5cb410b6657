#include "core/link/link_profile.h"

#include <algorithm>
#include <cstdint>
#include <limits>
#include <string_view>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

namespace cnuas {
namespace {

constexpr std::uint64_t kGigabyte = 1'000'000'000;

double efficiency(const PacketFormat& format, std::uint64_t payload_bytes) {
  return static_cast<double>(payload_bytes) / static_cast<double>(format.wire_bytes(payload_bytes));
}

TEST(PacketFormat, LargestPacketOfNvlinkCarries256Bytes) {
  EXPECT_EQ(PacketFormat{}.max_payload_bytes(), 256u);
  EXPECT_EQ(PacketFormat{}.wire_bytes(256), 272u);
}

TEST(PacketFormat, WholeFlitsAndAHeaderForEveryPacket) {
  constexpr PacketFormat format;
  EXPECT_EQ(format.wire_bytes(0), 0u);
  EXPECT_EQ(format.wire_bytes(1), 32u);
  EXPECT_EQ(format.wire_bytes(16), 32u);
  EXPECT_EQ(format.wire_bytes(17), 48u);
  EXPECT_EQ(format.wire_bytes(257), 272u + 32u);
  EXPECT_EQ(format.wire_bytes(512), 544u);
  EXPECT_EQ(format.wire_bytes(1 << 20), (1u << 20) / 256 * 272);
}

TEST(PacketFormat, EfficiencyWithTheHeaderAlone) {
  constexpr PacketFormat format;
  EXPECT_DOUBLE_EQ(efficiency(format, 16), 1.0 / 2);
  EXPECT_DOUBLE_EQ(efficiency(format, 32), 2.0 / 3);
  EXPECT_DOUBLE_EQ(efficiency(format, 64), 4.0 / 5);
  EXPECT_DOUBLE_EQ(efficiency(format, 128), 8.0 / 9);
  EXPECT_DOUBLE_EQ(efficiency(format, 256), 16.0 / 17);
}

TEST(PacketFormat, EfficiencyWithAnExtensionFlit) {
  constexpr PacketFormat format{16, 2, 16};
  EXPECT_DOUBLE_EQ(efficiency(format, 16), 1.0 / 3);
  EXPECT_DOUBLE_EQ(efficiency(format, 32), 1.0 / 2);
  EXPECT_DOUBLE_EQ(efficiency(format, 64), 2.0 / 3);
  EXPECT_DOUBLE_EQ(efficiency(format, 128), 4.0 / 5);
  EXPECT_DOUBLE_EQ(efficiency(format, 256), 8.0 / 9);
}

TEST(LinkProfile, APurePipeDeliversItsRate) {
  const LinkProfile pipe{450 * kGigabyte, 500 * kNanosecond, std::nullopt};
  EXPECT_EQ(pipe.payload_bytes_per_s(), 450 * kGigabyte);
}

TEST(LinkProfile, NvlinkDelivers16OutOf17) {
  const LinkProfile link{17 * kGigabyte, 0, PacketFormat{}};
  EXPECT_EQ(link.payload_bytes_per_s(), 16 * kGigabyte);
  const LinkProfile extended{18 * kGigabyte, 0, PacketFormat{16, 2, 16}};
  EXPECT_EQ(extended.payload_bytes_per_s(), 16 * kGigabyte);
}

TEST(LinkProfile, ThePayloadRateOfTheFastestWireDoesNotOverflow) {
  constexpr std::uint64_t fastest = std::numeric_limits<std::uint64_t>::max();
  const LinkProfile link{fastest, 0, PacketFormat{}};
  EXPECT_EQ(link.payload_bytes_per_s(), fastest / 17 * 16);  // 2^64 - 1 is a multiple of 17
  const LinkProfile big_packets{fastest, 0, PacketFormat{1 << 16, 1, 1 << 16}};
  EXPECT_LT(big_packets.payload_bytes_per_s(), fastest);
  EXPECT_GT(big_packets.payload_bytes_per_s(), fastest / 65'537 * 65'535);
}

// A fabric is checked by asking its links for their rates, so the question itself must be safe.
TEST(LinkProfile, PacketsWithoutPayloadDeliverNothing) {
  EXPECT_EQ((LinkProfile{kGigabyte, 0, PacketFormat{16, 1, 0}}.payload_bytes_per_s()), 0u);
  EXPECT_EQ((LinkProfile{kGigabyte, 0, PacketFormat{0, 1, 16}}.payload_bytes_per_s()), 0u);
  EXPECT_EQ((LinkProfile{0, 0, PacketFormat{}}.payload_bytes_per_s()), 0u);
  EXPECT_EQ((LinkProfile{0, 0, std::nullopt}.payload_bytes_per_s()), 0u);
}

RC_GTEST_PROP(LinkProfileProperty, ThePayloadRateIsTheExactQuotientRoundedDown, (std::uint64_t rate)) {
  const PacketFormat format{*rc::gen::inRange(1u, 512u), *rc::gen::inRange(0u, 4u),
                            *rc::gen::inRange(1u, 256u)};
  const LinkProfile link{rate, 0, format};
  __extension__ using Wide = unsigned __int128;
  const std::uint64_t payload = format.max_payload_bytes();
  const Wide exact = static_cast<Wide>(rate) * payload / format.wire_bytes(payload);
  RC_ASSERT(link.payload_bytes_per_s() == static_cast<std::uint64_t>(exact));
}

RC_GTEST_PROP(LinkProfileProperty, WireBytesEqualACountPacketByPacket, ()) {
  const PacketFormat format{*rc::gen::inRange(1u, 64u), *rc::gen::inRange(0u, 4u),
                            *rc::gen::inRange(1u, 32u)};
  const auto payload = *rc::gen::inRange<std::uint64_t>(0, 20'000);
  std::uint64_t counted = 0;
  for (std::uint64_t left = payload; left > 0;) {
    const std::uint64_t in_packet = std::min(left, format.max_payload_bytes());
    std::uint64_t flits = format.header_flits;
    for (std::uint64_t covered = 0; covered < in_packet; covered += format.flit_bytes)
      ++flits;
    counted += flits * format.flit_bytes;
    left -= in_packet;
  }
  RC_ASSERT(format.wire_bytes(payload) == counted);
}

TEST(LinkPresets, AreTheFiveGenerationsInOrder) {
  std::vector<std::string_view> names;
  for (const LinkPreset& preset : link_presets())
    names.push_back(preset.name);
  EXPECT_THAT(names, testing::ElementsAre("nvlink1", "nvlink2", "nvlink3", "nvlink4", "nvlink5"));
}

TEST(LinkPresets, HaveThePublishedRates) {
  const std::pair<std::string_view, std::uint64_t> published[] = {
      {"nvlink1", 80}, {"nvlink2", 150}, {"nvlink3", 300}, {"nvlink4", 450}, {"nvlink5", 900}};
  for (const auto& [name, gigabytes_per_s] : published) {
    const LinkPreset* preset = find_link_preset(name);
    ASSERT_NE(preset, nullptr) << name;
    EXPECT_EQ(preset->name, name);
    EXPECT_EQ(preset->profile.bandwidth_bytes_per_s, gigabytes_per_s * kGigabyte) << name;
  }
}

TEST(LinkPresets, HaveThePacketLayoutOfGeneration1AndALatency) {
  for (const LinkPreset& preset : link_presets()) {
    EXPECT_EQ(preset.profile.packets, PacketFormat{}) << preset.name;
    EXPECT_GT(preset.profile.latency_ps, 0) << preset.name;
    EXPECT_FALSE(preset.description.empty()) << preset.name;
  }
}

TEST(LinkPresets, AnUnknownNameIsNoPreset) {
  EXPECT_EQ(find_link_preset("nvlink6"), nullptr);
  EXPECT_EQ(find_link_preset("NVLink4"), nullptr);
  EXPECT_EQ(find_link_preset("nvlink"), nullptr);
  EXPECT_EQ(find_link_preset(""), nullptr);
}

}  // namespace
}  // namespace cnuas
