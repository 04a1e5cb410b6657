// A switch that has seen its load allocates nothing. A program of its own: it replaces operator new.
#include "core/switch/switch.h"
#include "tests/counted_allocations.h"

#include <array>
#include <cstdint>
#include <utility>

#include <gtest/gtest.h>

namespace cnuas::fabric_switch {
namespace {

using cnuas::test::allocations;

GpuId gpu_at(PortIndex port) {
  return GpuId{static_cast<std::uint16_t>(0x100 + port)};
}

// Unicast and floods that fill queues, pause and resume; and all of it drained.
void one_round(Switch& fabric, Picoseconds& now, Actions& out) {
  std::array<std::byte, wire::kHeaderBytes> message{};
  for (PortIndex port = 0; port < 8; ++port) {
    for (BufferId i = 0; i < 10; ++i) {
      const FrameRef one{
          {wire::FrameType::data, wire::ByteOrder::big, gpu_at(port), gpu_at((port + 3) % 8), 60'000}, i};
      const FrameRef all{{wire::FrameType::data, wire::ByteOrder::little, gpu_at(port), kBroadcast, 100}, i};
      fabric.receive(port, one, ++now, out);
      fabric.receive(port, all, ++now, out);
      wire::encode({wire::FrameType::data, wire::ByteOrder::big, gpu_at(port), gpu_at((port + 1) % 8), 0},
                   message);
      fabric.receive(port, message, i, ++now, out);
    }
  }
  for (PortIndex port = 0; port < 8; ++port) {
    while (fabric.front(port) != nullptr)
      fabric.pop(port, ++now, out);
  }
  out.clear();
}

TEST(Allocation, ASteadyStateAllocatesNothing) {
  SwitchConfig config;
  config.ports.resize(8);
  for (PortIndex port = 0; port < 8; ++port)
    config.ports[port].expected = gpu_at(port);
  Switch fabric = *Switch::create(std::move(config));
  Actions out;
  for (PortIndex port = 0; port < 8; ++port)
    fabric.link_up(port, 0, out);
  Picoseconds now = 0;
  one_round(fabric, now, out);
  const std::uint64_t before = allocations;
  ASSERT_GT(before, 0u);
  for (int round = 0; round < 100; ++round)
    one_round(fabric, now, out);
  EXPECT_EQ(allocations, before);
}

}  // namespace
}  // namespace cnuas::fabric_switch
