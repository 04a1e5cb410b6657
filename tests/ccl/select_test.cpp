#include "core/ccl/select.h"

#include "tests/ccl/shipped.h"

#include <utility>

#include <gtest/gtest.h>
#include <rapidcheck.h>
#include <rapidcheck/gtest.h>

namespace cnuas::ccl {
namespace {

constexpr PortModel kPort{50'000'000'000, 500'000};

Algorithm selected(Collective collective, Rank ranks, std::uint64_t count, bool canonical_only) {
  return select({collective, Algorithm::ring, ranks, count, 0, 0}, 4, kPort, {}, canonical_only).value();
}

TEST(SelectTest, SmallMessagesSaveLatencyAndLargeOnesBandwidth) {
  EXPECT_EQ(selected(Collective::all_reduce, 64, 1, false), Algorithm::one_shot);
  EXPECT_EQ(selected(Collective::all_reduce, 64, 100'000'000, true), Algorithm::direct);
  EXPECT_EQ(selected(Collective::broadcast, 64, 100'000'000, false), Algorithm::chain);
  EXPECT_EQ(selected(Collective::broadcast, 64, 10'000, false), Algorithm::tree);
}

TEST(SelectTest, Errors) {
  EXPECT_FALSE(select({Collective::all_reduce, Algorithm::ring, 4, 4, 0, 1}, 4, PortModel{0, 0}, {}, false)
                   .has_value());
  EXPECT_FALSE(
      select({Collective::all_reduce, Algorithm::ring, 0, 4, 0, 1}, 4, kPort, {}, false).has_value());
  EXPECT_FALSE(select({Collective::broadcast, Algorithm::ring, 4, 4, 7, 1}, 4, kPort, {}, false).has_value());
}

TEST(SelectTest, ATreeHasToBeClearlyFaster) {
  for (const Rank ranks : {2u, 3u, 4u, 8u, 16u}) {
    for (const std::uint64_t count : {std::uint64_t{10}, std::uint64_t{1} << 16, std::uint64_t{1} << 24}) {
      const Problem tree{Collective::all_reduce, Algorithm::double_tree, ranks, count, 0, 8};
      const ClosedForm bound = closed_form(tree, 4, kPort);
      ASSERT_FALSE(bound.exact);
      EXPECT_GE(2 * expected_time(tree, 4, kPort, {}) + 1, 3 * bound.time_ps);
      EXPECT_GE(2 * expected_time(tree, 4, kPort, {}) + 1, 3 * lower_bound(tree, 4, kPort));
    }
  }
  EXPECT_NE(selected(Collective::all_reduce, 2, 1 << 20, false), Algorithm::double_tree);
  EXPECT_EQ(selected(Collective::all_reduce, 4, 1 << 20, true), Algorithm::direct);
}

TEST(SelectTest, OfEqualsTheOneThatCopiesLess) {
  for (const auto& [ranks, count] : {std::pair<Rank, std::uint64_t>{2, 1 << 20}, {64, 100'000'000}}) {
    Problem problem{
        Collective::all_reduce, selected(Collective::all_reduce, ranks, count, false), ranks, count, 0, 1};
    EXPECT_EQ(make_schedule(problem).value()->scratch_elements(0), 0u) << ranks;
    const Picoseconds time = expected_time(problem, 4, kPort, {});
    problem.algorithm = Algorithm::direct;
    EXPECT_GT(make_schedule(problem).value()->scratch_elements(0), 0u) << ranks;
    EXPECT_LE(time, expected_time(problem, 4, kPort, {}) * 21 / 20) << ranks;
  }
}

RC_GTEST_PROP(SelectTest, NothingAllowedIsClearlyFaster, ()) {
  const Shipped other = *rc::gen::elementOf(all_shipped());
  const auto ranks = *rc::gen::inRange<Rank>(1, 40);
  const auto count = *rc::gen::inRange<std::uint64_t>(0, 1'000'000);
  const auto canonical_only = *rc::gen::arbitrary<bool>();
  Problem problem = problem_of(other, ranks, count, 0, 3);
  const auto algorithm = select(problem, 4, kPort, {}, canonical_only);
  RC_ASSERT(algorithm.has_value());
  const FoldGuarantee theirs = fold_guarantee(problem.collective, problem.algorithm, ranks);
  const Picoseconds their_time = expected_time(problem, 4, kPort, {});
  problem.algorithm = *algorithm;
  RC_ASSERT(!canonical_only || fold_guarantee(problem.collective, problem.algorithm, ranks).canonical);
  if (theirs.canonical || !canonical_only)
    RC_ASSERT(expected_time(problem, 4, kPort, {}) <= their_time + their_time / 20);
}

// Of `each` ranks, one after the other.
Racks racks_of(std::uint32_t racks, Rank each, std::uint64_t uplink_bytes_per_s) {
  Racks result;
  for (Rank rank = 0; rank < racks * each; ++rank)
    result.of_rank.push_back(rank / each);
  result.uplink_bytes_per_s.assign(racks, uplink_bytes_per_s);
  return result;
}

Picoseconds uplink_time_of(Collective collective, Algorithm algorithm, Rank ranks, std::uint64_t count,
                           const Racks& racks) {
  return uplink_time(*make_schedule({collective, algorithm, ranks, count, 0, 1}).value(), 4, racks);
}

// Two ranks fold what comes in as it comes, into the result.
TEST(SelectTest, WhatIsFoldedWithoutAWayThroughScratchIsTaken) {
  EXPECT_EQ(selected(Collective::reduce_scatter, 2, 1 << 24, true), Algorithm::halving);
  EXPECT_EQ(selected(Collective::all_reduce, 2, 1 << 24, true), Algorithm::halving_doubling);
}

TEST(RacksTest, WhatCrosses) {
  constexpr std::uint64_t kRate = 4'000'000'000;  // an element in a nanosecond
  const Racks two = racks_of(2, 4, kRate);
  // A ring has one hop each way, which carries all but one block, twice.
  EXPECT_EQ(uplink_time_of(Collective::all_reduce, Algorithm::ring, 8, 800, two), 2 * 700 * kNanosecond);
  EXPECT_EQ(uplink_time_of(Collective::all_gather, Algorithm::ring, 8, 800, two), 700 * kNanosecond);
  // Each of four ranks has a block for, or from, each of four.
  EXPECT_EQ(uplink_time_of(Collective::all_reduce, Algorithm::direct, 8, 800, two), 2 * 1600 * kNanosecond);
  EXPECT_EQ(uplink_time_of(Collective::all_to_all, Algorithm::pairwise, 8, 800, two), 1600 * kNanosecond);
  // The whole vector on its way up, and on its way round.
  EXPECT_EQ(uplink_time_of(Collective::all_reduce, Algorithm::chain, 8, 800, two), 2 * 800 * kNanosecond);
  EXPECT_EQ(uplink_time_of(Collective::all_reduce, Algorithm::one_shot, 8, 800, two), 12'800 * kNanosecond);
  EXPECT_EQ(uplink_time_of(Collective::all_reduce, Algorithm::ring, 8, 800, {}), 0);
  EXPECT_EQ(uplink_time_of(Collective::all_reduce, Algorithm::ring, 8, 800, racks_of(1, 8, kRate)), 0);
  Racks narrow = two;
  narrow.uplink_bytes_per_s[1] = kRate / 10;
  EXPECT_EQ(uplink_time_of(Collective::all_gather, Algorithm::ring, 8, 800, narrow), 7'000 * kNanosecond);
}

TEST(RacksTest, TheChoiceFollowsTheLinksBetweenThem) {
  const Problem problem{Collective::all_reduce, Algorithm::ring, 16, 16 << 20, 0, 0};
  EXPECT_EQ(select(problem, 4, kPort, {}, true).value(), Algorithm::direct);
  EXPECT_EQ(select(problem, 4, kPort, racks_of(2, 8, 8 * kPort.rate_bytes_per_s), true).value(),
            Algorithm::direct);
  EXPECT_EQ(select(problem, 4, kPort, racks_of(2, 8, kPort.rate_bytes_per_s), true).value(),
            Algorithm::chain);
}

// Those that are not looked at would not have been taken.
RC_GTEST_PROP(RacksTest, NoCandidateIsClearlyFaster, ()) {
  const auto collective =
      *rc::gen::element(Collective::all_reduce, Collective::broadcast, Collective::all_gather,
                        Collective::reduce_scatter, Collective::all_to_all);
  const auto each = *rc::gen::inRange<Rank>(1, 7);
  const auto count = *rc::gen::inRange<std::uint64_t>(0, 1 << 22);
  const auto share = *rc::gen::inRange<std::uint64_t>(1, 20);
  const Racks racks = racks_of(*rc::gen::inRange(1u, 4u), each, kPort.rate_bytes_per_s * share / 5);
  Problem problem{collective, Algorithm::ring, static_cast<Rank>(racks.of_rank.size()), count, 0, 4};
  const auto chosen = select(problem, 4, kPort, racks, false);
  problem.algorithm = chosen.value();
  const Picoseconds time = expected_time(problem, 4, kPort, racks);
  for (const Algorithm algorithm : algorithms_of(collective)) {
    problem.algorithm = algorithm;
    const Picoseconds other = expected_time(problem, 4, kPort, racks);
    RC_ASSERT(time <= other + other / 20 + 1);
  }
}

}  // namespace
}  // namespace cnuas::ccl
