// The reference itself, on schedules short enough to work out by hand.
#include "tests/ccl/port_model.h"

#include "tests/ccl/shipped.h"

#include <gtest/gtest.h>

namespace cnuas::ccl {
namespace {

constexpr PortModel kPort{1'000'000'000'000, 100};  // a byte a picosecond, 100 ps away

TEST(PortModelTest, SendsOneMessageAfterTheOther) {
  // The second message leaves at 10, when the first has left, not when it has arrived.
  const auto schedule = schedule_of({Collective::broadcast, Algorithm::direct, 3, 10, 0, 1});
  const PortModelRun run = run_port_model(*schedule, 1, kPort);
  EXPECT_EQ(run.time_ps, 10 + 10 + 100);
  EXPECT_EQ(run.messages, 2u);
  EXPECT_FALSE(run.shared);
}

TEST(PortModelTest, HopsFollowEachOther) {
  const auto schedule = schedule_of({Collective::broadcast, Algorithm::chain, 4, 10, 2, 1});
  EXPECT_EQ(run_port_model(*schedule, 1, kPort).time_ps, 3 * 110);
}

TEST(PortModelTest, SharesAnIngress) {
  // The root of three ranks folds from both children at once: 10 elements each in 20, and two down in turn.
  const auto schedule = schedule_of({Collective::all_reduce, Algorithm::tree, 3, 10, 0, 1});
  const PortModelRun run = run_port_model(*schedule, 1, kPort);
  EXPECT_TRUE(run.shared);
  EXPECT_EQ(run.time_ps, 20 + 100 + 20 + 100);
}

TEST(PortModelTest, NothingToDoTakesNoTime) {
  const auto schedule = schedule_of({Collective::all_reduce, Algorithm::ring, 1, 10, 0, 1});
  EXPECT_EQ(run_port_model(*schedule, 1, kPort).time_ps, 0);
}

TEST(PortModelTest, EmptyMessagesPayLatency) {
  const auto schedule = schedule_of({Collective::all_reduce, Algorithm::ring, 4, 0, 0, 1});
  EXPECT_EQ(run_port_model(*schedule, 1, kPort).time_ps, 6 * 100);
}

}  // namespace
}  // namespace cnuas::ccl
