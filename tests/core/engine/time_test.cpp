#include "core/engine/time.h"

#include <cstdint>
#include <limits>

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

namespace cnuas {
namespace {

constexpr std::uint64_t kMax = std::numeric_limits<std::uint64_t>::max();

TEST(Time, UnitsAreMultiplesOfEachOther) {
  EXPECT_EQ(kMicrosecond, 1000 * kNanosecond);
  EXPECT_EQ(kMillisecond, 1000 * kMicrosecond);
  EXPECT_EQ(kSecond, 1000 * kMillisecond);
  EXPECT_GT(kNever, 106 * 86'400 * kSecond);  // 106 days
}

TEST(TransmissionPs, IsBytesOverRate) {
  EXPECT_EQ(transmission_ps(450, 450'000'000'000), 1 * kNanosecond);
  EXPECT_EQ(transmission_ps(64, 50'000'000'000), 1'280);
  EXPECT_EQ(transmission_ps(1'000'000'000, 1'000'000'000), kSecond);
  EXPECT_EQ(transmission_ps(1, 1), kSecond);
}

TEST(TransmissionPs, RoundsToTheNearestPicosecond) {
  EXPECT_EQ(transmission_ps(1, 3'000'000'000'000), 0);  // 0.33 ps
  EXPECT_EQ(transmission_ps(2, 3'000'000'000'000), 1);  // 0.67 ps
  EXPECT_EQ(transmission_ps(1, 2'000'000'000'000), 1);  // 0.5 ps: a half goes up
  EXPECT_EQ(transmission_ps(3, 2'000'000'000'000), 2);  // 1.5 ps
  EXPECT_EQ(transmission_ps(1, 450'000'000'000), 2);    // 2.22 ps
  EXPECT_EQ(transmission_ps(1, 7), 142'857'142'857);
  EXPECT_EQ(transmission_ps(6, 7), 857'142'857'143);
}

TEST(TransmissionPs, NothingTakesNoTime) {
  EXPECT_EQ(transmission_ps(0, 1), 0);
  EXPECT_EQ(transmission_ps(0, 0), 0);
  EXPECT_EQ(transmission_ps(0, kMax), 0);
}

TEST(TransmissionPs, NeverEndsWithoutARate) {
  EXPECT_EQ(transmission_ps(1, 0), kNever);
  EXPECT_EQ(transmission_ps(kMax, 0), kNever);
}

TEST(TransmissionPs, WhatDoesNotFitIsNever) {
  // 2^63 ps are 9'223'372.036... s.
  EXPECT_EQ(transmission_ps(9'223'372, 1), 9'223'372 * kSecond);
  EXPECT_EQ(transmission_ps(9'223'373, 1), kNever);
  EXPECT_EQ(transmission_ps(kMax, 1), kNever);
}

TEST(TransmissionPs, TheIntermediateProductDoesNotOverflow) {
  EXPECT_EQ(transmission_ps(kMax, kMax), kSecond);
  EXPECT_EQ(transmission_ps(kMax / 2, kMax), kSecond / 2);
}

RC_GTEST_PROP(TransmissionPsProperty, IsWithinHalfAPicosecond, ()) {
  const auto bytes = *rc::gen::inRange<std::uint64_t>(1, std::uint64_t{1} << 40);
  const auto rate = *rc::gen::inRange<std::uint64_t>(1'000'000, std::uint64_t{1} << 42);
  __extension__ using Wide = __int128;
  const Wide scaled = static_cast<Wide>(bytes) * kSecond;
  const Wide error = 2 * (static_cast<Wide>(transmission_ps(bytes, rate)) * rate - scaled);
  RC_ASSERT(error <= static_cast<Wide>(rate));
  RC_ASSERT(error > -static_cast<Wide>(rate));
}

RC_GTEST_PROP(TransmissionPsProperty, NeverFallsWhenBytesGrow, (std::uint64_t bytes, std::uint64_t rate)) {
  RC_PRE(bytes < kMax);
  RC_ASSERT(transmission_ps(bytes, rate) <= transmission_ps(bytes + 1, rate));
}

}  // namespace
}  // namespace cnuas
