// Closed forms against the simulated port model, and as the documentation has them.
#include "core/ccl/cost.h"
#include "tests/ccl/port_model.h"
#include "tests/ccl/shipped.h"
#include "tests/slow_build.h"

#include <algorithm>
#include <bit>

#include <gtest/gtest.h>
#include <rapidcheck.h>
#include <rapidcheck/gtest.h>

namespace cnuas::ccl {
namespace {

// 20 ps a byte; one whose bytes are not whole picoseconds; no latency at all, where ranks that drift apart
// overtake each other; and so much that they never do.
constexpr PortModel kPorts[] = {
    {50'000'000'000, 500'000}, {450'000'000'000, 1'300}, {50'000'000'000, 0}, {7'000'000'000, 10'000'000}};

class ClosedFormTest : public testing::TestWithParam<Shipped> {
 protected:
  static void compare(const Problem& problem, const PortModel& port) {
    const auto schedule = schedule_of(problem);
    ASSERT_NE(schedule, nullptr) << describe(problem);
    const ClosedForm form = closed_form(problem, 4, port);
    const PortModelRun run = run_port_model(*schedule, 4, port);
    ASSERT_NE(run.time_ps, kNever);
    EXPECT_LE(form.time_ps, run.time_ps) << describe(problem) << ", latency " << port.latency_ps;
    if (form.exact) {
      EXPECT_EQ(form.time_ps, run.time_ps) << describe(problem) << ", latency " << port.latency_ps;
    }
    // Each message's time is rounded on its own, so the bound on their sum holds up to that.
    const Picoseconds rounding = static_cast<Picoseconds>(run.messages);
    EXPECT_LE(lower_bound(problem, 4, port), run.time_ps + rounding) << describe(problem);
  }
};
INSTANTIATE_TEST_SUITE_P(Shipped, ClosedFormTest, testing::ValuesIn(all_shipped()),
                         [](const auto& shipped) { return label(shipped.param); });

TEST_P(ClosedFormTest, EqualsThePortModelOrBoundsIt) {
  std::vector<Rank> sizes = {1, 2, 3, 4, 5, 6, 7, 8, 9, 12, 13, 16, 17};
  if (!test::kSlowBuild) sizes.insert(sizes.end(), {10, 11, 14, 15, 31, 32, 33, 64});
  for (const Rank ranks : sizes)
    for (const std::uint64_t count :
         {std::uint64_t{0}, std::uint64_t{1}, std::uint64_t{ranks - 1}, std::uint64_t{16 * ranks},
          std::uint64_t{16 * ranks + 3}, std::uint64_t{10'000}})
      for (const std::uint64_t chunks : chunk_counts(GetParam()))
        for (const PortModel& port : kPorts)
          compare(problem_of(GetParam(), ranks, count, ranks / 3, chunks), port);
}

// Which forms are exact with equal blocks: all, but for the trees, whose ranks meet at ingresses, and numbers
// of ranks that a doubling algorithm has to round to a power of two.
TEST_P(ClosedFormTest, IsExactForEqualBlocks) {
  for (const Rank ranks : {2u, 4u, 8u, 32u, 5u, 12u}) {
    const Problem problem = problem_of(GetParam(), ranks, 480, 0, 2);
    const auto [collective, algorithm] = GetParam();
    const bool pow2_only = algorithm == Algorithm::recursive_doubling || algorithm == Algorithm::halving ||
                           algorithm == Algorithm::halving_doubling;
    const bool tree = collective == Collective::all_reduce &&
                      (algorithm == Algorithm::tree || algorithm == Algorithm::double_tree);
    if (tree || (pow2_only && !std::has_single_bit(ranks))) continue;
    EXPECT_TRUE(closed_form(problem, 4, kPorts[0]).exact) << describe(problem);
  }
}

RC_GTEST_PROP(ClosedFormPropertyTest, EqualsThePortModelOrBoundsIt, ()) {
  const Shipped shipped = *rc::gen::elementOf(all_shipped());
  const Rank ranks = *rc::gen::inRange<Rank>(1, 24);
  const auto count = *rc::gen::inRange<std::uint64_t>(0, 5000);
  const auto chunks = *rc::gen::inRange<std::uint64_t>(1, 40);
  const Problem problem = problem_of(shipped, ranks, count, *rc::gen::inRange<Rank>(0, ranks), chunks);
  const PortModel port{*rc::gen::inRange<std::uint64_t>(1'000'000'000, 2'000'000'000'000),
                       *rc::gen::inRange<Picoseconds>(0, 3'000'000)};
  const ClosedForm form = closed_form(problem, 4, port);
  const Picoseconds time = run_port_model(*schedule_of(problem), 4, port).time_ps;
  RC_ASSERT(form.time_ps <= time);
  if (form.exact) RC_ASSERT(form.time_ps == time);
}

// As the documentation writes them: 20 ps a byte, 500 ns away.
TEST(ClosedFormValueTest, PowersOfTwoAsDocumented) {
  constexpr PortModel kPort = kPorts[0];
  constexpr Picoseconds kA = kPort.latency_ps;
  constexpr Picoseconds kM = 4 * 20 * 8192;
  const auto time = [&](Collective collective, Algorithm algorithm, std::uint64_t chunks = 1) {
    return closed_form({collective, algorithm, 8, 8192, 0, chunks}, 4, kPort).time_ps;
  };
  using enum Collective;
  EXPECT_EQ(time(all_reduce, Algorithm::ring), 14 * (kA + kM / 8));
  EXPECT_EQ(time(all_reduce, Algorithm::direct), 2 * (kA + kM * 7 / 8));
  EXPECT_EQ(time(all_reduce, Algorithm::one_shot), kA + 7 * kM);
  EXPECT_EQ(time(all_reduce, Algorithm::recursive_doubling), 3 * (kA + kM));
  EXPECT_EQ(time(all_reduce, Algorithm::halving_doubling), 6 * kA + 2 * kM * 7 / 8);
  EXPECT_EQ(time(all_reduce, Algorithm::chain, 4), 14 * (kA + kM / 4) + 3 * kM / 4);
  EXPECT_EQ(time(reduce_scatter, Algorithm::ring), 7 * (kA + kM / 8));
  EXPECT_EQ(time(reduce_scatter, Algorithm::direct), kA + kM * 7 / 8);
  EXPECT_EQ(time(reduce_scatter, Algorithm::halving), 3 * kA + kM * 7 / 8);
  EXPECT_EQ(time(all_gather, Algorithm::ring), 7 * (kA + kM / 8));
  EXPECT_EQ(time(all_gather, Algorithm::direct), kA + kM * 7 / 8);
  EXPECT_EQ(time(all_gather, Algorithm::recursive_doubling), 3 * kA + kM * 7 / 8);
  EXPECT_EQ(time(broadcast, Algorithm::tree), 3 * (kA + kM));
  EXPECT_EQ(time(broadcast, Algorithm::chain, 4), 7 * (kA + kM / 4) + 3 * kM / 4);
  EXPECT_EQ(time(broadcast, Algorithm::direct), kA + 7 * kM);
  EXPECT_EQ(time(all_to_all, Algorithm::pairwise), 7 * (kA + kM / 8));
  EXPECT_EQ(time(all_to_all, Algorithm::direct), kA + kM * 7 / 8);
  EXPECT_EQ(time(all_to_all, Algorithm::bruck), 3 * (kA + kM / 2));
}

TEST(ClosedFormValueTest, BroadcastTreeTakesCeilLog2RoundsAtMost) {
  const PortModel& port = kPorts[0];
  for (Rank ranks = 2; ranks <= 70; ++ranks) {
    const auto rounds = static_cast<Picoseconds>(std::bit_width(ranks - 1));
    const Picoseconds time =
        closed_form({Collective::broadcast, Algorithm::tree, ranks, 100, 0, 1}, 4, port).time_ps;
    EXPECT_LE(time, rounds * (port.latency_ps + 8000)) << ranks;
    if (std::has_single_bit(ranks)) {
      EXPECT_EQ(time, rounds * (port.latency_ps + 8000)) << ranks;
    }
  }
}

TEST(ClosedFormValueTest, DegenerateProblems) {
  const Problem one{Collective::all_reduce, Algorithm::ring, 1, 100, 0, 1};
  EXPECT_EQ(closed_form(one, 4, kPorts[0]).time_ps, 0);
  EXPECT_TRUE(closed_form(one, 4, kPorts[0]).exact);
  EXPECT_EQ(lower_bound(one, 4, kPorts[0]), 0);
  const Problem none{Collective::all_reduce, Algorithm::ring, 0, 100, 0, 1};
  EXPECT_EQ(closed_form(none, 4, kPorts[0]).time_ps, kNever);
  EXPECT_EQ(lower_bound(none, 4, kPorts[0]), kNever);
  for (const Shipped& shipped : all_shipped()) {
    EXPECT_EQ(closed_form(problem_of(shipped, 4, 100), 4, PortModel{0, 5}).time_ps, kNever) << label(shipped);
    EXPECT_EQ(lower_bound(problem_of(shipped, 4, 100), 4, PortModel{0, 5}), kNever);
    const std::uint64_t most = ~std::uint64_t{0} / 4 / 6;
    EXPECT_EQ(closed_form(problem_of(shipped, 6, most), 64, PortModel{1'000, 5}).time_ps, kNever)
        << label(shipped);
    // A byte a second: nothing overflows, whatever does not fit is never.
    EXPECT_GT(closed_form(problem_of(shipped, 6, 1'000'000'000'000), 8, PortModel{1, 5}).time_ps, kSecond)
        << label(shipped);
  }
}

TEST(ClosedFormValueTest, BusFactors) {
  EXPECT_DOUBLE_EQ(bus_factor(Collective::all_reduce, 8), 1.75);
  EXPECT_DOUBLE_EQ(bus_factor(Collective::all_gather, 8), 0.875);
  EXPECT_DOUBLE_EQ(bus_factor(Collective::reduce_scatter, 8), 0.875);
  EXPECT_DOUBLE_EQ(bus_factor(Collective::all_to_all, 8), 0.875);
  EXPECT_DOUBLE_EQ(bus_factor(Collective::broadcast, 8), 1.0);
  EXPECT_DOUBLE_EQ(bus_factor(Collective::all_reduce, 1), 0.0);
}

}  // namespace
}  // namespace cnuas::ccl
