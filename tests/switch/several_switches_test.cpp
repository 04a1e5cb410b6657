// What several switches do together: announcements, broadcasts, links that come and go, circles.
#include "tests/switch/fabric_of_switches.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace cnuas::fabric_switch {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using wire::FrameType;

SwitchConfig rack_of(unsigned rack, std::size_t gpus, std::size_t links = 1) {
  SwitchConfig config = rack_config(gpus, links);
  config.name = "rack" + std::to_string(rack);
  config.rack = rack;
  return config;
}

SwitchConfig spine_of(std::size_t links) {
  SwitchConfig config = rack_config(0, links);
  config.name = "spine";
  config.rack = 0;
  config.uplink = -1;
  return config;
}

// Rack r (from 1) is node r - 1, with `gpus` GPUs and one link; with more than two racks, the last node is a
// spine.
class Racks : public FabricOfSwitches {
 public:
  Racks(std::size_t racks, std::size_t gpus) : racks_(racks), gpus_(gpus) {
    for (unsigned rack = 1; rack <= racks; ++rack)
      add(rack_of(rack, gpus));
    const auto link = static_cast<PortIndex>(gpus);
    if (racks == 2) {
      cable({0, link}, {1, link});
      return;
    }
    const std::size_t spine = add(spine_of(racks));
    for (std::size_t rack = 0; rack < racks; ++rack)
      cable({rack, link}, {spine, static_cast<PortIndex>(rack)});
  }

  End place(std::size_t rack, std::size_t slot) const { return {rack - 1, static_cast<PortIndex>(slot)}; }
  End uplink(std::size_t rack) const { return {rack - 1, static_cast<PortIndex>(gpus_)}; }
  void start_gpu(unsigned rack, unsigned slot) {
    gpu_up(place(rack, slot));
    send(place(rack, slot), header(gpu(rack, slot), kBroadcast, FrameType::discovery));
  }
  void start_all() {
    for (unsigned rack = 1; rack <= racks_; ++rack) {
      for (unsigned slot = 0; slot < gpus_; ++slot)
        start_gpu(rack, slot);
    }
    for (std::size_t rack = 1; rack <= (racks_ == 2 ? 1 : racks_); ++rack)
      cable_up(uplink(rack));
  }

 private:
  std::size_t racks_;
  std::size_t gpus_;
};

class RacksOf : public testing::TestWithParam<std::pair<std::size_t, std::size_t>> {
 protected:
  std::size_t racks() const { return GetParam().first; }
  std::size_t gpus() const { return GetParam().second; }
};
INSTANTIATE_TEST_SUITE_P(SeveralSwitches, RacksOf,
                         testing::Values(std::pair(2, 1), std::pair(2, 8), std::pair(3, 4), std::pair(16, 8)),
                         [](const auto& size) {
                           return std::to_string(size.param.first) + "x" + std::to_string(size.param.second);
                         });

TEST_P(RacksOf, AnnouncementsReachEverySwitch) {
  Racks fabric(racks(), gpus());
  fabric.start_all();
  const std::size_t nodes = racks() == 2 ? 2 : racks() + 1;
  for (std::size_t node = 0; node < nodes; ++node)
    EXPECT_EQ(fabric.at(node).fdb().size(), racks() * gpus());
  EXPECT_THAT(fabric.received(), IsEmpty()) << "no GPU sees an announcement";
  EXPECT_EQ(fabric.violation(), "");
}

TEST_P(RacksOf, TheOrderOfComingUpDoesNotMatter) {
  Racks fabric(racks(), gpus());
  for (std::size_t rack = (racks() == 2 ? 1 : racks()); rack > 0; --rack)
    fabric.cable_up(fabric.uplink(rack));
  for (unsigned slot = 0; slot < gpus(); ++slot) {
    for (unsigned rack = static_cast<unsigned>(racks()); rack > 0; --rack)
      fabric.start_gpu(rack, slot);
  }
  for (std::size_t node = 0; node < racks(); ++node)
    EXPECT_EQ(fabric.at(node).fdb().size(), racks() * gpus());
}

TEST_P(RacksOf, AnnouncementsAreAsManyAsThereIsNewsAndThenStop) {
  Racks fabric(racks(), gpus());
  fabric.start_all();
  // Each link carries each GPU once, in the one direction that leads away from it.
  const std::size_t links = racks() == 2 ? 1 : racks();
  EXPECT_EQ(fabric.hops(), links * racks() * gpus());
  for (unsigned rack = 1; rack <= racks(); ++rack)
    fabric.send(fabric.place(rack, 0), header(gpu(rack, 0), kBroadcast, FrameType::discovery));
  EXPECT_EQ(fabric.hops(), links * racks() * gpus()) << "nothing new, nothing said";
}

TEST_P(RacksOf, ABroadcastArrivesOnceEverywhere) {
  Racks fabric(racks(), gpus());
  fabric.start_all();
  fabric.send(fabric.place(1, 0), header(gpu(1, 0), kBroadcast));
  const auto received = fabric.received();
  EXPECT_EQ(received.size(), racks() * gpus() - 1);
  for (const auto& [end, frames] : received)
    EXPECT_THAT(frames, ElementsAre("DATA 1/0"));
  EXPECT_FALSE(received.contains(fabric.place(1, 0)));
  EXPECT_EQ(fabric.violation(), "");
}

TEST_P(RacksOf, EveryGpuReachesEveryOther) {
  Racks fabric(racks(), gpus());
  fabric.start_all();
  for (unsigned from = 1; from <= racks(); ++from) {
    for (unsigned to = 1; to <= racks(); ++to) {
      if (fabric.place(from, 0) == fabric.place(to, gpus() - 1)) continue;
      const auto last = static_cast<unsigned>(gpus() - 1);
      fabric.send(fabric.place(from, 0), header(gpu(from, 0), gpu(to, last)));
      const auto received = fabric.received();
      ASSERT_EQ(received.size(), 1u);
      EXPECT_EQ(received.begin()->first, fabric.place(to, last));
    }
  }
}

TEST_P(RacksOf, UnknownIdsDoNotCirculate) {
  Racks fabric(racks(), gpus());
  fabric.start_all();
  const std::uint64_t before = fabric.hops();
  for (unsigned rack = 0; rack <= kMaxRack; ++rack)
    fabric.send(fabric.place(1, 0), header(gpu(1, 0), gpu(rack, 200)));
  EXPECT_THAT(fabric.received(), IsEmpty());
  EXPECT_LE(fabric.hops() - before, 256u) << "one hop each, to where more may be known";
  EXPECT_EQ(fabric.violation(), "");
}

TEST_P(RacksOf, ALinkThatGoesTakesWhatIsBehindItAlong) {
  Racks fabric(racks(), gpus());
  fabric.start_all();
  fabric.cable_down(fabric.uplink(1));
  EXPECT_EQ(fabric.at(0).fdb().size(), gpus());
  const std::size_t neighbour = racks() == 2 ? 1 : racks();
  EXPECT_EQ(fabric.at(neighbour).fdb().size(), (racks() - 1) * gpus());
  fabric.send(fabric.place(2, 0), header(gpu(2, 0), gpu(1, 0)));
  EXPECT_THAT(fabric.received(), IsEmpty());
  fabric.cable_up(fabric.uplink(1));
  for (std::size_t node = 0; node < racks(); ++node)
    EXPECT_EQ(fabric.at(node).fdb().size(), racks() * gpus());
  fabric.send(fabric.place(2, 0), header(gpu(2, 0), gpu(1, 0)));
  EXPECT_EQ(fabric.received().size(), 1u);
}

TEST_P(RacksOf, AGpuThatComesBackIsAnnouncedAgain) {
  Racks fabric(racks(), gpus());
  fabric.start_all();
  fabric.gpu_down(fabric.place(1, 0));
  EXPECT_EQ(fabric.at(0).fdb().port_of(gpu(1, 0)), Fdb::kNoPort);
  fabric.send(fabric.place(2, 0), header(gpu(2, 0), gpu(1, 0)));
  EXPECT_THAT(fabric.received(), IsEmpty());
  EXPECT_EQ(fabric.at(0).counters(fabric.uplink(1).port).rx_dropped(DropReason::no_route), 1u);
  fabric.start_gpu(1, 0);
  fabric.send(fabric.place(2, 0), header(gpu(2, 0), gpu(1, 0)));
  EXPECT_EQ(fabric.received().size(), 1u);
}

// --- Circles ----------------------------------------------------------------------------------------------

// Rack 1 hangs on one of three switches that are all cabled to each other; racks 2 and 3 on the others.
class Circle : public FabricOfSwitches {
 public:
  Circle() {
    for (unsigned rack = 1; rack <= 3; ++rack)
      add(rack_of(rack, 1, 2));
    for (unsigned spine = 0; spine < 3; ++spine)
      add(spine_of(4));
    for (std::size_t i = 0; i < 3; ++i) {
      cable({i, 1}, {3 + i, 0});
      cable({3 + i, 1}, {3 + (i + 1) % 3, 2});
    }
    for (std::size_t i = 0; i < 3; ++i) {
      cable_up({i, 1});
      cable_up({3 + i, 1});
    }
    for (unsigned rack = 1; rack <= 3; ++rack) {
      gpu_up({rack - 1, 0});
      send({rack - 1, 0}, header(gpu(rack, 0), kBroadcast, FrameType::discovery));
    }
  }
};

TEST(SwitchesInACircle, AnnouncementsEnd) {
  Circle fabric;
  for (std::size_t node = 0; node < 6; ++node)
    EXPECT_EQ(fabric.at(node).fdb().size(), 3u);
  EXPECT_LT(fabric.hops(), 50u);
  EXPECT_EQ(fabric.violation(), "");
}

TEST(SwitchesInACircle, ABroadcastArrivesOnceEverywhereAndEnds) {
  Circle fabric;
  for (unsigned rack = 1; rack <= 3; ++rack) {
    fabric.send({rack - 1, 0}, header(gpu(rack, 0), kBroadcast));
    const auto received = fabric.received();
    EXPECT_EQ(received.size(), 2u);
    for (const auto& [end, frames] : received)
      EXPECT_EQ(frames.size(), 1u);
  }
}

TEST(SwitchesInACircle, EveryGpuReachesEveryOther) {
  Circle fabric;
  for (int round = 0; round < 3; ++round) {
    for (unsigned from = 1; from <= 3; ++from) {
      for (unsigned to = 1; to <= 3; ++to) {
        if (from == to) continue;
        fabric.send({from - 1, 0}, header(gpu(from, 0), gpu(to, 0)));
        EXPECT_EQ(fabric.received().size(), 1u);
      }
    }
  }
}

TEST(SwitchesInACircle, LinksThatFlapDoNotStartAStorm) {
  Circle fabric;
  for (std::size_t i = 0; i < 30; ++i) {
    const End cable{3 + i % 3, 1};
    fabric.cable_down(cable);
    fabric.send({i % 3, 0}, header(gpu(static_cast<unsigned>(i % 3) + 1, 0), kBroadcast));
    fabric.cable_up(cable);
  }
  EXPECT_LT(fabric.hops(), 2000u);
  EXPECT_EQ(fabric.violation(), "");
}

TEST(ParallelCables, ABroadcastArrivesOnce) {
  FabricOfSwitches fabric;
  fabric.add(rack_of(1, 1, 2));
  fabric.add(rack_of(2, 1, 2));
  for (const PortIndex port : {1, 2}) {
    fabric.cable({0, port}, {1, port});
    fabric.cable_up({0, port});
  }
  fabric.gpu_up({0, 0});
  fabric.gpu_up({1, 0});
  fabric.send({0, 0}, header(gpu(1, 0), kBroadcast));
  fabric.send({1, 0}, header(gpu(2, 0), kBroadcast));
  const auto received = fabric.received();
  EXPECT_THAT(received.at({1, 0}), ElementsAre("DATA 1/0"));
  EXPECT_THAT(received.at({0, 0}), ElementsAre("DATA 2/0"));
}

// --- Back pressure ----------------------------------------------------------------------------------------

TEST(BackPressure, ReachesTheSenderAcrossSwitchesAndLosesNothing) {
  Racks fabric(3, 2);
  fabric.start_all();
  const End reader = fabric.place(2, 0);
  const End sender = fabric.place(1, 0);
  fabric.standing = {reader};
  const wire::FrameHeader frame = header(gpu(1, 0), gpu(2, 0), FrameType::data, wire::kMaxPayloadBytes);
  std::size_t sent = 0;
  while (!fabric.at(0).status(sender.port).ingress_paused && sent < 1000) {
    fabric.send(sender, frame);
    ++sent;
  }
  EXPECT_EQ(sent, 12u) << "four frames fill each of the three queues on the way";
  fabric.standing.clear();
  fabric.run();
  EXPECT_EQ(fabric.received()[reader].size(), sent);
  EXPECT_FALSE(fabric.at(0).status(sender.port).ingress_paused);
  EXPECT_EQ(fabric.violation(), "");
}

TEST(BackPressure, AStandingReaderHoldsTheOthersUpOnlyUntilTheWatchdogActs) {
  Racks fabric(3, 2);
  fabric.start_all();
  const End reader = fabric.place(2, 0);
  fabric.standing = {reader};
  const wire::FrameHeader frame = header(gpu(1, 0), gpu(2, 0), FrameType::data, wire::kMaxPayloadBytes);
  for (int i = 0; i < 1000 && !fabric.at(0).status(0).ingress_paused; ++i)
    fabric.send(fabric.place(1, 0), frame);

  fabric.now = 50 * kMillisecond;
  Actions out;
  ASSERT_LE(fabric.at(1).next_deadline(), fabric.now);
  fabric.at(1).on_deadline(fabric.now, out);
  fabric.run();
  EXPECT_FALSE(fabric.at(0).status(0).ingress_paused);
  fabric.received();
  for (int i = 0; i < 100; ++i) {
    fabric.send(fabric.place(1, 0), frame);
    fabric.send(fabric.place(1, 1), header(gpu(1, 1), gpu(2, 1)));
  }
  EXPECT_EQ(fabric.received()[fabric.place(2, 1)].size(), 100u);
  EXPECT_EQ(fabric.violation(), "");
}

}  // namespace
}  // namespace cnuas::fabric_switch
