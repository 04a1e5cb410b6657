#include "core/engine/random.h"

#include <array>
#include <cstdint>
#include <limits>
#include <set>
#include <vector>

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

namespace cnuas {
namespace {

TEST(Random, GivesTheNumbersOfTheReferenceImplementation) {
  Random zero(0);
  EXPECT_EQ(zero.next(), 0xE220A8397B1DCDAFu);
  Random random(1'234'567);
  for (const std::uint64_t expected : {6457827717110365317u, 3203168211198807973u, 9817491932198370423u,
                                       4593380528125082431u, 16408922859458223821u})
    EXPECT_EQ(random.next(), expected);
}

TEST(Random, BelowASmallBoundIsFair) {
  Random random(1);
  std::array<unsigned, 3> seen{};
  for (int i = 0; i < 30'000; ++i)
    ++seen[random.below(3)];
  for (const unsigned count : seen)
    EXPECT_NEAR(count, 10'000, 300);
}

// 3 * 2^62 does not divide 2^64: without a correction the lower third would come up half of the time.
TEST(Random, BelowALargeBoundIsFair) {
  constexpr std::uint64_t third = std::uint64_t{1} << 62;
  Random random(2);
  unsigned lower = 0;
  for (int i = 0; i < 30'000; ++i)
    lower += random.below(3 * third) < third ? 1 : 0;
  EXPECT_NEAR(lower, 10'000, 300);
}

TEST(Random, BelowTheLeastBounds) {
  Random random(3);
  EXPECT_EQ(random.below(0), 0u);
  EXPECT_EQ(random.below(1), 0u);
}

RC_GTEST_PROP(RandomProperty, BelowIsBelow, (std::uint64_t seed, std::uint64_t bound)) {
  RC_PRE(bound > 0);
  Random random(seed);
  for (int i = 0; i < 10; ++i)
    RC_ASSERT(random.below(bound) < bound);
}

TEST(Random, UnitIsFrom0ToBelow1) {
  Random random(4);
  double sum = 0;
  for (int i = 0; i < 30'000; ++i) {
    const double value = random.unit();
    ASSERT_GE(value, 0.0);
    ASSERT_LT(value, 1.0);
    sum += value;
  }
  EXPECT_NEAR(sum / 30'000, 0.5, 0.01);
}

TEST(Random, PartsDrawOnTheirOwn) {
  Random whole(5);
  Random first = whole.split();
  Random second = whole.split();
  std::vector<std::uint64_t> undisturbed;
  for (Random copy = second; undisturbed.size() < 100;)
    undisturbed.push_back(copy.next());
  for (int i = 0; i < 1000; ++i)
    first.next();
  std::set<std::uint64_t> distinct;
  for (const std::uint64_t expected : undisturbed) {
    EXPECT_EQ(second.next(), expected);
    distinct.insert(expected);
    distinct.insert(first.next());
  }
  EXPECT_EQ(distinct.size(), 200u);
}

}  // namespace
}  // namespace cnuas
