// Every shipped schedule is proved, for every number of ranks up to 33 and some beyond.
#include "core/ccl/verify.h"
#include "tests/ccl/shipped.h"
#include "tests/slow_build.h"

#include <gtest/gtest.h>

namespace cnuas::ccl {
namespace {

class ProofTest : public testing::TestWithParam<Shipped> {};
INSTANTIATE_TEST_SUITE_P(Shipped, ProofTest, testing::ValuesIn(all_shipped()),
                         [](const auto& shipped) { return label(shipped.param); });

// Messages on the wire are what the collective's definition makes them, whatever the algorithm.
void expect_proved(const Problem& problem) {
  const auto schedule = schedule_of(problem);
  ASSERT_NE(schedule, nullptr) << describe(problem);
  const auto proof = verify(*schedule);
  ASSERT_TRUE(proof.has_value()) << describe(problem) << ": " << proof.error().where << ": "
                                 << proof.error().message;
  const FoldGuarantee guarantee = fold_guarantee(problem.collective, problem.algorithm, problem.ranks);
  EXPECT_TRUE(proof->same_everywhere || !guarantee.same_everywhere) << describe(problem);
  EXPECT_TRUE(proof->canonical || !guarantee.canonical) << describe(problem);
  // With an element in every block of every part the guarantee is not only kept but the best there is.
  if (problem.count >= 2 * problem.ranks) {
    EXPECT_EQ(proof->canonical, guarantee.canonical) << describe(problem);
    EXPECT_EQ(proof->same_everywhere, guarantee.same_everywhere) << describe(problem);
  }
  const bool folds = reduces(problem.collective) && problem.ranks > 1 && problem.count > 0;
  EXPECT_EQ(!proof->fold_order.empty(), folds) << describe(problem);
}

TEST_P(ProofTest, AllCountsForUpTo33Ranks) {
  const Rank most = test::kSlowBuild ? 20 : 33;
  for (Rank ranks = 1; ranks <= most; ++ranks)
    for (const std::uint64_t count :
         {std::uint64_t{0}, std::uint64_t{1}, std::uint64_t{ranks - 1}, std::uint64_t{ranks},
          std::uint64_t{2 * ranks}, std::uint64_t{3 * ranks + 1}, std::uint64_t{5 * ranks - 1}})
      for (const std::uint64_t chunks : chunk_counts(GetParam()))
        expect_proved(problem_of(GetParam(), ranks, count, 0, chunks));
}

TEST_P(ProofTest, ManyRanks) {
  const std::vector<Rank> sizes =
      test::kSlowBuild ? std::vector<Rank>{33, 64, 128} : std::vector<Rank>{64, 128, 255, 256};
  for (const Rank ranks : sizes)
    for (const std::uint64_t count : {std::uint64_t{ranks / 2}, std::uint64_t{3 * ranks + 7}})
      expect_proved(problem_of(GetParam(), ranks, count, 0, GetParam().pipelined() ? 16 : 1));
}

TEST_P(ProofTest, MoreChunksThanElements) {
  for (Rank ranks = 1; ranks <= 9; ++ranks)
    for (std::uint64_t count = 0; count <= 4; ++count)
      expect_proved(problem_of(GetParam(), ranks, count, 0, 1000));
}

TEST(BroadcastProofTest, EveryRoot) {
  for (const Algorithm algorithm : algorithms_of(Collective::broadcast))
    for (Rank ranks = 1; ranks <= (test::kSlowBuild ? 9u : 20u); ++ranks)
      for (Rank root = 0; root < ranks; ++root)
        for (const std::uint64_t chunks : {1u, 3u})
          expect_proved(Problem{Collective::broadcast, algorithm, ranks, 7, root, chunks});
}

TEST(ProofContentTest, CountsMessagesAndElements) {
  const auto ring = verify(*schedule_of({Collective::all_reduce, Algorithm::ring, 4, 8, 0, 1}));
  ASSERT_TRUE(ring.has_value());
  EXPECT_EQ(ring->messages, 4u * 6u);
  EXPECT_EQ(ring->elements_sent, 4u * 6u * 2u);
  EXPECT_EQ(ring->fold_order, "((r1+r2)+r3)+r0");
  const auto one_shot = verify(*schedule_of({Collective::all_reduce, Algorithm::one_shot, 5, 3, 0, 1}));
  ASSERT_TRUE(one_shot.has_value());
  EXPECT_EQ(one_shot->messages, 5u * 4u);
  EXPECT_EQ(one_shot->elements_sent, 5u * 4u * 3u);
  EXPECT_EQ(one_shot->fold_order, "(((r0+r1)+r2)+r3)+r4");
  EXPECT_EQ(one_shot->max_early_messages, 3u);
}

TEST(ProofContentTest, FoldOrderOfPowersOfTwo) {
  const auto order = [](Collective collective, Algorithm algorithm, Rank ranks) {
    const auto proof = verify(*schedule_of({collective, algorithm, ranks, 2 * ranks, 0, 1}));
    return proof ? proof->fold_order : proof.error().message;
  };
  EXPECT_EQ(order(Collective::all_reduce, Algorithm::recursive_doubling, 4), "(r0+r1)+(r2+r3)");
  EXPECT_EQ(order(Collective::all_reduce, Algorithm::recursive_doubling, 5), "((r0+r1)+r2)+(r3+r4)");
  EXPECT_EQ(order(Collective::all_reduce, Algorithm::halving_doubling, 4), "(r0+r1)+(r2+r3)");
  EXPECT_EQ(order(Collective::reduce_scatter, Algorithm::halving, 4), "(r0+r2)+(r1+r3)");
  EXPECT_EQ(order(Collective::all_reduce, Algorithm::tree, 7), "(((r0+r1)+r2)+r3)+((r4+r5)+r6)");
  EXPECT_EQ(order(Collective::all_reduce, Algorithm::chain, 3), "(r0+r1)+r2");
  EXPECT_EQ(order(Collective::all_gather, Algorithm::ring, 3), "");
}

TEST(ProofContentTest, LongFoldOrdersAreCutOff) {
  const auto proof = verify(*schedule_of({Collective::all_reduce, Algorithm::direct, 100, 100, 0, 1}));
  ASSERT_TRUE(proof.has_value());
  EXPECT_EQ(proof->fold_order.size(), 203u);
  EXPECT_EQ(proof->fold_order.substr(200), "...");
}

}  // namespace
}  // namespace cnuas::ccl
