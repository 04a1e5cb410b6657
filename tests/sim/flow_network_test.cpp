#include "sim/fluid/flow_network.h"

#include <map>

#include <rapidcheck/gtest.h>

namespace cnuas::sim {
namespace {

// Runs a network by itself: completions in order of time.
class Clockwork {
 public:
  explicit Clockwork(std::vector<std::uint64_t> capacities) : network(std::move(capacities)) {}

  FlowId add(LinkIndex first, LinkIndex last, std::uint64_t bytes) {
    return network.add({first, {}, last}, bytes, now);
  }

  void settle() {
    std::vector<FlowNetwork::Completion> changed;
    network.settle(now, changed);
    for (const auto& each : changed)
      due[each.flow] = each;
  }

  // Advances to the next completion, removes what is due then, and tells its time.
  Picoseconds next() {
    Picoseconds earliest = kNever;
    for (const auto& [flow, each] : due)
      earliest = std::min(earliest, each.time_ps);
    now = earliest;
    for (auto it = due.begin(); it != due.end();) {
      if (it->second.time_ps != now) {
        ++it;
        continue;
      }
      EXPECT_TRUE(network.current(it->first, it->second.version));
      network.remove(it->first);
      it = due.erase(it);
    }
    settle();
    return now;
  }

  FlowNetwork network;
  Picoseconds now = 0;
  std::map<FlowId, FlowNetwork::Completion> due;
};

TEST(FlowNetwork, AFlowAloneTakesItsBytesOverTheSlowestLink) {
  Clockwork clock({100, 50});
  clock.add(0, 1, 100);
  clock.settle();
  EXPECT_EQ(clock.next(), 2 * kSecond);
}

TEST(FlowNetwork, TwoFlowsShareALinkAndTheLongerOneSpeedsUp) {
  Clockwork clock({100, 100, 100});
  clock.add(0, 2, 100);
  clock.add(1, 2, 200);
  clock.settle();
  EXPECT_EQ(clock.next(), 2 * kSecond);  // 100 B at 50 B/s
  EXPECT_EQ(clock.next(), 3 * kSecond);  // 100 B left at 100 B/s
}

TEST(FlowNetwork, WhatOneFlowCannotUseGoesToTheOthers) {
  Clockwork clock({10, 100, 100});  // the first sender is slow
  const FlowId slow = clock.add(0, 2, 1000);
  const FlowId fast = clock.add(1, 2, 1000);
  clock.settle();
  EXPECT_DOUBLE_EQ(clock.network.rate_bytes_per_s(slow), 10);
  EXPECT_DOUBLE_EQ(clock.network.rate_bytes_per_s(fast), 90);
}

TEST(FlowNetwork, AnInstantThatEndsAndStartsFlowsDisturbsNobody) {
  Clockwork clock({100, 100, 100, 100});
  const FlowId first = clock.add(0, 2, 100);
  clock.settle();
  clock.now = kSecond;
  clock.network.remove(first);
  clock.due.clear();
  const FlowId second = clock.add(0, 2, 100);
  clock.settle();
  EXPECT_DOUBLE_EQ(clock.network.rate_bytes_per_s(second), 100);
  EXPECT_EQ(clock.next(), 2 * kSecond);
}

TEST(FlowNetwork, AnOldAnnouncementIsNotCurrent) {
  Clockwork clock({100, 100, 100});
  const FlowId first = clock.add(0, 2, 100);
  clock.settle();
  const std::uint32_t before = clock.due[first].version;
  clock.add(1, 2, 100);
  clock.settle();
  EXPECT_FALSE(clock.network.current(first, before));
}

// Max-min fairness has a certificate: every flow has a link that is full and on which no flow is faster.
void expect_max_min(const FlowNetwork& network, const std::vector<FlowId>& flows,
                    const std::vector<std::uint64_t>& capacities) {
  std::vector<double> used(capacities.size(), 0);
  std::vector<double> fastest(capacities.size(), 0);
  for (const FlowId flow : flows) {
    const FlowNetwork::Path& path = network.path(flow);
    for (std::size_t i = 0; i < path.size(); ++i) {
      used[path[i]] += network.rate_bytes_per_s(flow);
      fastest[path[i]] = std::max(fastest[path[i]], network.rate_bytes_per_s(flow));
    }
  }
  for (std::size_t link = 0; link < capacities.size(); ++link) {
    RC_ASSERT(used[link] <= static_cast<double>(capacities[link]) * (1 + 1e-9));
  }
  for (const FlowId flow : flows) {
    const FlowNetwork::Path& path = network.path(flow);
    bool bottleneck = false;
    for (std::size_t i = 0; i < path.size(); ++i) {
      const bool full = used[path[i]] >= static_cast<double>(capacities[path[i]]) * (1 - 1e-9);
      bottleneck = bottleneck || (full && network.rate_bytes_per_s(flow) >= fastest[path[i]] * (1 - 1e-9));
    }
    RC_ASSERT(bottleneck);
  }
}

RC_GTEST_PROP(FlowNetwork, RatesAreMaxMinFairAfterAnySequenceOfStartsAndEnds, ()) {
  const auto links = *rc::gen::inRange<std::uint32_t>(2, 12);
  std::vector<std::uint64_t> capacities;
  for (std::uint32_t i = 0; i < links; ++i)
    capacities.push_back(*rc::gen::inRange<std::uint64_t>(1, 1000) * 1'000'000);
  FlowNetwork network(capacities);
  std::vector<LinkIndex> shared_middle{0};
  std::vector<FlowId> flows;
  std::vector<FlowNetwork::Completion> changed;
  Picoseconds now = 0;
  const auto rounds = *rc::gen::inRange(1, 20);
  for (int round = 0; round < rounds; ++round) {
    now += *rc::gen::inRange<Picoseconds>(0, kMicrosecond);
    const auto starts = *rc::gen::inRange(0, 5);
    for (int i = 0; i < starts; ++i) {
      const auto first = *rc::gen::inRange<LinkIndex>(1, links);
      const auto last = *rc::gen::inRange<LinkIndex>(1, links);
      if (first == last) continue;
      const bool through_middle = *rc::gen::arbitrary<bool>();
      const std::span<const LinkIndex> middle =
          through_middle ? std::span<const LinkIndex>(shared_middle) : std::span<const LinkIndex>();
      flows.push_back(network.add({first, middle, last}, 1'000'000'000'000, now));
    }
    if (!flows.empty() && *rc::gen::arbitrary<bool>()) {
      const auto victim = *rc::gen::inRange<std::size_t>(0, flows.size());
      network.remove(flows[victim]);
      flows.erase(flows.begin() + static_cast<std::ptrdiff_t>(victim));
    }
    changed.clear();
    network.settle(now, changed);
    expect_max_min(network, flows, capacities);
  }
}

}  // namespace
}  // namespace cnuas::sim
