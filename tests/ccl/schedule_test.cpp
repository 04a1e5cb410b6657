#include "core/ccl/schedule.h"

#include "tests/ccl/shipped.h"

#include <set>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace cnuas::ccl {
namespace {

using testing::HasSubstr;

TEST(CollectiveTest, NamesParseBack) {
  for (const Shipped& shipped : all_shipped()) {
    EXPECT_EQ(parse_collective(name(shipped.collective)), shipped.collective);
    EXPECT_EQ(parse_algorithm(name(shipped.algorithm)), shipped.algorithm);
  }
  for (unsigned i = 0; i < 8; ++i)
    EXPECT_EQ(parse_data_type(name(static_cast<DataType>(i))), static_cast<DataType>(i));
  for (unsigned i = 0; i < 4; ++i)
    EXPECT_EQ(parse_operator(name(static_cast<Operator>(i))), static_cast<Operator>(i));
  EXPECT_EQ(parse_collective("allreduce"), std::nullopt);
  EXPECT_EQ(parse_algorithm(""), std::nullopt);
  EXPECT_EQ(parse_data_type("float"), std::nullopt);
  EXPECT_EQ(parse_operator("avg"), std::nullopt);
  EXPECT_EQ(name(static_cast<Algorithm>(99)), "?");
  EXPECT_EQ(name(Op::recv_reduce), "recv_reduce");
  EXPECT_EQ(name(DataType::float32), "float32");
  EXPECT_EQ(name(Operator::max), "max");
}

TEST(MakeScheduleTest, ErrorsSayWhatIsWrong) {
  const auto error = [](const Problem& problem) {
    const auto schedule = make_schedule(problem);
    return schedule ? Error{} : schedule.error();
  };
  const Error unknown = error({Collective::all_to_all, Algorithm::ring, 4, 4, 0, 1});
  EXPECT_EQ(unknown.code, ErrorCode::unsupported);
  EXPECT_EQ(unknown.message, "all_to_all has no algorithm 'ring'; it has pairwise, direct, bruck");
  EXPECT_THAT(error({Collective::all_reduce, Algorithm::ring, 0, 4, 0, 1}).message,
              HasSubstr("at least 1 rank"));
  EXPECT_THAT(error({Collective::broadcast, Algorithm::tree, 4, 4, 4, 1}).message, HasSubstr("root 4"));
  EXPECT_THAT(error({Collective::all_reduce, Algorithm::chain, 4, 4, 0, 0}).message, HasSubstr("chunks"));
  EXPECT_THAT(error({Collective::all_reduce, Algorithm::one_shot, 4, ~std::uint64_t{0}, 0, 1}).message,
              HasSubstr("too many"));
  // A root means something to a broadcast only.
  EXPECT_TRUE(make_schedule({Collective::all_reduce, Algorithm::ring, 4, 4, 9, 1}).has_value());
}

TEST(MakeScheduleTest, EveryListedAlgorithmExists) {
  std::set<std::string> labels;
  for (const Shipped& shipped : all_shipped()) {
    EXPECT_NE(schedule_of(problem_of(shipped, 6, 10)), nullptr) << label(shipped);
    labels.insert(label(shipped));
  }
  EXPECT_EQ(labels.size(), 20u);
}

TEST(MakeScheduleTest, GeneratesStepsOfHugeProblems) {
  for (const Shipped& shipped : all_shipped()) {
    const Problem problem = problem_of(shipped, 4096, 1'000'000'000'007, 0, 64);
    const auto schedule = schedule_of(problem);
    ASSERT_NE(schedule, nullptr);
    for (const Rank rank : {0u, 1u, 2047u, 4095u})
      for (Lane lane = 0; lane < schedule->lanes(); ++lane) {
        const std::uint64_t steps = schedule->steps(rank, lane);
        if (steps == 0) continue;
        for (const std::uint64_t index : {std::uint64_t{0}, steps / 2, steps - 1})
          EXPECT_LE(schedule->step(rank, lane, index).count, problem.count) << label(shipped);
      }
  }
}

TEST(BufferSizesTest, FollowTheCollective) {
  const auto sizes = [](Collective collective, Rank rank) {
    const Problem problem{collective, Algorithm::direct, 3, 10, 1, 1};
    return std::pair(input_elements(problem, rank), output_elements(problem, rank));
  };
  using Sizes = std::pair<std::uint64_t, std::uint64_t>;
  EXPECT_EQ(sizes(Collective::all_reduce, 0), Sizes(10, 10));
  EXPECT_EQ(sizes(Collective::broadcast, 0), Sizes(0, 10));
  EXPECT_EQ(sizes(Collective::broadcast, 1), Sizes(10, 10));
  EXPECT_EQ(sizes(Collective::all_gather, 0), Sizes(4, 10));
  EXPECT_EQ(sizes(Collective::all_gather, 2), Sizes(3, 10));
  EXPECT_EQ(sizes(Collective::reduce_scatter, 0), Sizes(10, 4));
  EXPECT_EQ(sizes(Collective::all_to_all, 0), Sizes(10, 12));
  EXPECT_EQ(sizes(Collective::all_to_all, 2), Sizes(10, 9));
}

TEST(DefaultChunksTest, BalancesFillAgainstMessages) {
  constexpr std::uint64_t kKiB = 1024;
  const auto chain = [](Rank ranks, std::uint64_t bytes) {
    return default_chunks(Collective::all_reduce, Algorithm::chain, ranks, bytes);
  };
  EXPECT_EQ(chain(8, 0), 1u);
  EXPECT_EQ(chain(8, 64 * kKiB), 1u);
  EXPECT_EQ(chain(8, 128 * kKiB), 2u);
  EXPECT_EQ(chain(8, 1 << 30), 256u);
  EXPECT_EQ(chain(1000, 1 << 30), 1000u);
  EXPECT_EQ(default_chunks(Collective::all_reduce, Algorithm::double_tree, 1000, 1 << 30), 256u);
  EXPECT_EQ(default_chunks(Collective::broadcast, Algorithm::tree, 8, 1 << 30), 1u);
  EXPECT_EQ(default_chunks(Collective::all_reduce, Algorithm::ring, 8, 1 << 30), 1u);
}

}  // namespace
}  // namespace cnuas::ccl
