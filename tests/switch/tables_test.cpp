// The FDB, the group table, the counters, the latency histogram and what a configuration may say.
#include "tests/switch/bench.h"

#include <algorithm>
#include <map>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck.h>
#include <rapidcheck/gtest.h>

namespace cnuas::fabric_switch {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

// --- FDB --------------------------------------------------------------------------------------------------

TEST(Fdb, KnowsNobodyAtFirst) {
  const Fdb fdb;
  for (unsigned id = 0; id < 65'536; ++id)
    ASSERT_EQ(fdb.port_of(GpuId{static_cast<std::uint16_t>(id)}), Fdb::kNoPort);
  EXPECT_THAT(fdb.entries(), IsEmpty());
}

TEST(Fdb, HoldsEveryUsableId) {
  Fdb fdb;
  for (unsigned id = 1; id < 0xFFFF; ++id)
    fdb.set(GpuId{static_cast<std::uint16_t>(id)}, static_cast<PortIndex>(id % kMaxPorts),
            FdbOrigin::learned);
  EXPECT_EQ(fdb.size(), 65'534u);
  EXPECT_EQ(fdb.port_of(kNoGpu), Fdb::kNoPort);
  EXPECT_EQ(fdb.port_of(kBroadcast), Fdb::kNoPort);
  EXPECT_EQ(fdb.port_of(GpuId{0xFFFE}), 0xFFFE % kMaxPorts);
}

RC_GTEST_PROP(FdbProperty, IsAMapInOrderOfId, ()) {
  Fdb fdb;
  std::map<GpuId, PortIndex> model;
  const auto steps = *rc::gen::inRange(0, 200);
  for (int i = 0; i < steps; ++i) {
    const GpuId id = gpu(*rc::gen::element(0u, 1u, 2u, 255u), *rc::gen::inRange(1u, 5u));
    const auto port = *rc::gen::inRange<PortIndex>(0, 4);
    switch (*rc::gen::inRange(0, 4)) {
      case 0:
        fdb.erase(id), model.erase(id);
        break;
      case 1:
        fdb.erase_port(port);
        std::erase_if(model, [port](const auto& entry) { return entry.second == port; });
        break;
      default:
        fdb.set(id, port, FdbOrigin::learned), model[id] = port;
    }
  }
  std::vector<FdbEntry> expected;
  for (const auto& [id, port] : model) {
    expected.push_back({id, port, FdbOrigin::learned});
    RC_ASSERT(fdb.port_of(id) == port);
  }
  RC_ASSERT(fdb.entries() == expected);
  RC_ASSERT(fdb.size() == model.size());
}

// --- Groups -----------------------------------------------------------------------------------------------

TEST(GroupTable, MakesFindsListsAndDeletes) {
  GroupTable groups(4, 8);
  const GroupId a = groups.create("a", {gpu(1, 1), gpu(1, 0)}).value();
  const GroupId b = groups.create("b", {gpu(1, 0)}).value();
  EXPECT_LT(a, b);
  EXPECT_THAT(groups.find(a)->members, ElementsAre(gpu(1, 1), gpu(1, 0))) << "in rank order";
  EXPECT_EQ(groups.find("b")->id, b);
  EXPECT_EQ(groups.list().size(), 2u);
  EXPECT_TRUE(groups.erase(a));
  EXPECT_EQ(groups.find(a), nullptr);
  EXPECT_EQ(groups.find("a"), nullptr);
  EXPECT_EQ(groups.find(b)->name, "b");
  EXPECT_GT(groups.create("a", {gpu(1, 0)}).value(), b) << "an ID is never given twice";
}

TEST(GroupTable, RefusesWithAReason) {
  GroupTable groups(2, 3);
  ASSERT_TRUE(groups.create("taken", {gpu(1, 0)}));
  const auto refused = [&](std::string group, std::vector<GpuId> members) {
    const Result<GroupId> id = groups.create(std::move(group), std::move(members));
    return id ? "made" : id.error().message;
  };
  EXPECT_EQ(refused("", {gpu(1, 0)}), "a group needs a name");
  EXPECT_EQ(refused(std::string(65, 'x'), {gpu(1, 0)}),
            "a group's name has at most 64 bytes, and this one has 65");
  EXPECT_EQ(refused("taken", {gpu(1, 0)}), "a group of this name exists");
  EXPECT_EQ(refused("b", {}), "a group needs at least one GPU");
  EXPECT_EQ(refused("b", {gpu(1, 0), gpu(1, 1), gpu(1, 2), gpu(1, 3)}),
            "a group has at most 3 GPUs here, and 4 are given");
  EXPECT_EQ(refused("b", {gpu(1, 0), kNoGpu}), "0/0 names no GPU");
  EXPECT_EQ(refused("b", {gpu(1, 0), kBroadcast}), "255/255 names no GPU");
  EXPECT_EQ(refused("b", {gpu(1, 2), gpu(1, 0), gpu(1, 2)}), "GPU 1/2 stands twice among the members");
  EXPECT_EQ(groups.list().size(), 1u);
  ASSERT_TRUE(groups.create("b", {gpu(1, 0)}));
  EXPECT_EQ(refused("c", {gpu(1, 0)}), "the table holds 2 groups and is full; delete one first");
  EXPECT_EQ(groups.create("c", {gpu(1, 0)}).error().code, ErrorCode::out_of_range);
  EXPECT_EQ(groups.create("taken", {gpu(1, 0)}).error().where, "group 'taken'");
  EXPECT_EQ(groups.erase(77).error().code, ErrorCode::not_found);
}

TEST(GroupTable, BelongsToTheSwitch) {
  Bench bench(rack_config(2));
  const GroupId id = bench.fabric.groups().create("all", {gpu(1, 0), gpu(1, 1)}).value();
  EXPECT_EQ(std::as_const(bench.fabric).groups().find(id)->name, "all");
}

// --- Histogram --------------------------------------------------------------------------------------------

TEST(LatencyHistogram, IsExactBelowSixteen) {
  for (Picoseconds value = 0; value < 16; ++value) {
    LatencyHistogram histogram;
    histogram.record(value);
    EXPECT_EQ(histogram.p50_ps(), value);
  }
}

void expect_close(Picoseconds value) {
  const std::size_t bucket = LatencyHistogram::bucket_of(value);
  ASSERT_LT(bucket, LatencyHistogram::kBuckets);
  const Picoseconds middle = LatencyHistogram::midpoint(bucket);
  const Picoseconds off = middle > value ? middle - value : value - middle;
  ASSERT_LE(off, value / 32) << value;
  ASSERT_EQ(LatencyHistogram::bucket_of(middle), bucket) << value;
}

TEST(LatencyHistogram, IsOffByOneThirtySecondAtMost) {
  for (Picoseconds value = 0; value < 100'000; ++value)
    expect_close(value);
  for (unsigned bit = 4; bit < 63; ++bit) {
    for (const Picoseconds near : {-1, 0, 1})
      expect_close((Picoseconds{1} << bit) + near);
  }
  expect_close(kNever);
  EXPECT_EQ(LatencyHistogram::bucket_of(kNever), LatencyHistogram::kBuckets - 1);
}

RC_GTEST_PROP(LatencyHistogramProperty, IsOffByOneThirtySecondAtMost, ()) {
  const auto bits = *rc::gen::inRange(0, 63);
  expect_close(*rc::gen::inRange<Picoseconds>(0, (Picoseconds{1} << bits) + 1));
}

RC_GTEST_PROP(LatencyHistogramProperty, QuantilesAreThoseOfTheSortedValues, ()) {
  auto values = *rc::gen::nonEmpty(
      rc::gen::container<std::vector<Picoseconds>>(rc::gen::inRange<Picoseconds>(0, 100 * kMicrosecond)));
  LatencyHistogram histogram;
  for (const Picoseconds value : values)
    histogram.record(value);
  std::sort(values.begin(), values.end());
  for (const unsigned percent : {0u, 1u, 50u, 99u, 100u}) {
    const std::size_t rank = std::max<std::size_t>(1, (values.size() * percent + 99) / 100);
    const Picoseconds exact = values[rank - 1];
    const Picoseconds got = histogram.quantile(percent, 100);
    RC_ASSERT(LatencyHistogram::bucket_of(got) == LatencyHistogram::bucket_of(exact));
  }
}

TEST(LatencyHistogram, OfNothingIsZeroAndNegativeSpansAreZero) {
  LatencyHistogram histogram;
  EXPECT_EQ(histogram.p99_ps(), 0);
  histogram.record(-5);
  EXPECT_EQ(histogram.count(), 1u);
  EXPECT_EQ(histogram.p99_ps(), 0);
}

// --- Counters ---------------------------------------------------------------------------------------------

TEST(Counters, EveryReasonHasItsName) {
  const std::string_view names[] = {
      "empty",          "short_header",     "oversize",   "bad_magic",       "bad_version",
      "unknown_type",   "length_mismatch",  "bad_source", "bad_destination", "port_down",
      "spoofed_source", "duplicate_source", "loop",       "hairpin",         "no_route",
      "queue_full",     "stalled",          "link_down",  "admin_down",      "announcements"};
  for (std::size_t i = 0; i < kDropReasons; ++i)
    EXPECT_EQ(name(static_cast<DropReason>(i)), names[i]);
  EXPECT_EQ(name(static_cast<DropReason>(kDropReasons)), "?");
}

TEST(Counters, CountFramesAndBytesByTypeOnBothSides) {
  Bench bench(rack_config(2));
  bench.announce(1, gpu(1, 1));
  bench.receive(0, header(gpu(1, 0), gpu(1, 1), wire::FrameType::data, 88));
  bench.receive(0, header(gpu(1, 0), gpu(1, 1), wire::FrameType::doorbell, 8));
  bench.drain(1);
  const TypeCounters& in = bench.fabric.counters(0).by_type[slot(wire::FrameType::data)];
  EXPECT_EQ(in.rx_frames, 1u);
  EXPECT_EQ(in.rx_bytes, 100u);
  EXPECT_EQ(bench.fabric.counters(0).total().rx_bytes, 120u);
  const TypeCounters& out = bench.fabric.counters(1).by_type[slot(wire::FrameType::doorbell)];
  EXPECT_EQ(out.tx_frames, 1u);
  EXPECT_EQ(out.tx_bytes, 20u);
  EXPECT_EQ(bench.fabric.counters(1).total().tx_bytes, 120u);
}

TEST(Counters, ClearingKeepsTheLaws) {
  Bench bench(rack_config(2));
  bench.announce(1, gpu(1, 1));
  bench.receive(0, header(gpu(1, 0), gpu(1, 1)));
  bench.receive(0, header(gpu(1, 0), gpu(1, 1)));
  bench.pop(1);
  bench.fabric.clear_counters();
  EXPECT_EQ(conservation_violation(bench.fabric), "");
  EXPECT_EQ(bench.fabric.counters(1).total().carried_over, 1u);
  EXPECT_EQ(bench.fabric.counters(1).latency.count(), 0u);
  EXPECT_EQ(bench.fabric.counters(0).total(), TypeCounters{});
  bench.pop(1);
  EXPECT_EQ(bench.fabric.counters(1).total().tx_frames, 1u);
}

// --- Configuration ----------------------------------------------------------------------------------------

std::string refusal(const SwitchConfig& config) {
  const Result<Switch> made = Switch::create(config);
  if (made) return "made";
  EXPECT_EQ(made.error().code, ErrorCode::invalid_argument);
  return made.error().where + ": " + made.error().message;
}

TEST(Config, WhatIsWrongIsSaid) {
  SwitchConfig config = rack_config(2, 1);
  EXPECT_EQ(refusal(config), "made");

  SwitchConfig bad = config;
  bad.ports.clear();
  EXPECT_EQ(refusal(bad), "switch 'rack1': a switch has 1 to 1024 ports, and 0 are given");
  bad.ports.resize(1025);
  EXPECT_EQ(refusal(bad), "switch 'rack1': a switch has 1 to 1024 ports, and 1025 are given");

  bad = config;
  bad.rack = 256;
  EXPECT_EQ(refusal(bad), "switch 'rack1': racks go from 0 to 255, and 256 is beyond");
  bad = config;
  bad.stall_timeout_ps = -1;
  EXPECT_EQ(refusal(bad), "switch 'rack1': the stall timeout is negative");
  bad = config;
  bad.keepalive_timeout_ps = -1;
  EXPECT_EQ(refusal(bad), "switch 'rack1': the keepalive timeout is negative");
  bad = config;
  bad.uplink = 3;
  EXPECT_EQ(refusal(bad), "switch 'rack1': the uplink is port 3, which does not exist");
  bad.uplink = -2;
  EXPECT_EQ(refusal(bad), "switch 'rack1': the uplink is port -2, which does not exist");
  bad.uplink = 0;
  EXPECT_EQ(refusal(bad), "switch 'rack1': the uplink is port 0, which does not lead to another switch");
}

TEST(Config, WhatIsWrongWithAPortIsSaid) {
  SwitchConfig config = rack_config(2, 1);
  SwitchConfig bad = config;
  bad.ports[1].queue_bytes = 0;
  EXPECT_EQ(refusal(bad), "switch 'rack1', port 1: an egress queue needs room for at least one byte");
  bad = config;
  bad.ports[2].expected = gpu(1, 0);
  EXPECT_EQ(refusal(bad),
            "switch 'rack1', port 2: GPU 1/0 is expected, but the port leads to another switch");
  bad = config;
  bad.ports[0].expected = kBroadcast;
  EXPECT_EQ(refusal(bad), "switch 'rack1', port 0: 0xFFFF is expected, which means all GPUs");
  bad.ports[0].expected = gpu(2, 0);
  EXPECT_EQ(refusal(bad), "switch 'rack1', port 0: GPU 2/0 is expected, but the switch serves rack 1");
  bad.rack = 0;
  EXPECT_EQ(refusal(bad), "made");
  bad.ports[1].expected = gpu(2, 0);
  EXPECT_EQ(refusal(bad), "switch 'rack1', port 1: GPU 2/0 is expected at port 0 too");
}

TEST(Config, CanBeReadBack) {
  Bench bench(rack_config(2, 1));
  EXPECT_EQ(bench.fabric.config().name, "rack1");
  EXPECT_EQ(bench.fabric.ports(), 3u);
}

}  // namespace
}  // namespace cnuas::fabric_switch
