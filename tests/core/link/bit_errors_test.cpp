#include "core/link/bit_errors.h"

#include <cmath>
#include <cstdint>
#include <optional>
#include <vector>

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

namespace cnuas {
namespace {

constexpr std::uint64_t kGigabyte = 1'000'000'000;
constexpr std::uint64_t kPacket = 256;
const Serialiser kNvlink(LinkProfile{17 * kGigabyte, 300 * kNanosecond, PacketFormat{}});

std::uint64_t replays(BitErrors& errors, const Serialiser& link, const std::vector<std::uint64_t>& frames) {
  std::uint64_t total = 0;
  for (const std::uint64_t bytes : frames)
    total += errors.hit(bytes, link).count;
  return total;
}

TEST(BitErrors, AReplayCostsARoundTripAndThePacket) {
  BitErrors errors(1e-4, Random(1));
  BitErrors::Replays hits;
  while (hits.count == 0)
    hits = errors.hit(64 * kPacket, kNvlink);
  EXPECT_EQ(hits.time_ps,
            static_cast<Picoseconds>(hits.count) * (2 * 300 * kNanosecond + 16 * kNanosecond));  // 272 B
}

TEST(BitErrors, NothingIsHitWhereErrorsArePracticallyImpossible) {
  BitErrors errors(1e-300, Random(1));
  EXPECT_EQ(errors.hit(std::uint64_t{1} << 40, kNvlink).count, 0u);
  EXPECT_EQ(errors.hit(0, kNvlink).count, 0u);
}

TEST(BitErrors, ALinkOnWhichNothingGetsThroughStillEnds) {
  BitErrors errors(0.9, Random(1));
  const BitErrors::Replays hits = errors.hit(kPacket, kNvlink);
  EXPECT_EQ(hits.count, 1u << 20);
  EXPECT_GT(hits.time_ps, 0);
}

// A packet of 272 bytes comes through with probability q, so it is sent 1/q times.
TEST(BitErrors, ComeAsOftenAsTheRateSays) {
  for (const double rate : {1e-6, 1e-5, 1e-4}) {
    const double through = std::pow(1 - rate, 272 * 8);
    const std::uint64_t packets = 4'000'000;
    BitErrors errors(rate, Random(7));
    const auto counted = static_cast<double>(errors.hit(packets * kPacket, kNvlink).count);
    const double expected = static_cast<double>(packets) * (1 / through - 1);
    EXPECT_NEAR(counted, expected, 5 * std::sqrt(expected / through)) << rate;
  }
}

TEST(BitErrors, APurePipeIsHitAsIfItHadPackets) {
  const Serialiser pipe(LinkProfile{16 * kGigabyte, 300 * kNanosecond, std::nullopt});
  const double rate = 1e-5;
  const double through = std::pow(1 - rate, 256 * 8);
  BitErrors errors(rate, Random(7));
  const auto counted = static_cast<double>(errors.hit(1'000'000 * kPacket, pipe).count);
  const double expected = 1e6 * (1 / through - 1);
  EXPECT_NEAR(counted, expected, 5 * std::sqrt(expected / through));
}

// Errors fall on packets: how packets are gathered in frames does not change how many are hit.
RC_GTEST_PROP(BitErrorsProperty, DoNotDependOnTheCutIntoFrames, (std::uint64_t seed)) {
  const auto cut = *rc::gen::container<std::vector<std::uint64_t>>(rc::gen::inRange<std::uint64_t>(0, 50));
  std::vector<std::uint64_t> frames;
  std::uint64_t whole = 0;
  for (const std::uint64_t packets : cut) {
    frames.push_back(packets * kPacket);
    whole += packets * kPacket;
  }
  BitErrors in_pieces(3e-4, Random(seed));
  BitErrors at_once(3e-4, Random(seed));
  RC_ASSERT(replays(in_pieces, kNvlink, frames) == at_once.hit(whole, kNvlink).count);
}

}  // namespace
}  // namespace cnuas
