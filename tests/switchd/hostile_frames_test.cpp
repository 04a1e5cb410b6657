// Messages that no honest endpoint sends: each is counted under its own reason, and nobody else notices.
#include "live/posix/unix_socket.h"
#include "tests/switchd/switch_test.h"
#include "tests/switchd/traffic.h"

#include <random>

namespace cnuas::test {
namespace {

constexpr std::size_t kHostile = 2;  // the port that misbehaves
constexpr std::size_t kPartner = 3;
constexpr GpuId kElsewhere{0x0201};

struct Nonsense {
  const char* name;
  const char* reason;
  Bytes message;
};

std::ostream& operator<<(std::ostream& out, const Nonsense& nonsense) {
  return out << nonsense.name;
}

Bytes with_byte(std::size_t offset, unsigned value) {
  Bytes bytes = frame(wire::FrameType::data, gpu_at(kHostile), gpu_at(kPartner), 20);
  bytes[offset] = static_cast<std::byte>(value);
  return bytes;
}

Bytes with_length(std::uint32_t payload_bytes) {
  Bytes bytes = frame(wire::FrameType::data, gpu_at(kHostile), gpu_at(kPartner), 20);
  for (std::size_t i = 0; i < 4; ++i)
    bytes[8 + i] = static_cast<std::byte>(payload_bytes >> (24 - 8 * i));
  return bytes;
}

Bytes of_length(std::size_t bytes) {
  Bytes message = frame(wire::FrameType::data, gpu_at(kHostile), gpu_at(kPartner), 20);
  message.resize(bytes);
  return message;
}

Bytes from_to(GpuId source, GpuId destination) {
  return frame(wire::FrameType::data, source, destination, 20);
}

std::vector<Nonsense> all_nonsense() {
  return {
      {"empty", "empty", {}},
      {"one_byte", "short_header", of_length(1)},
      {"eleven_bytes", "short_header", of_length(11)},
      {"a_byte_too_long", "oversize", of_length(65'537)},
      {"far_too_long", "oversize", of_length(200'000)},
      {"bad_magic", "bad_magic", with_byte(0, 'X')},
      {"half_magic", "bad_magic", with_byte(1, 'H')},
      {"version_0", "bad_version", with_byte(2, 0)},
      {"version_2", "bad_version", with_byte(2, 2)},
      {"type_0", "unknown_type", with_byte(3, 0)},
      {"type_8", "unknown_type", with_byte(3, 8)},
      {"type_255", "unknown_type", with_byte(3, 255)},
      {"length_too_small", "length_mismatch", with_length(19)},
      {"length_too_large", "length_mismatch", with_length(21)},
      {"length_zero", "length_mismatch", with_length(0)},
      {"length_huge", "length_mismatch", with_length(0xFFFFFFFF)},
      {"from_nobody", "bad_source", from_to(kNoGpu, gpu_at(kPartner))},
      {"from_all", "bad_source", from_to(kBroadcast, gpu_at(kPartner))},
      {"to_nobody", "bad_destination", from_to(gpu_at(kHostile), kNoGpu)},
      {"as_a_neighbour", "spoofed_source", from_to(gpu_at(0), gpu_at(kPartner))},
      {"as_an_absent_one", "spoofed_source", from_to(gpu_at(7), gpu_at(kPartner))},
      {"as_one_of_another_rack", "spoofed_source", from_to(kElsewhere, gpu_at(kPartner))},
      {"announces_a_neighbour", "spoofed_source", discovery(gpu_at(0))},
      {"to_itself", "hairpin", from_to(gpu_at(kHostile), gpu_at(kHostile))},
      {"to_an_absent_one", "no_route", from_to(gpu_at(kHostile), gpu_at(7))},
      {"to_one_that_cannot_be", "no_route", from_to(gpu_at(kHostile), GpuId{0x01C8})},
  };
}

class HostileFrames : public SwitchTest, public ::testing::WithParamInterface<Nonsense> {};

TEST_P(HostileFrames, AreCountedAndHarmNobody) {
  constexpr std::uint64_t kTimes = 200;
  start();
  RawEndpoint a = gpu(0);
  RawEndpoint b = gpu(1);
  RawEndpoint hostile = gpu(kHostile);
  RawEndpoint partner = gpu(kPartner);
  live::set_send_buffer(hostile.fd(), 1 << 20);
  const std::uint64_t before = telemetry().count(kHostile, "rx_frames");
  Traffic traffic(a, gpu_at(0), b, gpu_at(1));
  for (std::uint64_t i = 0; i < kTimes; ++i)
    ASSERT_TRUE(hostile.send(GetParam().message));
  wait_for_received(kHostile, before + kTimes);
  EXPECT_TRUE(traffic.progress());
  traffic.stop();
  EXPECT_EQ(traffic.faults(), std::vector<std::string>{});
  EXPECT_EQ(traffic.received(), traffic.sent());

  const Telemetry after = telemetry();
  EXPECT_EQ(after.rx_drops(kHostile, GetParam().reason), kTimes) << after.dump()["ports"][kHostile];
  EXPECT_EQ(after.count(kHostile, "rx_drops"), kTimes);
  EXPECT_EQ(after.count(0, "rx_drops"), 0U);
  EXPECT_EQ(after.count(0, "rx_frames"), traffic.sent() + 1);
  // It is connected as before, and what it sends properly arrives.
  exchange(hostile, gpu_at(kHostile), partner, gpu_at(kPartner));
}

INSTANTIATE_TEST_SUITE_P(Each, HostileFrames, ::testing::ValuesIn(all_nonsense()),
                         [](const auto& test) { return std::string(test.param.name); });

class HostileStream : public SwitchTest {};

// Frames with flipped bytes, cut or lengthened: what is still a frame by its header may go anywhere, but
// every message is accounted for and no other port loses one.
TEST_F(HostileStream, OfMutatedFramesIsAccountedFor) {
  constexpr std::uint64_t kMessages = 20'000;
  start();
  RawEndpoint a = gpu(0);
  RawEndpoint b = gpu(1);
  RawEndpoint hostile = gpu(kHostile);
  std::mt19937 random(20240607);  // NOLINT: the same messages every time
  Traffic traffic(a, gpu_at(0), b, gpu_at(1));
  for (std::uint64_t i = 0; i < kMessages; ++i) {
    Bytes message =
        frame(static_cast<wire::FrameType>(1 + random() % 7), gpu_at(kHostile), gpu_at(7), random() % 100);
    for (unsigned flips = random() % 4; flips > 0; --flips)
      message[random() % message.size()] = static_cast<std::byte>(random());
    if (random() % 8 == 0) message.resize(random() % 200);
    // Not to those whose frames are checked.
    if (message.size() >= 8) message[7] = std::byte{7};
    ASSERT_TRUE(hostile.send(message));
  }
  wait_for_received(kHostile, kMessages + 1);
  traffic.stop();
  EXPECT_EQ(traffic.faults(), std::vector<std::string>{});
  EXPECT_EQ(traffic.received(), traffic.sent());
  EXPECT_EQ(telemetry().count(kHostile, "rx_frames"), kMessages + 1);
}

// Without a configuration a port belongs to the first GPU that uses it, and to no other port's.
TEST_F(HostileStream, CannotTakeTheNameOfAnotherPortsGpu) {
  start_plain();
  RawEndpoint a = gpu(0);
  RawEndpoint b = gpu(1);
  RawEndpoint thief = connect(kHostile);
  for (int i = 0; i < 10; ++i)
    ASSERT_TRUE(thief.send(discovery(gpu_at(0))));
  wait_for_received(kHostile, 10);
  EXPECT_EQ(telemetry().rx_drops(kHostile, "duplicate_source"), 10U);
  exchange(a, gpu_at(0), b, gpu_at(1));
  // With a name of its own it is welcome, and then bound to it.
  ASSERT_TRUE(thief.send(discovery(gpu_at(kHostile))));
  ASSERT_TRUE(thief.send(discovery(gpu_at(5))));
  wait_for_received(kHostile, 12);
  EXPECT_EQ(telemetry().rx_drops(kHostile, "spoofed_source"), 1U);
  exchange(thief, gpu_at(kHostile), b, gpu_at(1));
}

// A switch looks at headers alone: payloads that make no sense are for their receivers to refuse.
TEST_F(HostileStream, PayloadsOfAnyContentArePassedOn) {
  start();
  RawEndpoint a = gpu(0);
  RawEndpoint b = gpu(1);
  for (std::uint8_t type = 1; type <= 5; ++type) {
    for (const std::size_t payload :
         {std::size_t{0}, std::size_t{1}, std::size_t{7}, wire::kMaxPayloadBytes}) {
      Bytes message = frame(static_cast<wire::FrameType>(type), gpu_at(0), gpu_at(1), payload);
      for (std::size_t i = wire::kHeaderBytes; i < message.size(); ++i)
        message[i] = static_cast<std::byte>(0xFF - i % 256);
      ASSERT_TRUE(a.send(message));
      EXPECT_EQ(b.receive(), message);
    }
  }
}

}  // namespace
}  // namespace cnuas::test
