// Real bytes through every algorithm, in both fidelities.
#include "sim/run/payload.h"

#include "core/ccl/fold.h"
#include "tests/sim/simulation.h"

namespace cnuas::test {
namespace {

using ccl::Algorithm;
using ccl::Collective;
using ccl::DataType;
using ccl::Operator;

class CarriedData : public ::testing::TestWithParam<Fidelity> {};

TEST_P(CarriedData, IsRightForEveryAlgorithmTypeAndOperator) {
  for (const unsigned ranks : {1u, 2u, 3u, 5u, 8u}) {
    const Fabric fabric = *build_rack(racks({ranks}));
    std::vector<CollectiveCall> calls;
    for (const Collective collective : {Collective::all_reduce, Collective::broadcast, Collective::all_gather,
                                        Collective::reduce_scatter, Collective::all_to_all}) {
      for (const Algorithm algorithm : ccl::algorithms_of(collective)) {
        unsigned turn = 0;
        for (const DataType type :
             {DataType::int8, DataType::uint8, DataType::int32, DataType::uint32, DataType::int64,
              DataType::uint64, DataType::float32, DataType::float64}) {
          calls.push_back(call(fabric, collective, algorithm, 8 * 1237, type));
          calls.back().op = static_cast<Operator>(turn++ % 4);
          calls.back().root = ranks - 1;
          calls.push_back(call(fabric, collective, algorithm, 8 * 3, type));
        }
      }
    }
    scenarios::Scenario what = scenario(fabric, calls);
    what.fidelity = GetParam();
    const nlohmann::json report = run(what, {.simgrid_flows = false, .carry_data = true});
    ASSERT_FALSE(report.contains("error")) << report["error"];
    EXPECT_EQ(report["results"].size(), calls.size());
    // Carrying data takes no time of its own.
    EXPECT_EQ(times(report), times(run(what)));
  }
}

INSTANTIATE_TEST_SUITE_P(Fidelities, CarriedData, ::testing::Values(Fidelity::fluid, Fidelity::frame),
                         [](const auto& param) { return std::string(sim::name(param.param)); });

TEST(Payload, AFoldThatIsMissingIsFound) {
  CollectiveCall sum;
  sum.algorithm = Algorithm::direct;
  sum.size_bytes = 4 * 1000;
  sum.ranks = {GpuId{0x0100}, GpuId{0x0101}, GpuId{0x0102}};
  const auto schedule = ccl::make_schedule(problem_of(sum));
  ASSERT_TRUE(schedule);
  for (const bool one_missing : {false, true}) {
    sim::Payload payload(sum, **schedule, 7);
    EXPECT_NE(payload.check(true), "");  // nothing has been carried out yet
    std::vector<ccl::Executor> executors;
    for (ccl::Rank rank = 0; rank < 3; ++rank)
      executors.emplace_back(**schedule, rank, true);
    ccl::Executor::Actions actions;
    std::vector<std::pair<ccl::Rank, ccl::Executor::Action>> todo;
    bool missing = false;
    const auto take = [&](ccl::Rank rank) {
      for (const auto& action : actions)
        todo.emplace_back(rank, action);
      actions.clear();
    };
    for (ccl::Rank rank = 0; rank < 3; ++rank) {
      executors[rank].start(actions);
      take(rank);
    }
    for (std::size_t i = 0; i < todo.size(); ++i) {
      const auto [rank, action] = todo[i];  // a copy: todo grows
      const bool left_out = one_missing && !missing && action.step.op == ccl::Op::reduce;
      missing = missing || left_out;
      if (!left_out) payload.carry_out(rank, action.step);
      if (action.step.op != ccl::Op::send) continue;
      executors[rank].sent(action.lane, actions);
      take(rank);
      executors[action.step.peer].arrived(rank, action.step.channel, actions);
      take(action.step.peer);
    }
    EXPECT_EQ(payload.check(true) == "", !one_missing);
  }
}

template <class T>
T fold_two(DataType type, Operator op, T left, T right) {
  T out;
  ccl::fold(type, op, reinterpret_cast<const std::byte*>(&left), reinterpret_cast<const std::byte*>(&right),
            reinterpret_cast<std::byte*>(&out), 1);
  return out;
}

TEST(Fold, IntegersWrapAndOperandsKeepTheirOrder) {
  EXPECT_EQ(fold_two<std::int8_t>(DataType::int8, Operator::sum, 127, 1), -128);
  EXPECT_EQ(fold_two<std::int32_t>(DataType::int32, Operator::product, 1 << 30, 4), 0);
  EXPECT_EQ(fold_two<std::int64_t>(DataType::int64, Operator::min, -5, 3), -5);
  EXPECT_EQ(fold_two<std::uint64_t>(DataType::uint64, Operator::max, ~0ull, 3), ~0ull);
  EXPECT_EQ(std::signbit(fold_two<float>(DataType::float32, Operator::min, 0.0f, -0.0f)), false);
  EXPECT_EQ(std::signbit(fold_two<float>(DataType::float32, Operator::max, -0.0f, 0.0f)), true);
  EXPECT_TRUE(std::isnan(fold_two<double>(DataType::float64, Operator::min, std::nan(""), 1.0)));
  EXPECT_TRUE(std::isnan(fold_two<double>(DataType::float64, Operator::max, 1.0, std::nan(""))));
}

}  // namespace
}  // namespace cnuas::test
