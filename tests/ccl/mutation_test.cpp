// Every single step of every shipped schedule matters, and the verifier sees it when one is wrong.
#include "core/ccl/verify.h"
#include "tests/ccl/mutated_schedule.h"
#include "tests/ccl/shipped.h"
#include "tests/slow_build.h"

#include <bit>

#include <gtest/gtest.h>

namespace cnuas::ccl {
namespace {

struct At {
  Rank rank;
  Lane lane;
  std::uint64_t index;
};

class MutationTest : public testing::TestWithParam<Shipped> {
 protected:
  // Problems small enough to break each step of each rank. Every block has elements, so every step matters.
  static std::vector<Problem> problems() {
    std::vector<Problem> problems;
    const std::vector<Rank> sizes =
        test::kSlowBuild ? std::vector<Rank>{2, 3, 5, 8} : std::vector<Rank>{2, 3, 4, 5, 6, 7, 8};
    for (const Rank ranks : sizes)
      problems.push_back(problem_of(GetParam(), ranks, 3 * ranks + 1, ranks / 2, 3));
    return problems;
  }

  // Calls visit(schedule, place, step) for every step of every problem.
  template <class Visit>
  static void for_each_step(const Visit& visit) {
    for (const Problem& problem : problems()) {
      const auto schedule = schedule_of(problem);
      ASSERT_NE(schedule, nullptr);
      for (Rank rank = 0; rank < problem.ranks; ++rank)
        for (Lane lane = 0; lane < schedule->lanes(); ++lane)
          for (std::uint64_t index = 0; index < schedule->steps(rank, lane); ++index)
            visit(*schedule, At{rank, lane, index}, schedule->step(rank, lane, index));
    }
  }

  // Calls visit(a, b, peer of a, peer of b) for every two receives of a lane from different ranks.
  template <class Visit>
  static void for_each_step_pair(const Schedule& schedule, const Visit& visit) {
    const auto receives = [](const Step& step) { return step.op == Op::recv || step.op == Op::recv_reduce; };
    for (Rank rank = 0; rank < schedule.problem().ranks; ++rank)
      for (Lane lane = 0; lane < schedule.lanes(); ++lane)
        for (std::uint64_t a = 0; a < schedule.steps(rank, lane); ++a)
          for (std::uint64_t b = a + 1; b < schedule.steps(rank, lane); ++b) {
            const Step step_a = schedule.step(rank, lane, a);
            const Step step_b = schedule.step(rank, lane, b);
            if (receives(step_a) && receives(step_b) && step_a.peer != step_b.peer)
              visit(At{rank, lane, a}, At{rank, lane, b}, step_a.peer, step_b.peer);
          }
  }

  // Not proved, or proved to be less than is guaranteed.
  static bool caught(const Schedule& schedule) {
    const Problem& problem = schedule.problem();
    const auto proof = verify(schedule);
    if (!proof) return !proof.error().message.empty() && !proof.error().where.empty();
    const FoldGuarantee guarantee = fold_guarantee(problem.collective, problem.algorithm, problem.ranks);
    return (guarantee.canonical && !proof->canonical) ||
           (guarantee.same_everywhere && !proof->same_everywhere);
  }

  template <class Change>
  static void expect_caught(const Schedule& schedule, const At& at, const char* what, const Change& change) {
    const MutatedSchedule mutant(schedule, [&](Rank rank, Lane lane, std::uint64_t index, Step& step) {
      if (rank == at.rank && lane == at.lane && index == at.index) change(step);
    });
    EXPECT_TRUE(caught(mutant)) << describe(schedule.problem()) << ": " << what << " at rank " << at.rank
                                << ", lane " << int{at.lane} << ", step " << at.index;
  }
};
INSTANTIATE_TEST_SUITE_P(Shipped, MutationTest, testing::ValuesIn(all_shipped()),
                         [](const auto& shipped) { return label(shipped.param); });

TEST_P(MutationTest, StepReplacedByNop) {
  for_each_step([](const Schedule& schedule, const At& at, const Step&) {
    expect_caught(schedule, at, "nothing done", [](Step& step) { step.op = Op::nop; });
  });
}

TEST_P(MutationTest, LastStepMissing) {
  for (const Problem& problem : problems()) {
    const auto schedule = schedule_of(problem);
    for (Rank rank = 0; rank < problem.ranks; ++rank)
      for (Lane lane = 0; lane < schedule->lanes(); ++lane) {
        if (schedule->steps(rank, lane) == 0) continue;
        MutatedSchedule mutant(*schedule, [](Rank, Lane, std::uint64_t, Step&) {});
        mutant.shorten(rank, lane);
        EXPECT_TRUE(caught(mutant)) << describe(problem) << ": rank " << rank << ", lane " << int{lane};
      }
  }
}

TEST_P(MutationTest, DependencyDropped) {
  // A pairwise exchange waits for the one before to keep ranks in step, not because the data needs it.
  if (GetParam().algorithm == Algorithm::pairwise) GTEST_SKIP();
  for_each_step([](const Schedule& schedule, const At& at, const Step& step) {
    for (std::size_t i = 0; i < step.deps.size(); ++i)
      if (step.deps[i].steps > 0)
        expect_caught(schedule, at, "dependency dropped", [i](Step& s) { s.deps[i] = Dependency{}; });
  });
}

TEST_P(MutationTest, DependencyTooEarly) {
  if (GetParam().algorithm == Algorithm::pairwise) GTEST_SKIP();
  for_each_step([](const Schedule& schedule, const At& at, const Step& step) {
    for (std::size_t i = 0; i < step.deps.size(); ++i)
      if (step.deps[i].steps > 0)
        expect_caught(schedule, at, "dependency one step short", [i](Step& s) { --s.deps[i].steps; });
  });
}

TEST_P(MutationTest, OneElementTooFew) {
  for_each_step([](const Schedule& schedule, const At& at, const Step&) {
    expect_caught(schedule, at, "count one less", [](Step& step) { --step.count; });
  });
}

TEST_P(MutationTest, OffsetWrong) {
  for_each_step([](const Schedule& schedule, const At& at, const Step& step) {
    if (step.op != Op::recv)
      expect_caught(schedule, at, "source one further", [](Step& s) { ++s.src.offset; });
    if (step.op != Op::send)
      expect_caught(schedule, at, "destination one further", [](Step& s) { ++s.dst.offset; });
  });
}

TEST_P(MutationTest, PeerWrong) {
  for_each_step([](const Schedule& schedule, const At& at, const Step& step) {
    if (step.op == Op::copy || step.op == Op::reduce) return;
    const Rank ranks = schedule.problem().ranks;
    expect_caught(schedule, at, "next rank as peer", [ranks](Step& s) { s.peer = (s.peer + 1) % ranks; });
    expect_caught(schedule, at, "peer out of range", [ranks](Step& s) { s.peer = ranks; });
  });
}

TEST_P(MutationTest, ChannelWrong) {
  for_each_step([](const Schedule& schedule, const At& at, const Step& step) {
    if (step.op == Op::copy || step.op == Op::reduce) return;
    expect_caught(schedule, at, "another channel", [](Step& s) { s.channel += 7; });
  });
}

// Receives of one lane with their sources exchanged. Where a fold takes any order, that is still a correct
// schedule, so this is about those that promise the order, and those that only move data.
TEST_P(MutationTest, SourcesExchanged) {
  for (const Problem& problem : problems()) {
    const auto schedule = schedule_of(problem);
    if (!fold_guarantee(problem.collective, problem.algorithm, problem.ranks).canonical) continue;
    for_each_step_pair(*schedule, [&](const At& a, const At& b, Rank peer_a, Rank peer_b) {
      const MutatedSchedule mutant(*schedule, [&](Rank rank, Lane lane, std::uint64_t index, Step& step) {
        if (rank != a.rank || lane != a.lane) return;
        if (index == a.index) step.peer = peer_b;
        if (index == b.index) step.peer = peer_a;
      });
      EXPECT_TRUE(caught(mutant)) << describe(problem) << ": rank " << a.rank << ", lane " << int{a.lane}
                                  << ", steps " << a.index << " and " << b.index;
    });
  }
}

// The classic mistake: the own contribution first, and then the others.
TEST_P(MutationTest, OperandsExchanged) {
  for_each_step([](const Schedule& schedule, const At& at, const Step& step) {
    if (step.op != Op::recv_reduce && step.op != Op::reduce) return;
    const Problem& problem = schedule.problem();
    if (!fold_guarantee(problem.collective, problem.algorithm, problem.ranks).canonical) return;
    expect_caught(schedule, at, "operands exchanged", [](Step& s) { s.incoming_left = !s.incoming_left; });
  });
}

// Both partners of an exchange fold the same operands: if one takes them the other way, bits differ.
class ExchangeMutationTest : public MutationTest {};
INSTANTIATE_TEST_SUITE_P(Shipped, ExchangeMutationTest,
                         testing::Values(Shipped{Collective::all_reduce, Algorithm::recursive_doubling}),
                         [](const auto& shipped) { return label(shipped.param); });

TEST_P(ExchangeMutationTest, OperandsExchangedByOneOfTwoPartners) {
  for_each_step([](const Schedule& schedule, const At& at, const Step& step) {
    if (step.op != Op::recv_reduce || !std::has_single_bit(schedule.problem().ranks)) return;
    expect_caught(schedule, at, "operands exchanged", [](Step& s) { s.incoming_left = !s.incoming_left; });
  });
}

}  // namespace
}  // namespace cnuas::ccl
