// The library against the real daemon, from several processes.

#include "tests/endpoint_library/fixture.h"
#include "tests/switchd/daemon_process.h"

#include <array>
#include <atomic>
#include <csignal>
#include <cstring>
#include <thread>

namespace cnuas::live::test {
namespace {

using cnuas::test::ChildProcess;
using cnuas::test::DaemonProcess;
using cnuas::test::DaemonSettings;

constexpr unsigned kAll = CNUASLINK_ACCESS_PUT | CNUASLINK_ACCESS_GET | CNUASLINK_ACCESS_ATOMIC;

class Daemon : public LinkTest {
 protected:
  Daemon() { start_daemon(); }
  void start_daemon() {
    DaemonSettings settings;
    settings.run_dir = run_dir();
    settings.log_file = run_dir() + "/log";
    Result<DaemonProcess> started = DaemonProcess::start(settings);
    ASSERT_TRUE(started) << started.error().message;
    daemon_.emplace(std::move(*started));
  }
  std::optional<DaemonProcess> daemon_;
};

TEST_F(Daemon, ASecondEndpointIsToldThatThePortIsBusy) {
  const LinkHandle first = open(0);
  const cnuaslink_options given = options(0);
  cnuaslink* link = nullptr;
  cnuaslink_error error;
  EXPECT_EQ(cnuaslink_open(&given, &link, &error), CNUASLINK_BUSY);
  EXPECT_NE(std::strstr(error.text, "has an endpoint already"), nullptr) << error.text;
  const LinkHandle other = open(1);
  ASSERT_EQ(send(other, gpu(0), "the first is not harmed"), CNUASLINK_OK);
  EXPECT_EQ(receive(first).text, "the first is not harmed");
}

// Two that are started at once: whoever sends waits until the other one is there.
TEST_F(Daemon, APingThatIsStartedBeforeItsEchoLosesNothing) {
  cnuas::test::ProgramSettings settings;
  // clang-format off
  settings.command = {CNUAS_BINARY_DIR "/bin/cnuas-endpoint", "ping", "--run-dir", run_dir(), "--gpu", "1/1",
                      "--to", "1/2", "--count", "20", "--timeout", "60s", "--wait", "60s"};
  // clang-format on
  settings.output_file = run_dir() + "/ping";
  Result<ChildProcess> ping = ChildProcess::start(settings);
  ASSERT_TRUE(ping);
  ASSERT_TRUE(
      cnuas::test::eventually([&] { return daemon_->log().find("port_0: connected") != std::string::npos; }));
  const LinkHandle echo = open(1);
  for (int i = 0; i < 20; ++i) {
    const Received received = receive(echo);
    ASSERT_EQ(received.result, CNUASLINK_OK);
    ASSERT_EQ(send(echo, gpu(0), received.text), CNUASLINK_OK);
  }
  EXPECT_EQ(ping->wait(), 0);
}

// What the other process of the next test does; its exit status says where it went wrong.
int keep_a_window(const cnuaslink_options& options) {
  alignas(8) static std::array<std::uint64_t, 1024> memory{};
  cnuaslink* link = nullptr;
  if (cnuaslink_open(&options, &link, nullptr) != CNUASLINK_OK) return 1;
  if (cnuaslink_window_register(link, 3, memory.data(), sizeof(memory), kAll) != CNUASLINK_OK) return 2;
  if (cnuaslink_doorbell_send(link, gpu(0), 1, kLong) != CNUASLINK_OK) return 3;  // ready
  cnuaslink_doorbell doorbell;
  if (cnuaslink_doorbell_recv(link, gpu(0), &doorbell, kLong) != CNUASLINK_OK) return 4;
  for (std::uint64_t i = 0; i < 1000; ++i)
    if (memory[i] != i * i) return 5;  // all there before the doorbell
  if (doorbell.value != 42) return 6;
  if (memory[1020] != 500) return 7;
  if (cnuaslink_doorbell_send(link, gpu(0), 2, kLong) != CNUASLINK_OK) return 8;
  if (cnuaslink_doorbell_recv(link, gpu(0), &doorbell, kLong) != CNUASLINK_OK) return 9;
  cnuaslink_close(link);
  return 0;
}

TEST_F(Daemon, WindowsOfAnotherProcess) {
  const LinkHandle a = open(0);
  const cnuaslink_options of_other = options(1);
  Result<ChildProcess> other = ChildProcess::start([&] { return keep_a_window(of_other); });
  ASSERT_TRUE(other);
  cnuaslink_doorbell doorbell;
  ASSERT_EQ(cnuaslink_doorbell_recv(a.get(), gpu(1), &doorbell, kLong), CNUASLINK_OK);
  for (std::uint64_t i = 0; i < 1000; ++i) {
    const std::uint64_t square = i * i;
    ASSERT_EQ(cnuaslink_put(a.get(), gpu(1), 3, 8 * i, &square, 8, kLong), CNUASLINK_OK);
  }
  for (int i = 0; i < 500; ++i)
    ASSERT_EQ(cnuaslink_atomic(a.get(), gpu(1), 3, 8 * 1020, CNUASLINK_ATOMIC_ADD, 1, 0, nullptr, kLong),
              CNUASLINK_OK);
  ASSERT_EQ(cnuaslink_doorbell_send(a.get(), gpu(1), 42, kLong), CNUASLINK_OK);
  ASSERT_EQ(cnuaslink_flush(a.get(), gpu(1), kLong), CNUASLINK_OK);
  EXPECT_EQ(counters(a).put_frames, 1u);
  ASSERT_EQ(cnuaslink_doorbell_recv(a.get(), gpu(1), &doorbell, kLong), CNUASLINK_OK);
  std::array<std::uint64_t, 1000> back{};
  ASSERT_EQ(cnuaslink_get(a.get(), gpu(1), 3, 0, back.data(), sizeof(back), kLong), CNUASLINK_OK);
  for (std::uint64_t i = 0; i < back.size(); ++i)
    ASSERT_EQ(back[i], i * i);
  std::uint64_t before = 0;
  ASSERT_EQ(cnuaslink_atomic(a.get(), gpu(1), 3, 8 * 1020, CNUASLINK_ATOMIC_SWAP, 7, 0, &before, kLong),
            CNUASLINK_OK);
  EXPECT_EQ(before, 500u);
  ASSERT_EQ(cnuaslink_doorbell_send(a.get(), gpu(1), 0, kLong), CNUASLINK_OK);
  EXPECT_EQ(other->wait(), 0);
}

TEST_F(Daemon, ARestartIsSurvived) {
  cnuaslink_options given = options(0);
  given.flags = CNUASLINK_AUTO_RECONNECT;
  const LinkHandle a = open(given);
  const LinkHandle b = open(1);
  for (int round = 0; round < 3; ++round) {
    ASSERT_EQ(send(a, gpu(1), "hello"), CNUASLINK_OK);
    ASSERT_EQ(receive(b).text, "hello");
    daemon_->process().signal(SIGKILL);
    daemon_->process().wait();
    start_daemon();
    ASSERT_EQ(cnuaslink_reconnect(b.get(), kLong), CNUASLINK_OK);
    // A finds the way back by itself; until B's switch knows A, frames from B are dropped.
    while (state(a).link != CNUASLINK_UP || counters(a).connects < static_cast<std::uint64_t>(round + 2))
      receive(a, CNUASLINK_ANY, kShort);
  }
}

// As much as sockets hold: a thread that is kept waiting by others is no stalled reader to the daemon.
TEST_F(Daemon, AllPortsTalkToAllPorts) {
  constexpr unsigned kPorts = 8;
  constexpr int kRounds = 10;
  std::vector<LinkHandle> links;
  for (unsigned i = 0; i < kPorts; ++i)
    links.push_back(open(i));
  std::vector<std::thread> threads;
  for (unsigned self = 0; self < kPorts; ++self)
    threads.emplace_back([&, self] {
      const std::string text(1000 * (self + 1), static_cast<char>('a' + self));
      for (int round = 0; round < kRounds; ++round)
        for (unsigned peer = 0; peer < kPorts; ++peer) {
          if (peer == self) continue;
          ASSERT_EQ(send(links[self], gpu(peer), text), CNUASLINK_OK);
        }
      for (int round = 0; round < kRounds; ++round)
        for (unsigned peer = 0; peer < kPorts; ++peer) {
          if (peer == self) continue;
          ASSERT_EQ(receive(links[self], gpu(peer)).text,
                    std::string(1000 * (peer + 1), static_cast<char>('a' + peer)));
        }
    });
  for (std::thread& each : threads)
    each.join();
  for (const LinkHandle& each : links)
    EXPECT_EQ(counters(each).messages_dropped, 0u);
}

}  // namespace
}  // namespace cnuas::live::test
