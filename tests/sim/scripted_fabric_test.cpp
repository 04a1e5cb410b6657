// A fabric in frame fidelity, led by hand.
#include "sim/frame/scripted_fabric.h"

#include <algorithm>

namespace cnuas::test {
namespace {

using fabric_switch::DropReason;
using fabric_switch::PortCounters;
using fabric_switch::slot;
using sim::ScriptedFabric;
using wire::ByteOrder;
using wire::FrameType;
using Bytes = std::vector<std::byte>;

constexpr GpuId gpu(unsigned rack, unsigned slot) {
  return GpuId{static_cast<std::uint16_t>(rack << 8 | slot)};
}

Fabric racks_of(std::vector<unsigned> gpus) {
  RackParameters parameters;
  parameters.gpus_per_rack = std::move(gpus);
  parameters.gpu_link = {450'000'000'000, 500 * kNanosecond, {}};
  parameters.inter_switch = {400'000'000'000, kMicrosecond, {}};
  return parameters.gpus_per_rack.size() == 1 ? *build_rack(parameters) : *build_pair(parameters);
}

Bytes frame(FrameType type, GpuId source, GpuId destination, std::size_t payload = 4,
            ByteOrder order = ByteOrder::big) {
  Bytes message(wire::kHeaderBytes + payload, std::byte{0x5A});
  wire::encode({type, order, source, destination, static_cast<std::uint32_t>(payload)},
               std::span(message).first<wire::kHeaderBytes>());
  return message;
}

class Scripted : public ::testing::Test {
 protected:
  void make(std::vector<unsigned> gpus, bool connected = true) {
    fabric_ = racks_of(std::move(gpus));
    open(connected);
  }
  void open(bool connected = true) {
    Result<std::unique_ptr<ScriptedFabric>> made = ScriptedFabric::create(fabric_);
    ASSERT_TRUE(made) << made.error().message;
    scripted_ = std::move(*made);
    for (GpuIndex each = 0; connected && each < fabric_.gpus.size(); ++each)
      scripted_->connect(each, true);
    rest();
  }
  std::vector<ScriptedFabric::Delivery> rest(Picoseconds patience = kNever) {
    Result<std::vector<ScriptedFabric::Delivery>> got = scripted_->rest(patience);
    EXPECT_TRUE(got) << got.error().message;
    return got ? *got : std::vector<ScriptedFabric::Delivery>{};
  }
  const PortCounters& port(SwitchIndex index, fabric_switch::PortIndex number) const {
    return scripted_->switch_at(index).counters(number);
  }

  Fabric fabric_;
  std::unique_ptr<ScriptedFabric> scripted_;
};

TEST_F(Scripted, GpusAreThereOnceTheyConnect) {
  make({3}, false);
  EXPECT_EQ(scripted_->switch_at(0).fdb().size(), 0u);
  scripted_->connect(0, true);
  scripted_->connect(1, false);
  rest();
  EXPECT_EQ(scripted_->switch_at(0).fdb().size(), 2u);
  EXPECT_EQ(port(0, 0).by_type[slot(FrameType::discovery)].consumed, 1u);
  EXPECT_EQ(port(0, 1).total().rx_frames, 0u);
  scripted_->disconnect(0);
  rest();
  EXPECT_EQ(scripted_->switch_at(0).fdb().size(), 1u);
}

TEST_F(Scripted, WhatIsSentArrivesByteForByteAndInOrder) {
  make({3});
  const Bytes first = frame(FrameType::atomic, gpu(1, 0), gpu(1, 1), 24);
  const Bytes second = frame(FrameType::data, gpu(1, 0), kBroadcast, 0);
  scripted_->send(0, first);
  scripted_->send(0, second);
  const auto got = rest();
  ASSERT_EQ(got.size(), 3u);
  Bytes to_1;
  for (const ScriptedFabric::Delivery& each : got) {
    if (each.to == 1) to_1.insert(to_1.end(), each.message.begin(), each.message.end());
  }
  Bytes expected = first;
  expected.insert(expected.end(), second.begin(), second.end());
  EXPECT_EQ(to_1, expected);
}

// 1/0 speaks little-endian, the others big-endian: every switch writes headers in its neighbour's order.
TEST_F(Scripted, HeadersAreInTheOrderOfWhomTheyAreSentTo) {
  make({2, 1});
  scripted_->send(0, frame(FrameType::data, gpu(1, 0), gpu(2, 0), 4, ByteOrder::little));
  auto got = rest();
  ASSERT_EQ(got.size(), 1u);
  EXPECT_EQ(got[0].message, frame(FrameType::data, gpu(1, 0), gpu(2, 0), 4, ByteOrder::big));
  // The other rack's switch heard the order of rack 1's switch, which is big-endian, not that of 1/0.
  EXPECT_EQ(scripted_->switch_at(1).status(1).order, ByteOrder::big);
  scripted_->send(2, frame(FrameType::data, gpu(2, 0), kBroadcast, 4, ByteOrder::big));
  got = rest();
  ASSERT_EQ(got.size(), 2u);
  for (const ScriptedFabric::Delivery& each : got) {
    const ByteOrder order = each.to == 0 ? ByteOrder::little : ByteOrder::big;
    EXPECT_EQ(each.message, frame(FrameType::data, gpu(2, 0), kBroadcast, 4, order)) << each.to;
  }
}

TEST_F(Scripted, WhatIsNoFrameIsCountedByItsReason) {
  make({2});
  const Bytes good = frame(FrameType::data, gpu(1, 0), gpu(1, 1));
  const auto changed = [&](std::size_t at, int value) {
    Bytes bytes = good;
    bytes[at] = static_cast<std::byte>(value);
    return bytes;
  };
  const std::vector<std::pair<DropReason, Bytes>> messages = {
      {DropReason::empty, {}},
      {DropReason::short_header, Bytes(good.begin(), good.begin() + 11)},
      {DropReason::oversize, Bytes(wire::kMaxFrameBytes + 1)},
      {DropReason::bad_magic, changed(0, 'X')},
      {DropReason::bad_version, changed(2, 9)},
      {DropReason::unknown_type, changed(3, 8)},
      {DropReason::length_mismatch, changed(11, 99)},
      {DropReason::bad_source,
       [&] {
         Bytes bytes = good;
         bytes[4] = bytes[5] = std::byte{0};
         return bytes;
       }()},
      {DropReason::bad_destination,
       [&] {
         Bytes bytes = good;
         bytes[6] = bytes[7] = std::byte{0};
         return bytes;
       }()},
  };
  std::uint64_t bytes = 0;
  for (const auto& [reason, message] : messages) {
    scripted_->send(0, message);
    EXPECT_TRUE(rest().empty());
    EXPECT_EQ(port(0, 0).rx_dropped(reason), 1u) << fabric_switch::name(reason);
    bytes += message.size();
  }
  EXPECT_EQ(port(0, 0).by_type[0].rx_frames, messages.size());
  EXPECT_EQ(port(0, 0).by_type[0].rx_bytes, bytes);
  scripted_->send(0, good);
  EXPECT_EQ(rest().size(), 1u);
}

TEST_F(Scripted, AReaderThatStopsIsGivenUpAndTakenUpAgain) {
  make({3});
  scripted_->limit_reader(1, 5);
  for (int i = 0; i < 100; ++i)
    scripted_->send(0, frame(FrameType::data, gpu(1, 0), gpu(1, 1), 60'000));
  EXPECT_EQ(rest().size(), 5u);
  EXPECT_EQ(port(0, 1).tx_dropped(DropReason::stalled), 95u);
  EXPECT_TRUE(scripted_->switch_at(0).status(1).stalled);
  scripted_->limit_reader(1, std::nullopt);
  rest();
  EXPECT_FALSE(scripted_->switch_at(0).status(1).stalled);
  scripted_->send(0, frame(FrameType::data, gpu(1, 0), gpu(1, 1)));
  EXPECT_EQ(rest().size(), 1u);
}

TEST_F(Scripted, PatienceLeavesAQueueAsItIs) {
  fabric_ = racks_of({3});
  fabric_.switches[0].stall_timeout_ps = 60 * kSecond;
  fabric_.switches[0].port_buffer_bytes = 64 << 20;
  open();
  scripted_->limit_reader(1, 2);
  for (int i = 0; i < 10; ++i)
    scripted_->send(0, frame(FrameType::data, gpu(1, 0), gpu(1, 1)));
  EXPECT_EQ(rest(30 * kSecond).size(), 2u);
  EXPECT_EQ(scripted_->switch_at(0).status(1).queued_frames, 8u);
  scripted_->clear_counters(0);
  EXPECT_EQ(port(0, 1).by_type[slot(FrameType::data)].carried_over, 8u);
  scripted_->disconnect(1);
  EXPECT_TRUE(rest(30 * kSecond).empty());
  EXPECT_EQ(port(0, 1).tx_dropped(DropReason::link_down), 8u);
}

TEST_F(Scripted, AnOperatorTakesPortsDownAndClearsCounters) {
  make({2, 2});
  scripted_->set_admin_state(0, 1, false);
  rest();
  scripted_->send(1, frame(FrameType::data, gpu(1, 1), gpu(1, 0)));
  scripted_->send(0, frame(FrameType::data, gpu(1, 0), gpu(1, 1)));
  EXPECT_TRUE(rest().empty());
  EXPECT_EQ(port(0, 1).rx_dropped(DropReason::port_down), 1u);
  EXPECT_EQ(port(0, 0).rx_dropped(DropReason::no_route), 1u);
  scripted_->clear_counters(0);
  EXPECT_EQ(port(0, 1).total(), fabric_switch::TypeCounters{});
  scripted_->set_admin_state(0, 1, true);
  rest();
  scripted_->send(0, frame(FrameType::data, gpu(1, 0), gpu(1, 1)));
  scripted_->send(0, frame(FrameType::data, gpu(1, 0), gpu(2, 1)));
  EXPECT_EQ(rest().size(), 2u);
  EXPECT_EQ(port(0, 0).total().rx_frames, 2u);
}

TEST_F(Scripted, PortsAreTheGpusAndThenTheCables) {
  make({2, 1});
  EXPECT_EQ(scripted_->gpu_at(0, 1), std::optional<GpuIndex>(1));
  EXPECT_EQ(scripted_->gpu_at(0, 2), std::nullopt);
  EXPECT_EQ(scripted_->gpu_at(1, 0), std::optional<GpuIndex>(2));
}

TEST_F(Scripted, ASwitchThatCannotBeIsAnError) {
  fabric_ = racks_of({2});
  fabric_.switches[0].stall_timeout_ps = -1;
  EXPECT_FALSE(ScriptedFabric::create(fabric_));
}

}  // namespace
}  // namespace cnuas::test
