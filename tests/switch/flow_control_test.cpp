// Full queues, standing readers, and what both do to senders.
#include "tests/switch/bench.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace cnuas::fabric_switch {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using wire::FrameType;

constexpr std::uint32_t kPayload = 88;  // 100 bytes a frame

// Ports 0.. are GPUs 1/0.., all announced. Queues hold 4 frames of 100 bytes and then pause.
SwitchConfig tight(std::size_t gpus, std::size_t links = 0) {
  SwitchConfig config = rack_config(gpus, links);
  for (PortConfig& port : config.ports)
    port.queue_bytes = 400;
  config.overrun_bytes = 300;
  return config;
}

class TightBench : public Bench {
 public:
  explicit TightBench(std::size_t gpus, std::size_t links = 0) : TightBench(tight(gpus, links)) {}
  explicit TightBench(const SwitchConfig& config) : Bench(config) {
    for (PortIndex port = 0; port < config.ports.size(); ++port) {
      if (config.ports[port].role == PortRole::gpu) announce(port, gpu(1, port));
    }
    for (PortIndex port = 0; port < config.ports.size(); ++port)
      drain(port);
    out.clear();
  }
  BufferId send(PortIndex from, PortIndex to) {
    return receive(from, header(gpu(1, from), gpu(1, to), FrameType::data, kPayload));
  }
  BufferId send_to_all(PortIndex from) {
    return receive(from, header(gpu(1, from), kBroadcast, FrameType::data, kPayload));
  }
  bool paused(PortIndex port) const { return fabric.status(port).ingress_paused; }
  // Makes the queue of a port full; its senders are those named, and all are paused.
  void fill(PortIndex to, const Ports& from) {
    while (fabric.status(to).queued_bytes < 300)
      send(from.front(), to);
    for (const PortIndex port : from)
      send(port, to);
  }
};

TEST(Pause, TheIngressThatFillsAQueueIsPaused) {
  TightBench bench(3);
  for (int i = 0; i < 3; ++i) {
    bench.send(0, 2);
    EXPECT_THAT(bench.out.paused, IsEmpty());
  }
  bench.send(0, 2);
  EXPECT_THAT(bench.out.paused, ElementsAre(0));
  EXPECT_TRUE(bench.paused(0));
  EXPECT_FALSE(bench.paused(1));
}

TEST(Pause, EveryIngressThatMeetsAFullQueueIsPausedAndItsFrameKept) {
  TightBench bench(4);
  bench.fill(3, {0});
  bench.send(1, 3);
  EXPECT_THAT(bench.out.paused, ElementsAre(1));
  bench.send(2, 3);
  EXPECT_THAT(bench.out.paused, ElementsAre(2));
  EXPECT_EQ(bench.fabric.status(3).queued_frames, 6u);
  EXPECT_EQ(bench.all_drops(), 0u);
}

TEST(Pause, IsSaidOnce) {
  TightBench bench(3);
  bench.fill(2, {0});
  bench.send(0, 2);
  EXPECT_THAT(bench.out.paused, IsEmpty());
}

TEST(Pause, ALargeFrameExceedsTheLimitOnce) {
  TightBench bench(2);
  bench.receive(0, header(gpu(1, 0), gpu(1, 1), FrameType::data, wire::kMaxPayloadBytes));
  EXPECT_THAT(bench.out.paused, ElementsAre(0));
  EXPECT_EQ(bench.fabric.status(1).queued_bytes, wire::kMaxFrameBytes);
}

TEST(Resume, AllAreResumedWhenTheQueueIsBelowHalf) {
  TightBench bench(4);
  bench.fill(3, {2, 0});  // 5 frames
  for (int left = 4; left >= 2; --left) {
    bench.pop(3);
    EXPECT_THAT(bench.out.resumed, IsEmpty()) << left << " frames are left";
  }
  bench.pop(3);
  EXPECT_THAT(bench.out.resumed, ElementsAre(0, 2));
  EXPECT_FALSE(bench.paused(0));
}

TEST(Resume, OnlyWhenNoOtherQueueIsWaitedFor) {
  TightBench bench(4);
  bench.fill(2, {0, 1});
  bench.send(0, 3);
  bench.send(0, 3);
  bench.send(0, 3);
  bench.fill(3, {1});  // ports 0 and 1 wait for 2, port 1 for 3 also
  bench.drain(2);
  EXPECT_THAT(bench.out.resumed, ElementsAre(0));
  bench.out.clear();
  bench.drain(3);
  EXPECT_THAT(bench.out.resumed, ElementsAre(1));
}

TEST(Resume, AQueueOfOneByteWorks) {
  SwitchConfig config = tight(2);
  config.ports[1].queue_bytes = 1;
  TightBench bench(config);
  for (int i = 0; i < 3; ++i) {
    bench.send(0, 1);
    EXPECT_THAT(bench.out.paused, ElementsAre(0));
    bench.pop(1);
    EXPECT_THAT(bench.out.resumed, ElementsAre(0));
  }
}

TEST(Resume, WhenTheWaitedForLinkGoesDown) {
  TightBench bench(4);
  bench.fill(3, {0, 2});
  bench.link_down(3);
  EXPECT_THAT(bench.out.resumed, ElementsAre(0, 2));
}

TEST(Resume, WhenThePausedLinkItselfGoesDown) {
  TightBench bench(3);
  bench.fill(2, {0});
  bench.link_down(0);
  EXPECT_THAT(bench.out.resumed, ElementsAre(0)) << "so that every pause ends";
  bench.link_up(0);
  EXPECT_FALSE(bench.paused(0));
  bench.drain(2);
  EXPECT_THAT(bench.out.resumed, IsEmpty());
}

TEST(Overrun, APausedIngressMayStillBringSomeAndThenNoMore) {
  TightBench bench(4);
  bench.fill(2, {0});
  for (int i = 0; i < 3; ++i)
    bench.send(0, 2);
  EXPECT_EQ(bench.all_drops(), 0u);
  const BufferId beyond = bench.send(0, 2);
  EXPECT_THAT(bench.out.released, ElementsAre(beyond));
  EXPECT_EQ(bench.rx_drops(0, DropReason::queue_full), 1u);
  bench.send(0, 3);
  EXPECT_EQ(bench.rx_drops(0, DropReason::queue_full), 2u) << "whatever the destination";
  bench.send(1, 2);
  EXPECT_EQ(bench.rx_drops(1, DropReason::queue_full), 0u) << "another ingress has its own allowance";
}

TEST(Overrun, ABroadcastCountsItsBytesOnceAndItsQueuesEach) {
  SwitchConfig config = tight(5);
  config.overrun_bytes = 100 + 4 * 32 + 1;
  TightBench bench(config);
  bench.fill(2, {0});
  bench.send_to_all(0);
  bench.send_to_all(0);
  EXPECT_EQ(bench.all_drops(), 0u);
  bench.send_to_all(0);
  EXPECT_EQ(bench.rx_drops(0, DropReason::queue_full), 1u);
}

TEST(Overrun, DoesNotTouchFramesForTheSwitch) {
  TightBench bench(3);
  bench.fill(2, {0});
  for (int i = 0; i < 4; ++i)
    bench.send(0, 2);
  bench.receive(0, header(gpu(1, 0), kBroadcast, FrameType::keepalive));
  EXPECT_EQ(bench.fabric.counters(0).by_type[slot(FrameType::keepalive)].consumed, 1u);
}

TEST(Overrun, IsForgivenWithTheNextPause) {
  TightBench bench(3);
  bench.fill(2, {0});
  for (int i = 0; i < 3; ++i)
    bench.send(0, 2);
  bench.drain(2);
  bench.fill(2, {0});
  bench.send(0, 2);
  EXPECT_EQ(bench.all_drops(), 0u);
}

TEST(Flood, OneFullQueuePausesItsIngress) {
  TightBench bench(4);
  bench.fill(3, {0});
  const BufferId buffer = bench.send_to_all(1);
  EXPECT_THAT(bench.out.paused, ElementsAre(1));
  EXPECT_EQ(bench.all_drops(), 0u);
  bench.drain(0);
  bench.drain(2);
  bench.drain(3);
  EXPECT_THAT(bench.out.resumed, ElementsAre(0, 1));
  EXPECT_EQ(bench.out.released.back(), buffer);
}

// --- The watchdog -----------------------------------------------------------------------------------------

TEST(Watchdog, AQueueThatNothingLeavesIsFlushedAndItsSendersGoOn) {
  TightBench bench(4);
  bench.fill(3, {0, 1});
  EXPECT_LE(bench.fabric.next_deadline(), 50 * kMillisecond);
  bench.advance(50 * kMillisecond - 1);
  EXPECT_THAT(bench.out.resumed, IsEmpty());
  bench.advance(1);
  EXPECT_THAT(bench.out.resumed, ElementsAre(0, 1));
  EXPECT_EQ(bench.out.released.size(), 5u);
  EXPECT_EQ(bench.tx_drops(3, DropReason::stalled), 5u);
  EXPECT_TRUE(bench.fabric.status(3).stalled);
  EXPECT_EQ(bench.fabric.front(3), nullptr);
  EXPECT_EQ(bench.fabric.next_deadline(), kNever);
}

TEST(Watchdog, FramesForAStalledPortAreDroppedAsTheyArrive) {
  TightBench bench(3);
  bench.send(0, 2);
  bench.advance(50 * kMillisecond);
  for (int i = 0; i < 10; ++i) {
    const BufferId buffer = bench.send(0, 2);
    EXPECT_THAT(bench.out.released, ElementsAre(buffer));
    EXPECT_THAT(bench.out.paused, IsEmpty());
  }
  EXPECT_EQ(bench.tx_drops(2, DropReason::stalled), 11u);
  EXPECT_EQ(bench.fabric.counters(0).total().rx_dropped, 0u) << "it is not the sender's port that loses them";
}

TEST(Watchdog, AStalledPortDoesNotKeepAFloodFromTheOthers) {
  TightBench bench(4);
  bench.send(0, 3);
  bench.advance(50 * kMillisecond);
  const BufferId buffer = bench.send_to_all(0);
  EXPECT_THAT(bench.out.ready, ElementsAre(1, 2));
  bench.drain(1);
  bench.drain(2);
  EXPECT_THAT(bench.out.released, ElementsAre(buffer));
}

TEST(Watchdog, AFloodToStalledPortsOnlyIsReleasedAtOnce) {
  TightBench bench(2);
  bench.send(0, 1);
  bench.advance(50 * kMillisecond);
  const BufferId buffer = bench.send_to_all(0);
  EXPECT_THAT(bench.out.released, ElementsAre(buffer));
}

TEST(Watchdog, APopOrAnUnstallShowsThatTheReaderMoves) {
  TightBench bench(3);
  for (const bool by_pop : {true, false}) {
    bench.send(0, 2);
    bench.advance(50 * kMillisecond);
    ASSERT_TRUE(bench.fabric.status(2).stalled);
    bench.out.clear();
    if (by_pop) {
      bench.fabric.pop(2, bench.now, bench.out);
    } else {
      bench.fabric.unstall(2, bench.now, bench.out);
    }
    EXPECT_FALSE(bench.fabric.status(2).stalled);
    bench.send(0, 2);
    EXPECT_THAT(bench.out.ready, ElementsAre(2));
    EXPECT_EQ(bench.drain(2).size(), 1u);
  }
}

TEST(Watchdog, EveryPopPutsItOff) {
  TightBench bench(3);
  bench.fill(2, {0});
  for (int i = 0; i < 3; ++i) {
    bench.advance(49 * kMillisecond);
    bench.pop(2);
  }
  bench.advance(50 * kMillisecond - 1);
  EXPECT_EQ(bench.all_drops(), 0u);
  bench.advance(1);
  EXPECT_EQ(bench.tx_drops(2, DropReason::stalled), 1u);
}

TEST(Watchdog, AnUnstallPutsItOffToo) {
  TightBench bench(3);
  bench.send(0, 2);
  bench.advance(30 * kMillisecond);
  bench.fabric.unstall(2, bench.now, bench.out);
  bench.advance(30 * kMillisecond);
  EXPECT_EQ(bench.all_drops(), 0u);
}

TEST(Watchdog, StartsWhenTheQueueBecomesNonEmptyAndNotBefore) {
  TightBench bench(3);
  bench.advance(kSecond);
  bench.send(0, 2);
  bench.advance(50 * kMillisecond - 1);
  EXPECT_EQ(bench.all_drops(), 0u);
}

TEST(Watchdog, ANewLinkIsNotStalled) {
  TightBench bench(3);
  bench.send(0, 2);
  bench.advance(50 * kMillisecond);
  bench.link_down(2);
  bench.link_up(2);
  EXPECT_FALSE(bench.fabric.status(2).stalled);
}

TEST(Watchdog, CanBeTurnedOff) {
  SwitchConfig config = tight(3);
  config.stall_timeout_ps = 0;
  TightBench bench(config);
  bench.send(0, 2);
  EXPECT_EQ(bench.fabric.next_deadline(), kNever);
  bench.advance(1000 * kSecond);
  EXPECT_EQ(bench.fabric.status(2).queued_frames, 1u);
}

TEST(Watchdog, NothingPendingMeansNoDeadline) {
  TightBench bench(3);
  EXPECT_EQ(bench.fabric.next_deadline(), kNever);
  bench.send(0, 2);
  EXPECT_EQ(bench.fabric.next_deadline(), 50 * kMillisecond);
  bench.pop(2);
  EXPECT_EQ(bench.fabric.next_deadline(), kNever);
  bench.now = kSecond;
  bench.send(0, 2);
  EXPECT_EQ(bench.fabric.next_deadline(), kSecond + 50 * kMillisecond);
  bench.link_down(0);
  bench.link_down(2);
  EXPECT_EQ(bench.fabric.next_deadline(), kNever);
}

TEST(Watchdog, TimeAtItsEndIsNever) {
  TightBench bench(3);
  bench.now = kNever - 1;
  bench.send(0, 2);
  EXPECT_EQ(bench.fabric.next_deadline(), kNever);
}

// --- Own frames -------------------------------------------------------------------------------------------

TEST(OwnFrames, DoNotPauseAnybody) {
  TightBench bench(1, 2);
  for (unsigned slot = 0; slot < 100; ++slot) {
    bench.announce(1, gpu(2, slot));
    EXPECT_THAT(bench.out.paused, IsEmpty());
  }
  EXPECT_EQ(bench.fabric.status(2).queued_frames, 100u);
}

TEST(OwnFrames, LostToAStallAreRepeatedWhenTheReaderMoves) {
  TightBench bench(2, 1);
  bench.link_down(0);
  bench.link_up(0);
  bench.announce(0, gpu(1, 0));
  bench.advance(50 * kMillisecond);
  EXPECT_EQ(bench.tx_drops(2, DropReason::stalled), 1u);
  bench.out.clear();
  bench.fabric.unstall(2, bench.now, bench.out);
  EXPECT_THAT(bench.out.ready, ElementsAre(2));
  EXPECT_THAT(bench.drain(2), ElementsAre("DISCOVERY 1/0 > all", "DISCOVERY 1/1 > all"));
}

TEST(OwnFrames, ForAStalledLinkAreDroppedAndRepeatedLater) {
  TightBench bench(2, 1);
  bench.receive(0, header(gpu(1, 0), gpu(2, 0)));
  bench.advance(50 * kMillisecond);
  bench.link_down(1);
  bench.link_up(1);
  bench.announce(1, gpu(1, 9));
  EXPECT_EQ(bench.tx_drops(2, DropReason::stalled), 2u);
  bench.pop(2);
  EXPECT_THAT(bench.drain(2), ElementsAre("DISCOVERY 1/0 > all", "DISCOVERY 1/9 > all"));
}

TEST(OwnFrames, AreBoundedAndWhatWasDroppedIsRepeated) {
  SwitchConfig config = tight(0, 3);
  config.rack = 0;
  config.uplink = -1;
  config.stall_timeout_ps = 0;
  TightBench bench(config);
  bench.announce(0, gpu(2, 1));
  // Two links that take turns to claim a GPU: the third is told each time.
  constexpr std::uint64_t kBound = 65'536;
  const std::uint64_t changes = kBound + 10;
  for (std::uint64_t i = 0; i < changes; ++i) {
    bench.receive(static_cast<PortIndex>(i % 2), header(gpu(2, 0), gpu(3, 3)));
  }
  EXPECT_EQ(bench.fabric.status(2).queued_frames, kBound);
  EXPECT_EQ(bench.tx_drops(2, DropReason::announcements), 11u);
  EXPECT_EQ(bench.drain(2).size(), kBound + 2) << "at the end all again, as it is by then";
}

// --- Latency ----------------------------------------------------------------------------------------------

TEST(Latency, IsFromReceivingToLeavingAtTheEgress) {
  TightBench bench(3);
  bench.send(0, 2);
  bench.now += 15;
  bench.pop(2);
  EXPECT_EQ(bench.fabric.counters(2).latency.count(), 1u);
  EXPECT_EQ(bench.fabric.counters(2).latency.p50_ps(), 15);
  EXPECT_EQ(bench.fabric.counters(0).latency.count(), 0u);
}

// --- Many ports -------------------------------------------------------------------------------------------

TEST(Pause, WorksAcrossAThousandPorts) {
  SwitchConfig config = tight(1024);
  config.rack = 0;
  Bench bench(config);
  for (PortIndex port = 0; port < 1024; ++port)
    bench.announce(port, GpuId{static_cast<std::uint16_t>(0x100 + port)});
  Ports paused;
  for (PortIndex port = 0; port < 1023; ++port) {
    bench.receive(port, header(GpuId{static_cast<std::uint16_t>(0x100 + port)}, gpu(4, 255), FrameType::data,
                               kPayload));
    paused.insert(paused.end(), bench.out.paused.begin(), bench.out.paused.end());
  }
  EXPECT_EQ(paused.size(), 1020u);
  bench.out.clear();
  bench.drain(1023);
  EXPECT_EQ(bench.out.resumed, paused);
  EXPECT_EQ(bench.all_drops(), 0u);
}

}  // namespace
}  // namespace cnuas::fabric_switch
