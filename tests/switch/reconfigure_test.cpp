// New settings for a switch that runs, what is no frame, and several frames at once.
#include "tests/switch/bench.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace cnuas::fabric_switch {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

SwitchConfig expecting(std::vector<GpuId> gpus) {
  SwitchConfig config = rack_config(gpus.size(), 1);
  for (std::size_t i = 0; i < gpus.size(); ++i)
    config.ports[i].expected = gpus[i];
  return config;
}

TEST(Reconfigure, GivesAPortToAnotherGpu) {
  Bench bench(expecting({gpu(1, 0), gpu(1, 1)}));
  bench.drain(2);
  ASSERT_TRUE(bench.fabric.reconfigure(expecting({gpu(1, 0), gpu(1, 5)}), bench.now, bench.out));
  EXPECT_EQ(bench.port_of(gpu(1, 1)), Fdb::kNoPort);
  EXPECT_EQ(bench.port_of(gpu(1, 5)), 1);
  EXPECT_THAT(bench.drain(2), ElementsAre("DISCOVERY 1/5 > all"));
  bench.receive(1, header(gpu(1, 1), gpu(1, 0)));
  EXPECT_EQ(bench.rx_drops(1, DropReason::spoofed_source), 1u);
  bench.receive(1, header(gpu(1, 5), gpu(1, 0)));
  EXPECT_EQ(bench.drain(0).size(), 1u);
}

TEST(Reconfigure, LetsTwoPortsExchangeTheirGpus) {
  Bench bench(expecting({gpu(1, 0), gpu(1, 1)}));
  ASSERT_TRUE(bench.fabric.reconfigure(expecting({gpu(1, 1), gpu(1, 0)}), bench.now, bench.out));
  EXPECT_EQ(bench.port_of(gpu(1, 0)), 1);
  EXPECT_EQ(bench.port_of(gpu(1, 1)), 0);
  bench.drain(2);
}

TEST(Reconfigure, KeepsWhatIsQueued) {
  Bench bench(expecting({gpu(1, 0), gpu(1, 1)}));
  bench.receive(0, header(gpu(1, 0), gpu(1, 1)));
  ASSERT_TRUE(bench.fabric.reconfigure(expecting({gpu(1, 0), gpu(1, 5)}), bench.now, bench.out));
  EXPECT_EQ(bench.fabric.queued(1), 1u);
  bench.drain(1);
  bench.drain(2);
}

TEST(Reconfigure, LeavesAGpuThatHasSpokenWhenNobodyIsExpected) {
  Bench bench(expecting({gpu(1, 0), gpu(1, 1)}));
  bench.announce(0, gpu(1, 0));
  ASSERT_TRUE(bench.fabric.reconfigure(expecting({kNoGpu, kNoGpu}), bench.now, bench.out));
  EXPECT_EQ(bench.port_of(gpu(1, 0)), 0);
  EXPECT_EQ(bench.fabric.fdb().entries().front().origin, FdbOrigin::learned);
  EXPECT_EQ(bench.port_of(gpu(1, 1)), Fdb::kNoPort) << "it had been configured and had not spoken";
  bench.drain(2);
}

TEST(Reconfigure, TakesAGpuFromThePortThatOnlyHeardIt) {
  Bench bench(rack_config(2, 1));
  bench.announce(0, gpu(1, 0));
  ASSERT_TRUE(bench.fabric.reconfigure(expecting({kNoGpu, gpu(1, 0)}), bench.now, bench.out));
  EXPECT_EQ(bench.port_of(gpu(1, 0)), 1);
  bench.receive(0, header(gpu(1, 0), gpu(1, 1)));
  EXPECT_EQ(bench.rx_drops(0, DropReason::duplicate_source), 1u);
  bench.drain(2);
}

TEST(Reconfigure, WatchesByTheNewTimes) {
  SwitchConfig config = expecting({gpu(1, 0), gpu(1, 1)});
  config.stall_timeout_ps = 0;
  Bench bench(config);
  bench.drain(2);
  bench.announce(0, gpu(1, 0));
  bench.receive(0, header(gpu(1, 0), gpu(1, 1)));
  EXPECT_EQ(bench.fabric.next_deadline(), kNever);
  config.stall_timeout_ps = 3 * kMillisecond;
  config.keepalive_timeout_ps = 20 * kMillisecond;
  ASSERT_TRUE(bench.fabric.reconfigure(config, bench.now, bench.out));
  bench.advance(5 * kMillisecond);
  EXPECT_EQ(bench.tx_drops(1, DropReason::stalled), 1u);
  bench.advance(20 * kMillisecond);
  EXPECT_EQ(bench.port_of(gpu(1, 0)), Fdb::kNoPort) << "silent for too long";
  EXPECT_EQ(bench.fabric.next_deadline(), kNever);
  config.keepalive_timeout_ps = 0;
  ASSERT_TRUE(bench.fabric.reconfigure(config, bench.now, bench.out));
  EXPECT_EQ(bench.fabric.next_deadline(), kNever);
}

TEST(Reconfigure, TakesNewBounds) {
  SwitchConfig config = rack_config(2);
  Bench bench(config);
  config.ports[1].queue_bytes = 12;
  config.max_groups = 0;
  ASSERT_TRUE(bench.fabric.reconfigure(config, bench.now, bench.out));
  bench.announce(1, gpu(1, 1));
  bench.receive(0, header(gpu(1, 0), gpu(1, 1)));
  EXPECT_THAT(bench.out.paused, ElementsAre(0)) << "the queue is full with one frame";
  EXPECT_FALSE(bench.fabric.groups().create("late", {gpu(1, 0)}));
  bench.drain(1);
}

TEST(Reconfigure, RefusesWhatARunningSwitchCannotBecome) {
  Bench bench(rack_config(2, 1));
  const auto refused = [&](SwitchConfig config) {
    const Result<void> done = bench.fabric.reconfigure(std::move(config), bench.now, bench.out);
    return done ? std::string("taken") : done.error().message;
  };
  EXPECT_THAT(refused(rack_config(3, 1)), HasSubstr("the number of ports"));
  EXPECT_THAT(refused(rack_config(1, 2)), HasSubstr("uplink"));
  SwitchConfig other_role = rack_config(2, 1);
  other_role.ports[0].role = PortRole::inter_switch;
  EXPECT_THAT(refused(other_role), HasSubstr("the role of port 0"));
  SwitchConfig other_rack = rack_config(2, 1);
  other_rack.rack = 2;
  EXPECT_THAT(refused(other_rack), HasSubstr("the rack"));
  SwitchConfig senseless = rack_config(2, 1);
  senseless.ports[1].queue_bytes = 0;
  EXPECT_THAT(refused(senseless), HasSubstr("room for at least one byte"));
  EXPECT_EQ(bench.fabric.config().ports[1].queue_bytes, PortConfig{}.queue_bytes);
}

TEST(Refuse, CountsAMessageThatNobodyKept) {
  Bench bench(rack_config(2));
  bench.fabric.refuse(0, wire::FrameError::oversize, 1'000'000, 7, bench.out);
  EXPECT_EQ(bench.rx_drops(0, DropReason::oversize), 1u);
  EXPECT_EQ(bench.fabric.counters(0).by_type[0].rx_bytes, 1'000'000u);
  EXPECT_THAT(bench.out.released, ElementsAre(7));
}

TEST(Peek, SeesTheQueueInOrder) {
  Bench bench(rack_config(2));
  bench.announce(1, gpu(1, 1));
  for (int i = 0; i < 40; ++i)
    bench.receive(0, header(gpu(1, 0), gpu(1, 1)));
  bench.pop(1);
  for (int i = 0; i < 20; ++i)
    bench.receive(0, header(gpu(1, 0), gpu(1, 1)));
  ASSERT_EQ(bench.fabric.queued(1), 59u);
  for (std::size_t i = 1; i < 59; ++i)
    EXPECT_EQ(bench.fabric.peek(1, i).buffer, bench.fabric.peek(1, i - 1).buffer + 1);
  EXPECT_EQ(bench.fabric.front(1)->buffer, bench.fabric.peek(1, 0).buffer);
  bench.drain(1);
}

}  // namespace
}  // namespace cnuas::fabric_switch
