#include "live/posix/event_loop.h"

#include "live/posix/clock.h"

#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

namespace cnuas::live {
namespace {

using testing::ElementsAre;

class EventLoopTest : public testing::Test {
 protected:
  EventLoopTest() {
    for (auto& pair : pairs) {
      int ends[2];
      EXPECT_EQ(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, ends), 0);
      pair[0].reset(ends[0]);
      pair[1].reset(ends[1]);
    }
  }
  void ring(std::size_t pair) { ASSERT_EQ(::write(pairs[pair][1].get(), "x", 1), 1); }
  int fd(std::size_t pair) const { return pairs[pair][0].get(); }
  void round() { ASSERT_TRUE(loop.run_once(monotonic_now() + 20 * kSecond)); }

  EventLoop loop = *EventLoop::create();
  UniqueFd pairs[3][2];
};

TEST_F(EventLoopTest, CallsBackForWhatIsReady) {
  std::vector<int> called;
  EventLoop::Watch first = *loop.watch(fd(0), EPOLLIN, [&](std::uint32_t) { called.push_back(0); });
  EventLoop::Watch second = *loop.watch(fd(1), EPOLLIN, [&](std::uint32_t) { called.push_back(1); });
  ring(1);
  round();
  EXPECT_THAT(called, ElementsAre(1));
  round();
  EXPECT_THAT(called, ElementsAre(1, 1)) << "level-triggered";
  loop.change(second, 0);
  ring(0);
  round();
  EXPECT_THAT(called, ElementsAre(1, 1, 0));
  loop.unwatch(first);
  loop.unwatch(second);
}

TEST_F(EventLoopTest, DoesNotCallWhatAnotherCallbackRemoved) {
  int called = 0;
  EventLoop::Watch watches[2];
  for (int i : {0, 1}) {
    watches[i] = *loop.watch(fd(static_cast<std::size_t>(i)), EPOLLIN, [&, i](std::uint32_t) {
      ++called;
      loop.unwatch(watches[1 - i]);
    });
    ring(static_cast<std::size_t>(i));
  }
  round();
  EXPECT_EQ(called, 1) << "both were ready in the same round";
}

TEST_F(EventLoopTest, MayRemoveAndReplaceTheCallbackThatRuns) {
  int late = 0;
  EventLoop::Watch watch;
  watch = *loop.watch(fd(0), EPOLLIN, [&](std::uint32_t) {
    loop.unwatch(watch);
    watch = *loop.watch(fd(0), EPOLLIN, [&](std::uint32_t) { ++late; });
  });
  ring(0);
  round();
  EXPECT_EQ(late, 0);
  round();
  EXPECT_EQ(late, 1);
}

TEST_F(EventLoopTest, AnOldWatchDoesNotReachItsSuccessor) {
  EventLoop::Watch old = *loop.watch(fd(0), EPOLLIN, [](std::uint32_t) {});
  EventLoop::Watch copy = old;
  loop.unwatch(old);
  EXPECT_FALSE(old);
  int called = 0;
  EventLoop::Watch next = *loop.watch(fd(0), EPOLLIN, [&](std::uint32_t) { ++called; });
  loop.change(copy, 0);
  loop.unwatch(copy);
  ring(0);
  round();
  EXPECT_EQ(called, 1);
  loop.unwatch(next);
}

TEST_F(EventLoopTest, CallsTimersInOrderOfTime) {
  std::vector<int> called;
  const Picoseconds now = monotonic_now();
  loop.call_at(now + 2 * kMillisecond, [&] { called.push_back(2); });
  loop.call_at(now + kMillisecond, [&] { called.push_back(1); });
  EventLoop::Timer never = loop.call_at(now, [&] { called.push_back(0); });
  loop.cancel(never);
  while (called.size() < 2)
    round();
  EXPECT_THAT(called, ElementsAre(1, 2));
  EXPECT_GE(monotonic_now(), now + 2 * kMillisecond) << "never early";
}

TEST_F(EventLoopTest, ReturnsAtTheTimeGiven) {
  const Picoseconds until = monotonic_now() + 3 * kMillisecond;
  ASSERT_TRUE(loop.run_once(until));
  EXPECT_GE(monotonic_now(), until);
}

TEST_F(EventLoopTest, SaysWhatCannotBeWatched) {
  const Result<EventLoop::Watch> watch = loop.watch(-1, EPOLLIN, [](std::uint32_t) {});
  ASSERT_FALSE(watch);
  EXPECT_EQ(watch.error().code, ErrorCode::io);
  EXPECT_THAT(watch.error().message, testing::HasSubstr("Bad file descriptor"));
}

}  // namespace
}  // namespace cnuas::live
