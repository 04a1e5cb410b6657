// Readers that stand still, or nearly so.
#include "tests/switchd/switch_test.h"
#include "tests/switchd/traffic.h"

#include <algorithm>
#include <chrono>
#include <thread>

namespace cnuas::test {
namespace {

// Long enough that a good reader which a busy machine does not run for a while is not taken for a stalled
// one.
constexpr const char* kShortStallTimeout = "500 ms";
constexpr std::size_t kFrameBytes = 4096;

class StalledReader : public SwitchTest {
 protected:
  // Sends as much as goes without waiting, until nothing has gone for a while: the switch has stopped
  // reading. Returns how many frames that were.
  static std::uint64_t fill(RawEndpoint& sender, GpuId from, GpuId to, std::uint64_t first = 0) {
    std::uint64_t number = first;
    auto last = std::chrono::steady_clock::now();
    while (std::chrono::steady_clock::now() - last < std::chrono::milliseconds(500)) {
      if (sender.send_at_once(numbered_frame(from, to, number, kFrameBytes))) {
        ++number;
        last = std::chrono::steady_clock::now();
      } else {
        std::this_thread::sleep_for(std::chrono::milliseconds(5));
      }
    }
    return number - first;
  }
  void expect_unharmed(Traffic& traffic) {
    EXPECT_TRUE(traffic.progress(1000));
    traffic.stop();
    EXPECT_EQ(traffic.faults(), std::vector<std::string>{});
    EXPECT_EQ(traffic.received(), traffic.sent());
  }
};

TEST_F(StalledReader, CostsNothingBeforeTheWatchdogFires) {
  start(kLongStallTimeout);
  RawEndpoint a = gpu(0);
  RawEndpoint b = gpu(1);
  RawEndpoint sender = gpu(2);
  RawEndpoint stalled = gpu(3);
  Traffic traffic(a, gpu_at(0), b, gpu_at(1));
  const std::uint64_t sent = fill(sender, gpu_at(2), gpu_at(3));
  // What the kernel holds for both, and the queue between.
  EXPECT_GT(sent * kFrameBytes, 256U * 1024);
  EXPECT_EQ(port_status(2).at("ingress_paused"), true);
  expect_unharmed(traffic);
  for (std::uint64_t number = 0; number < sent; ++number)
    ASSERT_NO_FATAL_FAILURE(expect_number(stalled.receive(), number));
  const Telemetry after = telemetry();
  EXPECT_EQ(after.count(2, "rx_drops") + after.count(3, "tx_drops"), 0U);
  exchange(sender, gpu_at(2), stalled, gpu_at(3));
}

TEST_F(StalledReader, AfterTheWatchdogEveryDropIsCountedByItsReason) {
  constexpr std::uint64_t kFrames = 5000;
  start(kShortStallTimeout);
  RawEndpoint a = gpu(0);
  RawEndpoint b = gpu(1);
  RawEndpoint sender = gpu(2);
  RawEndpoint stalled = gpu(3);
  Traffic traffic(a, gpu_at(0), b, gpu_at(1));
  for (std::uint64_t number = 0; number < kFrames; ++number)
    ASSERT_TRUE(sender.send(numbered_frame(gpu_at(2), gpu_at(3), number, kFrameBytes)));
  wait_for_received(2, kFrames + 1);
  ASSERT_TRUE(eventually([&] { return telemetry().count(3, "queued_frames") == 0; }));
  expect_unharmed(traffic);

  const Telemetry after = telemetry();
  const std::uint64_t delivered = after.count(3, "DATA", "tx_frames");
  EXPECT_EQ(port_status(3).at("state"), "stalled");
  EXPECT_GT(after.tx_drops(3, "stalled"), 0U);
  EXPECT_EQ(after.tx_drops(3, "stalled"), after.count(3, "tx_drops"));
  EXPECT_EQ(after.count(2, "rx_drops"), after.rx_drops(2, "queue_full"));
  EXPECT_EQ(delivered + after.count(3, "tx_drops") + after.count(2, "rx_drops"), kFrames);

  // What was handed to the kernel before comes first, whole and in order; then the port is as good as new.
  for (std::uint64_t number = 0; number < delivered; ++number)
    ASSERT_NO_FATAL_FAILURE(expect_number(stalled.receive(), number));
  EXPECT_TRUE(eventually([&] { return port_status(3).at("state") == "up"; }));
  exchange(sender, gpu_at(2), stalled, gpu_at(3));
}

// Who sends to a stalled port and to a good one is held up, and loses nothing for the good one.
TEST_F(StalledReader, CostsItsSendersNothingForOthers) {
  constexpr std::uint64_t kFrames = 2000;
  start(kShortStallTimeout);
  RawEndpoint sender = gpu(0);
  RawEndpoint good = gpu(1);
  RawEndpoint stalled = gpu(3);
  for (std::uint64_t number = 0; number < kFrames; ++number) {
    ASSERT_TRUE(sender.send(numbered_frame(gpu_at(0), gpu_at(3), number, kFrameBytes)));
    ASSERT_TRUE(sender.send(numbered_frame(gpu_at(0), gpu_at(1), number, 64)));
    if (number % 16 != 15) continue;
    for (std::uint64_t i = number - 15; i <= number; ++i)
      ASSERT_NO_FATAL_FAILURE(expect_number(good.receive(), i));
  }
  wait_for_received(0, 2 * kFrames + 1);
  const Telemetry after = telemetry();
  EXPECT_EQ(after.count(1, "tx_drops"), 0U);
  EXPECT_GT(after.tx_drops(3, "stalled"), 0U);
  EXPECT_EQ(after.count(3, "DATA", "tx_frames") + after.tx_drops(3, "stalled"), kFrames);
}

TEST_F(StalledReader, DoesNotKeepBroadcastsFromTheOthers) {
  constexpr std::uint64_t kFrames = 3000;
  start(kShortStallTimeout);
  RawEndpoint sender = gpu(0);
  RawEndpoint good = gpu(1);
  RawEndpoint stalled = gpu(3);
  for (std::uint64_t number = 0; number < kFrames; ++number) {
    ASSERT_TRUE(sender.send(numbered_frame(gpu_at(0), kBroadcast, number, kFrameBytes)));
    ASSERT_NO_FATAL_FAILURE(expect_number(good.receive(), number));
  }
  const Telemetry after = telemetry();
  EXPECT_EQ(after.count(1, "DATA", "tx_frames"), kFrames);
  EXPECT_EQ(
      after.count(3, "DATA", "tx_frames") + after.tx_drops(3, "stalled") + after.count(3, "queued_frames"),
      kFrames);
}

// --- Slow readers ------------------------------------------------------------------------------------------

struct SlowReaderCase {
  const char* name;
  const char* send_buffer;  // what the kernel may hold for the reader
  std::size_t frame_bytes;
  std::uint64_t frames;
};

std::ostream& operator<<(std::ostream& out, const SlowReaderCase& each) {
  return out << each.name;
}

class SlowReader : public SwitchTest, public ::testing::WithParamInterface<SlowReaderCase> {
 protected:
  using Clock = std::chrono::steady_clock;

  // Reads a frame now and then, as a device with one slot does. Returns the longest time between two reads.
  Clock::duration read_slowly(RawEndpoint& reader, std::uint64_t frames) {
    Clock::duration longest{};
    auto last = Clock::now();
    for (std::uint64_t number = 0; number < frames; ++number) {
      std::this_thread::sleep_for(std::chrono::milliseconds(20));
      const std::optional<Bytes> message = reader.receive(std::chrono::seconds(5));
      if (!message) break;
      ++read_;
      EXPECT_TRUE(number_of(*message).has_value());
      const auto now = Clock::now();
      longest = std::max(longest, now - last);
      last = now;
    }
    return longest;
  }
  std::uint64_t read() const { return read_; }

 private:
  std::uint64_t read_ = 0;
};

// It always reads well within the watchdog's time, and the kernel says that there is room only when most of
// its buffer is empty, which takes longer: that must not be mistaken for standing still.
TEST_P(SlowReader, LosesNothing) {
  constexpr int kAttempts = 5;
  for (int attempt = 0; attempt < kAttempts; ++attempt) {
    DaemonSettings settings;
    settings.run_dir = directory().file("run" + std::to_string(attempt));
    settings.arguments = {"--send-buffer", GetParam().send_buffer};
    start("200 ms", settings);
    RawEndpoint sender = gpu(0);
    RawEndpoint reader = gpu(1);
    std::thread sending([&] {
      for (std::uint64_t number = 0; number < GetParam().frames; ++number)
        EXPECT_TRUE(sender.send(numbered_frame(gpu_at(0), gpu_at(1), number, GetParam().frame_bytes)));
    });
    const std::uint64_t before = read();
    const Clock::duration longest = read_slowly(reader, GetParam().frames);
    sending.join();
    wait_for_received(0, GetParam().frames + 1);
    const Telemetry after = telemetry();
    EXPECT_EQ(read() - before + after.count(1, "tx_drops") + after.count(0, "rx_drops"), GetParam().frames);
    // On a machine so busy that the reader was late itself, the watchdog was right.
    if (longest < std::chrono::milliseconds(100)) {
      EXPECT_EQ(read() - before, GetParam().frames);
      return;
    }
    TearDown();
  }
  GTEST_SKIP() << "the machine is too busy: the reader was kept from reading in every attempt";
}

INSTANTIATE_TEST_SUITE_P(Each, SlowReader,
                         ::testing::Values(SlowReaderCase{"room_for_one_frame", "33024", 61'440, 60},
                                           SlowReaderCase{"room_for_many_frames", "1048576", 61'440, 100},
                                           SlowReaderCase{"small_frames", "33024", 64, 400}),
                         [](const auto& test) { return std::string(test.param.name); });

}  // namespace
}  // namespace cnuas::test
