#include "core/ccl/executor.h"

#include "tests/ccl/shipped.h"
#include "tests/ccl/table_schedule.h"

#include <map>
#include <utility>

#include <gtest/gtest.h>
#include <rapidcheck.h>
#include <rapidcheck/gtest.h>

namespace cnuas::ccl {
namespace {

std::vector<Op> ops_of(const Executor::Actions& actions) {
  std::vector<Op> ops;
  for (const Executor::Action& action : actions)
    ops.push_back(action.step.op);
  return ops;
}

TEST(ExecutorTest, RunsARingStepByStep) {
  const auto schedule = schedule_of({Collective::all_reduce, Algorithm::ring, 3, 6, 0, 1});
  Executor executor(*schedule, 1, true);
  Executor::Actions actions;
  executor.start(actions);
  ASSERT_EQ(ops_of(actions), std::vector<Op>{Op::send});
  EXPECT_EQ(actions[0].step.peer, 2u);
  EXPECT_EQ(actions[0].step.src, (Location{Buffer::input, 0}));
  Step waiting;
  EXPECT_FALSE(executor.waits_for_message(0, waiting));
  ASSERT_TRUE(executor.waits_for_message(1, waiting));
  EXPECT_EQ(waiting.peer, 0u);

  // The next send needs the port and the message.
  actions.clear();
  executor.sent(0, actions);
  EXPECT_TRUE(actions.empty());
  EXPECT_EQ(executor.completed(0), 1u);
  executor.arrived(0, 0, actions);
  EXPECT_EQ(ops_of(actions), (std::vector<Op>{Op::recv_reduce, Op::send}));
  EXPECT_EQ(executor.completed(1), 1u);

  // A message that comes early counts until its step is reached: here the second receive is reached at once.
  actions.clear();
  executor.arrived(0, 0, actions);
  EXPECT_EQ(ops_of(actions), std::vector<Op>{Op::recv_reduce});
  EXPECT_EQ(executor.early_messages(), 0u);
  EXPECT_FALSE(executor.finished());
}

TEST(ExecutorTest, EarlyMessagesWaitForTheirStep) {
  const auto schedule = schedule_of({Collective::all_gather, Algorithm::direct, 4, 8, 0, 1});
  Executor executor(*schedule, 0, true);
  Executor::Actions actions;
  executor.start(actions);
  EXPECT_EQ(ops_of(actions), (std::vector<Op>{Op::send, Op::copy}));
  actions.clear();
  executor.arrived(1, 0, actions);
  executor.arrived(2, 0, actions);
  EXPECT_TRUE(actions.empty());
  EXPECT_EQ(executor.early_messages(), 2u);
  executor.arrived(3, 0, actions);
  EXPECT_EQ(ops_of(actions), (std::vector<Op>{Op::recv, Op::recv, Op::recv}));
  EXPECT_EQ(actions[0].step.peer, 3u);
  EXPECT_EQ(actions[2].step.peer, 1u);
  EXPECT_EQ(executor.early_messages(), 0u);
  for (int i = 0; i < 3; ++i)
    executor.sent(0, actions);
  EXPECT_TRUE(executor.finished());
  EXPECT_EQ(executor.completed(0), 3u);
  EXPECT_EQ(executor.completed(1), 4u);
}

TEST(ExecutorTest, ReportsOnlySendsIfAskedTo) {
  const auto schedule = schedule_of({Collective::all_reduce, Algorithm::direct, 2, 4, 0, 1});
  Executor executor(*schedule, 0, false);
  Executor::Actions actions;
  executor.start(actions);
  executor.sent(0, actions);
  executor.arrived(1, 0, actions);
  EXPECT_EQ(ops_of(actions), (std::vector<Op>{Op::send, Op::send}));
  executor.arrived(1, 0, actions);
  EXPECT_FALSE(executor.finished());
  executor.sent(0, actions);
  EXPECT_TRUE(executor.finished());
}

TEST(ExecutorTest, LanesWithoutStepsAreDone) {
  const Problem problem{Collective::all_reduce, Algorithm::direct, 2, 4, 0, 1};
  const TableSchedule nothing(problem, {});
  Executor executor(nothing, 0, true);
  Executor::Actions actions;
  executor.start(actions);
  EXPECT_TRUE(actions.empty());
  EXPECT_TRUE(executor.finished());
}

TEST(ExecutorTest, NopsAndDependenciesOnLaterLanes) {
  const Problem problem{Collective::all_reduce, Algorithm::direct, 2, 4, 0, 1};
  Step join;
  join.deps = {after(1, 1), after(2, 1)};
  const TableSchedule schedule(problem, {{{join, make_copy(in_input(0), in_output(0), 4)},
                                          {make_recv(1, in_output(0), 4)},
                                          {make_recv(1, in_output(0), 4)}}});
  Executor executor(schedule, 0, true);
  Executor::Actions actions;
  executor.start(actions);
  EXPECT_TRUE(actions.empty());
  Step waiting;
  EXPECT_FALSE(executor.waits_for_message(0, waiting));
  executor.arrived(1, 0, actions);
  executor.arrived(1, 0, actions);
  EXPECT_EQ(ops_of(actions), (std::vector<Op>{Op::recv, Op::recv, Op::copy}));
  EXPECT_TRUE(executor.finished());
}

RC_GTEST_PROP(EarlyMessagesTest, CountsLikeAMap, ()) {
  const auto events = *rc::gen::container<std::vector<std::pair<bool, Rank>>>(
      rc::gen::pair(rc::gen::arbitrary<bool>(), rc::gen::inRange<Rank>(0, 40)));
  EarlyMessages early;
  std::map<std::pair<Rank, std::uint8_t>, std::uint64_t> model;
  std::uint64_t total = 0;
  for (const auto& [adds, number] : events) {
    const Rank peer = number / 2 * 1024;
    const auto channel = static_cast<std::uint8_t>(number % 2);
    std::uint64_t& count = model[{peer, channel}];
    if (adds) {
      early.add(peer, channel);
      ++count;
      ++total;
    } else {
      RC_ASSERT(early.take(peer, channel) == (count > 0));
      if (count > 0) {
        --count;
        --total;
      }
    }
    RC_ASSERT(early.total() == total);
  }
  for (auto& [key, count] : model)
    for (; count > 0; --count)
      RC_ASSERT(early.take(key.first, key.second));
  RC_ASSERT(early.total() == 0u);
}

}  // namespace
}  // namespace cnuas::ccl
