#include "core/link/serialiser.h"

#include <cstdint>
#include <optional>
#include <vector>

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

namespace cnuas {
namespace {

constexpr std::uint64_t kGigabyte = 1'000'000'000;

TEST(Serialiser, APurePipeSendsTheFrameAlone) {
  Serialiser link(LinkProfile{50 * kGigabyte, 300, std::nullopt});
  EXPECT_EQ(link.wire_bytes(100), 100u);
  EXPECT_EQ(link.time_ps(100), 2'000);
  EXPECT_EQ(link.time_ps(0), 0);
}

TEST(Serialiser, NvlinkSendsFlitsAndHeaders) {
  Serialiser link(LinkProfile{17 * kGigabyte, 300, PacketFormat{}});
  EXPECT_EQ(link.wire_bytes(256), 272u);
  EXPECT_EQ(link.time_ps(256), 16'000);
  EXPECT_EQ(link.wire_bytes(257), 304u);
}

TEST(Serialiser, KnowsTheNewTimeWhenLanesAreLostAndRegained) {
  Serialiser link(LinkProfile{50 * kGigabyte, 300, std::nullopt});
  EXPECT_EQ(link.time_ps(100), 2'000);
  link.set_bandwidth(25 * kGigabyte);
  EXPECT_EQ(link.time_ps(100), 4'000);
  EXPECT_EQ(link.profile().bandwidth_bytes_per_s, 25 * kGigabyte);
  link.set_bandwidth(50 * kGigabyte);
  EXPECT_EQ(link.time_ps(100), 2'000);
  EXPECT_EQ(link.time_ps(0), 0);
}

TEST(Serialiser, WithoutLanesAFrameIsNeverThrough) {
  Serialiser link(LinkProfile{50 * kGigabyte, 300, std::nullopt});
  link.set_bandwidth(0);
  EXPECT_EQ(link.time_ps(1), kNever);
  EXPECT_EQ(link.time_ps(0), 0);
}

RC_GTEST_PROP(SerialiserProperty, WhatItRemembersIsWhatItWouldWorkOut, ()) {
  const LinkProfile profile{*rc::gen::inRange<std::uint64_t>(1, 900) * kGigabyte, 300, PacketFormat{}};
  Serialiser link(profile);
  for (const auto frame :
       *rc::gen::container<std::vector<std::uint64_t>>(rc::gen::inRange<std::uint64_t>(0, 4)))
    RC_ASSERT(link.time_ps(frame * 4'000) ==
              transmission_ps(profile.packets->wire_bytes(frame * 4'000), profile.bandwidth_bytes_per_s));
}

}  // namespace
}  // namespace cnuas
