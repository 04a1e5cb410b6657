// Where frames go.
#include "tests/switch/bench.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace cnuas::fabric_switch {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using wire::FrameType;

constexpr FrameType kForwarded[] = {FrameType::data, FrameType::doorbell, FrameType::atomic,
                                    FrameType::collective_reduce, FrameType::collective_gather};

TEST(Unicast, EveryTypeButTwoGoesToItsDestinationAndNowhereElse) {
  Bench bench(rack_config(3));
  bench.announce(1, gpu(1, 1));
  for (const FrameType type : kForwarded) {
    const BufferId buffer = bench.receive(0, header(gpu(1, 0), gpu(1, 1), type, 100));
    EXPECT_THAT(bench.out.ready, ElementsAre(1));
    EXPECT_THAT(bench.out.released, IsEmpty());
    ASSERT_NE(bench.fabric.front(1), nullptr);
    EXPECT_EQ(bench.fabric.front(1)->buffer, buffer);
    EXPECT_EQ(bench.fabric.front(1)->header.payload_bytes, 100u);
    EXPECT_EQ(bench.fabric.front(2), nullptr);
    bench.pop(1);
    EXPECT_THAT(bench.out.released, ElementsAre(buffer));
  }
}

TEST(Unicast, FramesOfAPortLeaveInTheOrderTheyCame) {
  Bench bench(rack_config(3));
  bench.announce(2, gpu(1, 2));
  bench.receive(0, header(gpu(1, 0), gpu(1, 2)));
  EXPECT_THAT(bench.out.ready, ElementsAre(2));
  bench.receive(1, header(gpu(1, 1), gpu(1, 2)));
  EXPECT_THAT(bench.out.ready, IsEmpty()) << "the queue was not empty";
  bench.receive(0, header(gpu(1, 0), gpu(1, 2)));
  EXPECT_THAT(bench.drain(2), ElementsAre("DATA 1/0 > 1/2 #2", "DATA 1/1 > 1/2 #3", "DATA 1/0 > 1/2 #4"));
}

TEST(Unicast, UnknownOfThisRackIsDropped) {
  Bench bench(rack_config(2, 1));
  const BufferId buffer = bench.receive(0, header(gpu(1, 0), gpu(1, 9)));
  EXPECT_THAT(bench.out.released, ElementsAre(buffer));
  EXPECT_EQ(bench.rx_drops(0, DropReason::no_route), 1u);
}

TEST(Unicast, UnknownOfAnotherRackLeavesByTheUplink) {
  Bench bench(rack_config(1, 2));
  bench.receive(0, header(gpu(1, 0), gpu(2, 0)));
  EXPECT_THAT(bench.drain(1), ElementsAre("DISCOVERY 1/0 > all", "DATA 1/0 > 2/0 #1"));
  EXPECT_THAT(bench.drain(2), ElementsAre("DISCOVERY 1/0 > all"));
}

TEST(Unicast, UnknownFromTheUplinkDoesNotGoBackThere) {
  Bench bench(rack_config(1, 1));
  bench.receive(1, header(gpu(2, 0), gpu(3, 0)));
  EXPECT_EQ(bench.rx_drops(1, DropReason::no_route), 1u);
}

TEST(Unicast, UnknownOfAnotherRackWithoutAnUplinkIsDropped) {
  Bench bench(rack_config(1));
  bench.receive(0, header(gpu(1, 0), gpu(2, 0)));
  EXPECT_EQ(bench.rx_drops(0, DropReason::no_route), 1u);
}

TEST(Unicast, UnknownOfAnotherRackWithTheUplinkDownIsDropped) {
  Bench bench(rack_config(1, 1));
  bench.link_down(1);
  bench.receive(0, header(gpu(1, 0), gpu(2, 0)));
  EXPECT_EQ(bench.rx_drops(0, DropReason::no_route), 1u);
}

TEST(Unicast, ToOneselfIsAHairpin) {
  Bench bench(rack_config(1));
  bench.receive(0, header(gpu(1, 0), gpu(1, 0)));
  EXPECT_EQ(bench.rx_drops(0, DropReason::hairpin), 1u);
}

TEST(Unicast, NeverLeavesByTheLinkItCameBy) {
  Bench bench(rack_config(1, 1));
  bench.announce(1, gpu(2, 0));
  bench.receive(1, header(gpu(3, 0), gpu(2, 0)));
  EXPECT_EQ(bench.rx_drops(1, DropReason::hairpin), 1u);
  EXPECT_THAT(bench.drain(1), IsEmpty());
}

TEST(Broadcast, GoesToEveryCarryingPortButItsOwn) {
  Bench bench(rack_config(4, 1));
  bench.link_down(2);
  const BufferId buffer = bench.receive(1, header(gpu(1, 1), kBroadcast));
  EXPECT_THAT(bench.out.ready, ElementsAre(4, 0, 3)) << "the announcement first, then ascending";
  EXPECT_THAT(bench.drain(0), ElementsAre("DATA 1/1 > all #1"));
  EXPECT_THAT(bench.drain(1), IsEmpty());
  EXPECT_THAT(bench.drain(2), IsEmpty());
  EXPECT_THAT(bench.drain(3), ElementsAre("DATA 1/1 > all #1"));
  EXPECT_THAT(bench.out.released, IsEmpty());
  EXPECT_THAT(bench.drain(4), ElementsAre("DISCOVERY 1/1 > all", "DATA 1/1 > all #1"));
  EXPECT_THAT(bench.out.released, ElementsAre(buffer)) << "once, by the last";
  EXPECT_EQ(bench.fabric.shared_buffers(), 0u);
  EXPECT_EQ(bench.fabric.counters(1).total().forwarded, 1u);
  EXPECT_EQ(bench.fabric.counters(1).total().copies, 3u);
}

TEST(Broadcast, WithNobodyThereIsDropped) {
  Bench bench(rack_config(2));
  bench.link_down(1);
  const BufferId buffer = bench.receive(0, header(gpu(1, 0), kBroadcast));
  EXPECT_THAT(bench.out.released, ElementsAre(buffer));
  EXPECT_EQ(bench.rx_drops(0, DropReason::no_route), 1u);
}

TEST(Broadcast, OfEveryTypeButTwoIsFlooded) {
  for (const FrameType type : kForwarded) {
    Bench bench(rack_config(3));
    bench.receive(0, header(gpu(1, 0), kBroadcast, type));
    EXPECT_EQ(bench.drain(1).size(), 1u);
    EXPECT_EQ(bench.drain(2).size(), 1u);
  }
}

TEST(ForTheSwitch, DiscoveryAndKeepaliveReachNoGpuWhateverTheirDestination) {
  for (const FrameType type : {FrameType::discovery, FrameType::keepalive}) {
    for (const GpuId to : {kBroadcast, gpu(1, 1), gpu(1, 0), gpu(2, 0), gpu(1, 9)}) {
      Bench bench(rack_config(3, 1));
      bench.announce(1, gpu(1, 1));
      bench.drain(3);
      const BufferId buffer = bench.receive(0, header(gpu(1, 0), to, type));
      EXPECT_THAT(bench.out.released, ElementsAre(buffer));
      EXPECT_EQ(bench.fabric.counters(0).total().consumed, 1u);
      bench.receive(3, header(gpu(2, 0), to, type));
      EXPECT_THAT(bench.drain(0), IsEmpty());
      EXPECT_THAT(bench.drain(1), IsEmpty());
      EXPECT_THAT(bench.drain(2), IsEmpty());
      EXPECT_THAT(bench.drain(3), ElementsAre("DISCOVERY 1/0 > all"));
    }
  }
}

TEST(Collectives, AreCountedWhereTheyComeInAndPassOn) {
  Bench bench(rack_config(3));
  bench.announce(1, gpu(1, 1));
  bench.receive(0, header(gpu(1, 0), gpu(1, 1), FrameType::collective_reduce));
  bench.receive(0, header(gpu(1, 0), kBroadcast, FrameType::collective_reduce));
  bench.receive(0, header(gpu(1, 0), gpu(1, 1), FrameType::collective_gather));
  bench.receive(0, header(gpu(1, 0), gpu(1, 9), FrameType::collective_gather));  // dropped
  EXPECT_EQ(bench.fabric.counters(0).collective_reduce_count(), 2u);
  EXPECT_EQ(bench.fabric.counters(0).collective_gather_count(), 1u);
  EXPECT_EQ(bench.fabric.counters(1).collective_reduce_count(), 0u);
}

// --- Announcements ----------------------------------------------------------------------------------------

TEST(Announcements, ANewGpuIsAnnouncedOnEveryLinkOnce) {
  Bench bench(rack_config(2, 2));
  bench.announce(0, gpu(1, 0));
  bench.announce(0, gpu(1, 0));
  bench.receive(0, header(gpu(1, 0), kBroadcast, FrameType::keepalive));
  EXPECT_THAT(bench.drain(1), IsEmpty());
  EXPECT_THAT(bench.drain(2), ElementsAre("DISCOVERY 1/0 > all"));
  EXPECT_THAT(bench.drain(3), ElementsAre("DISCOVERY 1/0 > all"));
  EXPECT_EQ(bench.fabric.counters(2).total().own, 1u);
  EXPECT_EQ(bench.fabric.counters(2).latency.count(), 0u);
}

TEST(Announcements, ALinkThatComesUpIsToldEverythingInOrder) {
  Bench bench(rack_config(2, 2));
  bench.link_down(2);
  bench.announce(3, gpu(7, 0));
  bench.announce(1, gpu(1, 1));
  bench.announce(0, gpu(1, 0));
  bench.link_up(2);
  EXPECT_THAT(bench.out.ready, ElementsAre(2));
  EXPECT_THAT(bench.drain(2),
              ElementsAre("DISCOVERY 1/0 > all", "DISCOVERY 1/1 > all", "DISCOVERY 7/0 > all"));
}

TEST(Announcements, NeverGoBackWhereTheyCameFrom) {
  Bench bench(rack_config(1, 2));
  bench.announce(1, gpu(2, 0));
  EXPECT_THAT(bench.drain(1), IsEmpty());
  EXPECT_THAT(bench.drain(2), ElementsAre("DISCOVERY 2/0 > all"));
}

TEST(Announcements, AreRepeatedWhenTheGpuComesBack) {
  Bench bench(rack_config(1, 1));
  bench.announce(0, gpu(1, 0));
  bench.link_down(0);
  bench.link_up(0);
  bench.announce(0, gpu(1, 0));
  EXPECT_THAT(bench.drain(1), ElementsAre("DISCOVERY 1/0 > all", "DISCOVERY 1/0 > all"));
}

TEST(Announcements, OfConfiguredGpusAreMadeWhenTheirLinkComesUp) {
  SwitchConfig config = rack_config(1, 1);
  config.ports[0].expected = gpu(1, 0);
  Bench bench(std::move(config));
  EXPECT_THAT(bench.drain(1), ElementsAre("DISCOVERY 1/0 > all"));
  bench.announce(0, gpu(1, 0));
  EXPECT_THAT(bench.drain(1), IsEmpty());
}

TEST(Announcements, AreSpokenInTheOrderOfTheOtherSwitch) {
  Bench bench(rack_config(1, 1));
  wire::FrameHeader little = header(gpu(2, 0), kBroadcast, FrameType::discovery);
  little.order = wire::ByteOrder::little;
  bench.receive(1, little);
  bench.announce(0, gpu(1, 0));
  EXPECT_EQ(bench.fabric.front(1)->header,
            (wire::FrameHeader{FrameType::discovery, wire::ByteOrder::little, gpu(1, 0), kBroadcast, 0}));
}

// --- Links that go ----------------------------------------------------------------------------------------

TEST(LinkDown, TheGpuOfAPortLeavesTheFdb) {
  Bench bench(rack_config(2));
  bench.announce(0, gpu(1, 0));
  bench.link_down(0);
  EXPECT_EQ(bench.fabric.fdb().size(), 0u);
  bench.receive(1, header(gpu(1, 1), gpu(1, 0)));
  EXPECT_EQ(bench.rx_drops(1, DropReason::no_route), 1u);
}

TEST(LinkDown, EverythingBehindALinkLeavesTheFdb) {
  Bench bench(rack_config(1, 2));
  bench.announce(0, gpu(1, 0));
  bench.announce(1, gpu(2, 0));
  bench.announce(1, gpu(3, 0));
  bench.announce(2, gpu(4, 0));
  bench.link_down(1);
  EXPECT_THAT(bench.fabric.fdb().entries(), ElementsAre(FdbEntry{gpu(1, 0), 0, FdbOrigin::learned},
                                                        FdbEntry{gpu(4, 0), 2, FdbOrigin::learned}));
}

TEST(LinkDown, TheQueueIsDroppedAndCounted) {
  Bench bench(rack_config(3));
  bench.announce(1, gpu(1, 1));
  const BufferId one = bench.receive(0, header(gpu(1, 0), gpu(1, 1)));
  const BufferId all = bench.receive(0, header(gpu(1, 0), kBroadcast));
  bench.link_down(1);
  EXPECT_THAT(bench.out.released, ElementsAre(one));
  EXPECT_EQ(bench.tx_drops(1, DropReason::link_down), 2u);
  EXPECT_EQ(bench.fabric.front(1), nullptr);
  bench.pop(2);
  EXPECT_THAT(bench.out.released, ElementsAre(all));
}

TEST(LinkDown, ByTheOperatorIsADifferentReason) {
  Bench bench(rack_config(2));
  bench.announce(1, gpu(1, 1));
  bench.receive(0, header(gpu(1, 0), gpu(1, 1)));
  bench.admin(1, false);
  EXPECT_EQ(bench.tx_drops(1, DropReason::admin_down), 1u);
  EXPECT_EQ(bench.tx_drops(1, DropReason::link_down), 0u);
}

TEST(LinkDown, TwiceIsOnce) {
  Bench bench(rack_config(2));
  bench.link_down(0);
  bench.link_down(0);
  bench.link_up(0);
  bench.link_up(0);
  bench.receive(1, header(gpu(1, 1), kBroadcast));
  EXPECT_EQ(bench.drain(0).size(), 1u);
}

}  // namespace
}  // namespace cnuas::fabric_switch
