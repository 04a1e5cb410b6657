// Several threads on one link, doing everything that may be done at once. ThreadSanitizer is what judges.

#include "tests/endpoint_library/fixture.h"

#include <array>
#include <atomic>
#include <cstring>
#include <thread>

namespace cnuas::live::test {
namespace {

constexpr int kSenders = 3;
constexpr int kReceivers = 3;
constexpr int kEach = 400;

class Threads : public LinkTest {
 protected:
  Threads() { start_relay(); }
  static std::string text(int thread, int i) {
    return std::to_string(thread) + ":" + std::to_string(i) + ":" +
           std::string(static_cast<std::size_t>(i * 37 % 20'000), 'x');
  }
};

TEST_F(Threads, SendAndReceiveOnOneLink) {
  const LinkHandle a = open(0);
  const LinkHandle b = open(1);
  std::atomic<int> received = 0;
  std::atomic<std::uint64_t> bytes = 0;
  std::atomic<bool> done = false;
  std::vector<std::thread> threads;
  for (int self = 0; self < kSenders; ++self)
    threads.emplace_back([&, self] {
      for (int i = 0; i < kEach; ++i)
        ASSERT_EQ(send(a, gpu(1), text(self, i)), CNUASLINK_OK);
    });
  for (int self = 0; self < kReceivers; ++self)
    threads.emplace_back([&, self] {
      while (received < kSenders * kEach) {
        if (self == 0) {
          const void* data = nullptr;
          cnuaslink_message message;
          if (cnuaslink_borrow(b.get(), gpu(0), &data, &message, kShort) != CNUASLINK_OK) continue;
          bytes += std::string(static_cast<const char*>(data), message.bytes).size();
          cnuaslink_give_back(b.get(), data);
        } else {
          const Received next = receive(b, self == 1 ? CNUASLINK_ANY : gpu(0), kShort);
          if (next.result != CNUASLINK_OK) continue;
          bytes += next.text.size();
        }
        ++received;
      }
    });
  std::thread watcher([&] {
    while (!done) {
      state(a);
      state(b);
      cnuaslink_progress(a.get());
      cnuaslink_fd(b.get());
      std::this_thread::yield();
    }
  });
  for (std::thread& each : threads)
    each.join();
  done = true;
  watcher.join();
  EXPECT_EQ(received, kSenders * kEach);
  EXPECT_EQ(bytes, counters(a).message_bytes_sent);
}

// Each of several threads waits for a source of its own: whoever reads the socket must wake the others.
TEST_F(Threads, EachWaitsForItsOwnSource) {
  const LinkHandle sink = open(0);
  std::array<LinkHandle, 3> sources;
  for (unsigned i = 0; i < sources.size(); ++i)
    sources[i] = open(i + 1);
  std::vector<std::thread> threads;
  for (unsigned i = 0; i < sources.size(); ++i) {
    threads.emplace_back([&, i] {
      for (int round = 0; round < kEach; ++round) {
        ASSERT_EQ(receive(sink, gpu(i + 1)).text, text(static_cast<int>(i), round));
        ASSERT_EQ(send(sink, gpu(i + 1), "got it"), CNUASLINK_OK);
      }
    });
    threads.emplace_back([&, i] {
      for (int round = 0; round < kEach; ++round) {
        ASSERT_EQ(send(sources[i], gpu(0), text(static_cast<int>(i), round)), CNUASLINK_OK);
        ASSERT_EQ(receive(sources[i], gpu(0)).text, "got it");
      }
    });
  }
  for (std::thread& each : threads)
    each.join();
}

TEST_F(Threads, ReconnectWhileOthersWait) {
  const LinkHandle a = open(0);
  const LinkHandle b = open(1);
  std::atomic<bool> done = false;
  std::thread receiver([&] {
    while (!done)
      receive(b, CNUASLINK_ANY, kShort / 10);
  });
  std::thread sender([&] {
    while (!done) {
      send(a, gpu(1), "something", kShort / 10);
      send(b, gpu(0), "something", kShort / 10);
      receive(a, CNUASLINK_ANY, 0);
    }
  });
  for (int i = 0; i < 20; ++i)
    ASSERT_EQ(cnuaslink_reconnect(b.get(), kLong), CNUASLINK_OK);
  done = true;
  receiver.join();
  sender.join();
  EXPECT_EQ(counters(b).connects, 21u);
}

TEST_F(Threads, AProgressThreadAmongOthers) {
  cnuaslink_options given = options(1);
  given.flags = CNUASLINK_PROGRESS_THREAD;
  given.keepalive_ns = kSecondNs / 1000;
  const LinkHandle a = open(0);
  const LinkHandle b = open(given);
  std::thread echo([&] {
    for (int i = 0; i < kEach; ++i) {
      const Received next = receive(b);
      ASSERT_EQ(send(b, next.message.source, next.text), CNUASLINK_OK);
    }
  });
  for (int i = 0; i < kEach; ++i) {
    ASSERT_EQ(send(a, gpu(1), text(0, i)), CNUASLINK_OK);
    ASSERT_EQ(receive(a).text, text(0, i));
  }
  echo.join();
}

}  // namespace
}  // namespace cnuas::live::test
