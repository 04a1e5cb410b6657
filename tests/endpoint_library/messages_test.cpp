// Messages and doorbells: order, limits, deadlines, event loops.

#include "core/wire/window.h"
#include "tests/endpoint_library/fixture.h"

#include <atomic>
#include <chrono>
#include <cstring>
#include <numeric>
#include <thread>

#include <poll.h>

namespace cnuas::live::test {
namespace {

class Messages : public LinkTest {
 protected:
  Messages() { start_relay(); }

  // Whether the descriptor is readable, waiting so long for it.
  static bool readable(const LinkHandle& link, int timeout_ms) {
    pollfd query{cnuaslink_fd(link.get()), POLLIN, 0};
    return ::poll(&query, 1, timeout_ms) == 1;
  }
};

TEST_F(Messages, ArriveAsTheyWereSent) {
  const LinkHandle a = open(0);
  const LinkHandle b = open(1);
  std::string large(65'524, '\0');
  std::iota(large.begin(), large.end(), '\0');
  for (const std::string& text : {std::string(), std::string("x"), std::string(8192, 'y'), large}) {
    ASSERT_EQ(send(a, gpu(1), text), CNUASLINK_OK);
    const Received received = receive(b);
    ASSERT_EQ(received.result, CNUASLINK_OK);
    EXPECT_EQ(received.text, text);
    EXPECT_EQ(received.message.source, gpu(0));
    EXPECT_EQ(received.message.destination, gpu(1));
    EXPECT_EQ(received.message.type, CNUASLINK_DATA);
  }
  EXPECT_EQ(counters(a).messages_sent, 4u);
  EXPECT_EQ(counters(a).message_bytes_sent, 1u + 8192 + 65'524);
  EXPECT_EQ(counters(a).frames_sent, 5u);  // with the announcement
  EXPECT_EQ(counters(a).bytes_sent, 5u * 12 + 1 + 8192 + 65'524);
  EXPECT_EQ(counters(b).messages_received, 4u);
  EXPECT_EQ(counters(b).messages_taken, 4u);
  EXPECT_EQ(counters(b).message_bytes_received, 1u + 8192 + 65'524);
  EXPECT_EQ(state(b).held_messages, 0u);
  EXPECT_EQ(state(b).held_bytes, 0u);
}

TEST_F(Messages, KeepTheirTypeAndGoToAllWhenToldTo) {
  const LinkHandle a = open(0);
  const LinkHandle b = open(1);
  const LinkHandle c = open(2);
  const cnuaslink_outgoing messages[] = {
      {gpu(1), CNUASLINK_COLLECTIVE_REDUCE, "one", 3},
      {CNUASLINK_ALL, CNUASLINK_COLLECTIVE_GATHER, "two", 3},
      {gpu(2), CNUASLINK_DATA, nullptr, 0},
  };
  std::size_t sent = 0;
  ASSERT_EQ(cnuaslink_send_many(a.get(), messages, 3, &sent, kLong), CNUASLINK_OK);
  EXPECT_EQ(sent, 3u);
  EXPECT_EQ(receive(b).message.type, CNUASLINK_COLLECTIVE_REDUCE);
  const Received to_all = receive(b);
  EXPECT_EQ(to_all.message.type, CNUASLINK_COLLECTIVE_GATHER);
  EXPECT_EQ(to_all.message.destination, CNUASLINK_ALL);
  EXPECT_EQ(to_all.text, "two");
  EXPECT_EQ(receive(c).text, "two");
  EXPECT_EQ(receive(c).message.bytes, 0u);
}

TEST_F(Messages, ArgumentsAreChecked) {
  const LinkHandle a = open(0);
  EXPECT_EQ(send(a, 0x0000, "x"), CNUASLINK_INVALID_ARGUMENT);
  EXPECT_EQ(send(a, gpu(0), "to itself"), CNUASLINK_INVALID_ARGUMENT);
  EXPECT_EQ(cnuaslink_send(a.get(), gpu(1), nullptr, 1, 0), CNUASLINK_INVALID_ARGUMENT);
  EXPECT_EQ(send(a, gpu(1), std::string(65'525, 'x')), CNUASLINK_TOO_LARGE);
  EXPECT_EQ(receive(a, 0xFFFF, 0).result, CNUASLINK_INVALID_ARGUMENT);
  for (const int type : {0, 2, 3, 6, 7, 8}) {
    const cnuaslink_outgoing message{gpu(1), static_cast<std::uint8_t>(type), "x", 1};
    EXPECT_EQ(cnuaslink_send_many(a.get(), &message, 1, nullptr, 0), CNUASLINK_INVALID_ARGUMENT) << type;
  }
  EXPECT_EQ(counters(a).messages_sent, 0u);
}

TEST_F(Messages, ComeInPieces) {
  const LinkHandle a = open(0);
  const LinkHandle b = open(1);
  std::string head = "head ";
  std::string body(65'519, 'b');
  const iovec pieces[] = {{head.data(), head.size()}, {nullptr, 0}, {body.data(), body.size()}};
  ASSERT_EQ(cnuaslink_send_pieces(a.get(), gpu(1), pieces, 3, kLong), CNUASLINK_OK);
  EXPECT_EQ(receive(b).text, head + body);
  ASSERT_EQ(cnuaslink_send_pieces(a.get(), gpu(1), nullptr, 0, kLong), CNUASLINK_OK);
  EXPECT_EQ(receive(b).text, "");
  EXPECT_EQ(counters(a).messages_sent, 2u);
  EXPECT_EQ(counters(a).message_bytes_sent, 65'524u);

  const iovec nothing_there[] = {{nullptr, 1}};
  EXPECT_EQ(cnuaslink_send_pieces(a.get(), gpu(1), nothing_there, 1, 0), CNUASLINK_INVALID_ARGUMENT);
  EXPECT_EQ(cnuaslink_send_pieces(a.get(), gpu(0), pieces, 3, 0), CNUASLINK_INVALID_ARGUMENT);
  EXPECT_EQ(cnuaslink_send_pieces(a.get(), gpu(1), nullptr, 1, 0), CNUASLINK_INVALID_ARGUMENT);
  const std::vector<iovec> many(CNUASLINK_MOST_PIECES + 1, iovec{head.data(), 1});
  EXPECT_EQ(cnuaslink_send_pieces(a.get(), gpu(1), many.data(), many.size(), 0), CNUASLINK_INVALID_ARGUMENT);
  const iovec too_large[] = {{body.data(), body.size()}, {body.data(), 6}};
  EXPECT_EQ(cnuaslink_send_pieces(a.get(), gpu(1), too_large, 2, 0), CNUASLINK_TOO_LARGE);
}

TEST_F(Messages, ManyComeInPieces) {
  const LinkHandle a = open(0);
  const LinkHandle b = open(1);
  std::string head = "head ";
  std::string body(60'000, 'b');
  const iovec pieces[] = {{head.data(), head.size()}, {body.data(), body.size()}};
  std::vector<cnuaslink_pieces> messages(30, {gpu(1), pieces, 2});  // more than go to the kernel at a time
  messages[7].count = 1;
  std::size_t sent = 0;
  std::thread receiver([&] {
    for (std::size_t i = 0; i < 30; ++i)
      ASSERT_EQ(receive(b).text, i == 7 ? head : head + body);
  });
  EXPECT_EQ(cnuaslink_send_pieces_many(a.get(), messages.data(), messages.size(), &sent, kLong),
            CNUASLINK_OK);
  EXPECT_EQ(sent, 30u);
  receiver.join();
  messages[3].peer = 0;
  EXPECT_EQ(cnuaslink_send_pieces_many(a.get(), messages.data(), messages.size(), &sent, kLong),
            CNUASLINK_INVALID_ARGUMENT);
  EXPECT_EQ(sent, 3u);
  for (int i = 0; i < 3; ++i)
    ASSERT_EQ(receive(b).text, head + body);
  EXPECT_EQ(counters(a).messages_sent, 33u);
}

// A message that looks like window traffic is wrapped, however it is cut.
TEST_F(Messages, InPiecesMayLookLikeWindowTraffic) {
  const LinkHandle a = open(0);
  const LinkHandle b = open(1);
  std::string magic(reinterpret_cast<const char*>(wire::kWindowMagic.data()), wire::kWindowMagic.size());
  std::string rest(100, 'r');
  for (std::size_t cut = 0; cut <= magic.size(); ++cut) {
    const iovec pieces[] = {
        {magic.data(), cut}, {magic.data() + cut, magic.size() - cut}, {rest.data(), rest.size()}};
    ASSERT_EQ(cnuaslink_send_pieces(a.get(), gpu(1), pieces, 3, kLong), CNUASLINK_OK);
    EXPECT_EQ(receive(b).text, magic + rest);
  }
  std::string body(65'524 - magic.size(), 'b');
  const iovec too_large[] = {{magic.data(), magic.size()}, {body.data(), body.size()}};
  EXPECT_EQ(cnuaslink_send_pieces(a.get(), gpu(1), too_large, 2, 0), CNUASLINK_TOO_LARGE);
}

TEST_F(Messages, ManyAreSentUpToTheFirstThatCannotBe) {
  const LinkHandle a = open(0);
  const LinkHandle b = open(1);
  std::vector<cnuaslink_outgoing> messages(100, {gpu(1), CNUASLINK_DATA, "m", 1});
  messages[70].peer = 0;
  std::size_t sent = 0;
  EXPECT_EQ(cnuaslink_send_many(a.get(), messages.data(), messages.size(), &sent, kLong),
            CNUASLINK_INVALID_ARGUMENT);
  EXPECT_EQ(sent, 70u);
  for (int i = 0; i < 70; ++i)
    ASSERT_EQ(receive(b).text, "m");
  EXPECT_EQ(receive(b, CNUASLINK_ANY, 0).result, CNUASLINK_AGAIN);
}

TEST_F(Messages, ASmallerFrameLimitIsKept) {
  cnuaslink_options small = options(0);
  small.frame_bytes = 1500;
  const LinkHandle a = open(small);
  const LinkHandle b = open(1);
  EXPECT_EQ(cnuaslink_max_message(a.get()), 1488u);
  EXPECT_EQ(send(a, gpu(1), std::string(1489, 'x')), CNUASLINK_TOO_LARGE);
  ASSERT_EQ(send(a, gpu(1), std::string(1488, 'x')), CNUASLINK_OK);
  EXPECT_EQ(receive(b).text.size(), 1488u);
}

TEST_F(Messages, ABufferThatIsTooSmallLosesNothing) {
  const LinkHandle a = open(0);
  const LinkHandle b = open(1);
  ASSERT_EQ(send(a, gpu(1), "twelve bytes"), CNUASLINK_OK);
  char buffer[12];
  cnuaslink_message message;
  ASSERT_EQ(cnuaslink_recv(b.get(), CNUASLINK_ANY, buffer, 11, &message, kLong), CNUASLINK_TOO_SMALL);
  EXPECT_EQ(message.bytes, 12u);
  ASSERT_EQ(cnuaslink_recv(b.get(), CNUASLINK_ANY, buffer, 12, nullptr, 0), CNUASLINK_OK);
  EXPECT_EQ(std::string_view(buffer, 12), "twelve bytes");
}

TEST_F(Messages, AreTakenBySourceInTheirOrder) {
  const LinkHandle a = open(0);
  const LinkHandle b = open(1);
  const LinkHandle c = open(2);
  const LinkHandle sink = open(3);
  for (int i = 0; i < 50; ++i) {
    ASSERT_EQ(send(a, gpu(3), "a" + std::to_string(i)), CNUASLINK_OK);
    ASSERT_EQ(send(b, gpu(3), "b" + std::to_string(i)), CNUASLINK_OK);
    ASSERT_EQ(send(c, gpu(3), "c" + std::to_string(i)), CNUASLINK_OK);
  }
  for (int i = 0; i < 50; ++i)
    ASSERT_EQ(receive(sink, gpu(2)).text, "c" + std::to_string(i));
  EXPECT_EQ(receive(sink, gpu(2), 0).result, CNUASLINK_AGAIN);
  int next_a = 0;
  int next_b = 0;
  for (int i = 0; i < 100; ++i) {
    const Received received = receive(sink, i % 7 == 0 && next_b < 50 ? gpu(1) : CNUASLINK_ANY);
    ASSERT_EQ(received.result, CNUASLINK_OK);
    const bool from_a = received.message.source == gpu(0);
    EXPECT_EQ(received.text, (from_a ? "a" : "b") + std::to_string((from_a ? next_a : next_b)++));
  }
  EXPECT_EQ(next_a, 50);
  EXPECT_EQ(next_b, 50);
}

TEST_F(Messages, AnyTakesThemAsTheyCame) {
  const LinkHandle a = open(0);
  const LinkHandle b = open(1);
  const LinkHandle sink = open(2);
  for (int i = 0; i < 20; ++i) {
    const LinkHandle& from = i % 3 == 0 ? a : b;
    ASSERT_EQ(send(from, gpu(2), std::to_string(i)), CNUASLINK_OK);
    while (state(sink).held_messages < static_cast<std::uint64_t>(i + 1))
      ASSERT_EQ(cnuaslink_progress(sink.get()), CNUASLINK_OK);
  }
  for (int i = 0; i < 20; ++i)
    EXPECT_EQ(receive(sink).text, std::to_string(i));
}

TEST_F(Messages, AreBorrowedWithoutACopy) {
  const LinkHandle a = open(0);
  const LinkHandle b = open(1);
  const std::string texts[] = {"small", std::string(60'000, 'L'), ""};
  const void* data[3] = {};
  for (int i = 0; i < 3; ++i) {
    ASSERT_EQ(send(a, gpu(1), texts[i]), CNUASLINK_OK);
    cnuaslink_message message;
    ASSERT_EQ(cnuaslink_borrow(b.get(), gpu(0), &data[i], &message, kLong), CNUASLINK_OK);
    ASSERT_EQ(message.bytes, texts[i].size());
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(data[i]) % 64, 0u);
  }
  for (int i = 0; i < 3; ++i)
    EXPECT_EQ(std::string_view(static_cast<const char*>(data[i]), texts[i].size()), texts[i]);
  EXPECT_EQ(state(b).held_messages, 0u);
  EXPECT_GT(state(b).held_bytes, 60'000u);
  for (const int i : {1, 0, 2})
    cnuaslink_give_back(b.get(), data[i]);
  EXPECT_EQ(state(b).held_bytes, 0u);
  cnuaslink_give_back(b.get(), data[0]);  // again, and something else: nothing happens
  cnuaslink_give_back(b.get(), this);
  const void* none = this;
  EXPECT_EQ(cnuaslink_borrow(b.get(), CNUASLINK_ANY, &none, nullptr, 0), CNUASLINK_AGAIN);
  EXPECT_EQ(none, nullptr);
}

TEST_F(Messages, WhatIsBorrowedMayBeLeftToClose) {
  const LinkHandle a = open(0);
  const LinkHandle b = open(1);
  ASSERT_EQ(send(a, gpu(1), "never given back"), CNUASLINK_OK);
  const void* data = nullptr;
  ASSERT_EQ(cnuaslink_borrow(b.get(), CNUASLINK_ANY, &data, nullptr, kLong), CNUASLINK_OK);
}

// --- Deadlines -------------------------------------------------------------------------------------------

TEST_F(Messages, DeadlinesOfReceivers) {
  const LinkHandle b = open(1);
  EXPECT_EQ(receive(b, CNUASLINK_ANY, 0).result, CNUASLINK_AGAIN);
  const auto began = std::chrono::steady_clock::now();
  EXPECT_EQ(receive(b, gpu(0), kShort).result, CNUASLINK_TIMEOUT);
  EXPECT_GE(std::chrono::steady_clock::now() - began, std::chrono::nanoseconds(kShort));
  // A message of another source does not end the wait, and is not lost.
  const LinkHandle a = open(0);
  ASSERT_EQ(send(a, gpu(1), "kept"), CNUASLINK_OK);
  EXPECT_EQ(receive(b, gpu(2), kShort).result, CNUASLINK_TIMEOUT);
  EXPECT_EQ(receive(b, CNUASLINK_ANY, 0).text, "kept");
}

TEST_F(Messages, DeadlinesOfSenders) {
  const LinkHandle a = open(0);
  relay_->stand_still(true);
  const std::string large(60'000, 'x');
  cnuaslink_result result = CNUASLINK_OK;
  int sent = 0;
  while ((result = send(a, gpu(1), large, 0)) == CNUASLINK_OK)
    ++sent;
  EXPECT_EQ(result, CNUASLINK_AGAIN);
  EXPECT_GE(sent, 2);
  EXPECT_EQ(send(a, gpu(1), large, kShort), CNUASLINK_TIMEOUT);
  EXPECT_EQ(counters(a).messages_sent, static_cast<std::uint64_t>(sent));
  EXPECT_GE(counters(a).send_waits, 1u);
  std::thread moves([&] { relay_->stand_still(false); });
  EXPECT_EQ(send(a, gpu(1), large, -1), CNUASLINK_OK);
  moves.join();
}

TEST_F(Messages, WhoWaitsToSendReceives) {
  // Both send far more than sockets and queues hold before either takes anything.
  const LinkHandle a = open(0);
  const LinkHandle b = open(1);
  constexpr int kCount = 100;
  const std::string large(60'000, 'x');
  const auto exchange = [&](const LinkHandle& self, unsigned peer) {
    for (int i = 0; i < kCount; ++i)
      ASSERT_EQ(send(self, gpu(peer), large), CNUASLINK_OK);
    for (int i = 0; i < kCount; ++i)
      ASSERT_EQ(receive(self).text.size(), large.size());
  };
  std::thread other([&] { exchange(b, 0); });
  exchange(a, 1);
  other.join();
  EXPECT_EQ(counters(a).messages_dropped + counters(b).messages_dropped, 0u);
}

// --- Limits ----------------------------------------------------------------------------------------------

using Limits = Messages;

TEST_F(Limits, AtTheLimitReadingStopsAndNothingIsLost) {
  cnuaslink_options given = options(1);
  given.receive_bytes = 256 * 1024;
  const LinkHandle a = open(0);
  const LinkHandle b = open(given);
  const std::string text(32'000, 'x');
  std::thread sender([&] {
    for (int i = 0; i < 300; ++i)
      ASSERT_EQ(send(a, gpu(1), std::to_string(i) + text), CNUASLINK_OK);
  });
  while (!state(b).receive_stopped)
    cnuaslink_progress(b.get());
  // No matter how often: it does not read on.
  const std::uint64_t received = counters(b).messages_received;
  for (int i = 0; i < 100; ++i)
    cnuaslink_progress(b.get());
  EXPECT_EQ(counters(b).messages_received, received);
  EXPECT_LE(state(b).held_bytes, 256u * 1024 + 16 * 70'000);
  for (int i = 0; i < 300; ++i)
    ASSERT_EQ(receive(b).text, std::to_string(i) + text);
  sender.join();
  EXPECT_FALSE(state(b).receive_stopped);
  EXPECT_GE(counters(b).receive_stops, 1u);
  EXPECT_EQ(counters(b).messages_dropped, 0u);
}

TEST_F(Limits, OneMessageAtATimeWhenToldTo) {
  cnuaslink_options given = options(1);
  given.receive_batch = 1;
  given.receive_bytes = 1;
  const LinkHandle a = open(0);
  const LinkHandle b = open(given);
  for (int i = 0; i < 100; ++i)
    ASSERT_EQ(send(a, gpu(1), std::to_string(i)), CNUASLINK_OK);
  for (std::uint64_t i = 0; i < 100; ++i) {
    while (state(b).held_messages == 0)
      cnuaslink_progress(b.get());
    cnuaslink_progress(b.get());
    ASSERT_EQ(counters(b).messages_received, i + 1);
    ASSERT_EQ(receive(b, CNUASLINK_ANY, 0).text, std::to_string(i));
  }
}

TEST_F(Limits, OneSourceMayNotTakeAllTheRoom) {
  cnuaslink_options given = options(2);
  given.receive_bytes_per_source = 100'000;
  given.receive_policy = CNUASLINK_RECEIVE_DROPS;
  const LinkHandle a = open(0);
  const LinkHandle b = open(1);
  const LinkHandle sink = open(given);
  for (int i = 0; i < 50; ++i)
    ASSERT_EQ(send(a, gpu(2), std::to_string(i) + std::string(5000, 'a')), CNUASLINK_OK);
  for (std::uint64_t all = 0; all < 50; all = counters(sink).messages_received)
    cnuaslink_progress(sink.get());
  ASSERT_EQ(send(b, gpu(2), "of another source"), CNUASLINK_OK);
  EXPECT_EQ(receive(sink, gpu(1)).text, "of another source");
  // The oldest are kept, the rest is counted.
  const std::uint64_t held = state(sink).held_messages;
  EXPECT_GE(held, 15u);
  EXPECT_LE(held, 20u);
  EXPECT_EQ(counters(sink).messages_dropped, 50 - held);
  for (std::uint64_t i = 0; i < held; ++i)
    EXPECT_EQ(receive(sink, gpu(0), 0).text, std::to_string(i) + std::string(5000, 'a'));
}

TEST_F(Limits, ManySmallMessagesCountWithTheirOverhead) {
  cnuaslink_options given = options(1);
  given.receive_bytes = 10'000;
  const LinkHandle a = open(0);
  const LinkHandle b = open(given);
  for (int i = 0; i < 500; ++i)
    ASSERT_EQ(send(a, gpu(1), ""), CNUASLINK_OK);
  while (!state(b).receive_stopped)
    cnuaslink_progress(b.get());
  EXPECT_LE(state(b).held_messages, 10'000u / 128 + 16);
  for (int i = 0; i < 500; ++i)
    ASSERT_EQ(receive(b).result, CNUASLINK_OK);
}

TEST_F(Limits, AWaiterIsQuietWhileReadingIsStoppedAndTheSwitchIsGone) {
  cnuaslink_options given = options(1);
  given.receive_bytes = 1;
  const LinkHandle a = open(0);
  const LinkHandle b = open(given);
  ASSERT_EQ(send(a, gpu(1), "fills it"), CNUASLINK_OK);
  while (!state(b).receive_stopped)
    cnuaslink_progress(b.get());
  relay_.reset();
  timespec before{};
  timespec after{};
  ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &before);
  EXPECT_EQ(receive(b, gpu(2), 4 * kShort).result, CNUASLINK_TIMEOUT);
  ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &after);
  const auto used = (after.tv_sec - before.tv_sec) * kSecondNs + (after.tv_nsec - before.tv_nsec);
  EXPECT_LT(used, kShort);
  EXPECT_EQ(receive(b).text, "fills it");
  EXPECT_EQ(receive(b).result, CNUASLINK_NOT_CONNECTED);
}

// --- Doorbells -------------------------------------------------------------------------------------------

TEST_F(Messages, DoorbellsRing) {
  const LinkHandle a = open(0);
  const LinkHandle b = open(1);
  const LinkHandle c = open(2);
  ASSERT_EQ(cnuaslink_doorbell_send(a.get(), gpu(1), 0x0123456789ABCDEF, kLong), CNUASLINK_OK);
  ASSERT_EQ(cnuaslink_doorbell_send(a.get(), gpu(1), 2, kLong), CNUASLINK_OK);
  ASSERT_EQ(cnuaslink_doorbell_send(c.get(), CNUASLINK_ALL, 3, kLong), CNUASLINK_OK);
  cnuaslink_doorbell doorbell;
  ASSERT_EQ(cnuaslink_doorbell_recv(b.get(), gpu(2), &doorbell, kLong), CNUASLINK_OK);
  EXPECT_EQ(doorbell.value, 3u);
  ASSERT_EQ(cnuaslink_doorbell_recv(b.get(), CNUASLINK_ANY, &doorbell, kLong), CNUASLINK_OK);
  EXPECT_EQ(doorbell.source, gpu(0));
  EXPECT_EQ(doorbell.value, 0x0123456789ABCDEFu);
  ASSERT_EQ(cnuaslink_doorbell_recv(b.get(), CNUASLINK_ANY, &doorbell, kLong), CNUASLINK_OK);
  EXPECT_EQ(doorbell.value, 2u);
  EXPECT_EQ(cnuaslink_doorbell_recv(b.get(), CNUASLINK_ANY, &doorbell, 0), CNUASLINK_AGAIN);
  EXPECT_EQ(cnuaslink_doorbell_recv(b.get(), CNUASLINK_ANY, &doorbell, kShort), CNUASLINK_TIMEOUT);
}

TEST_F(Messages, DoorbellsBeyondTheLimitAreDroppedAndCounted) {
  cnuaslink_options given = options(1);
  given.max_doorbells = 10;
  const LinkHandle a = open(0);
  const LinkHandle b = open(given);
  for (std::uint64_t i = 0; i < 25; ++i)
    ASSERT_EQ(cnuaslink_doorbell_send(a.get(), gpu(1), i, kLong), CNUASLINK_OK);
  ASSERT_EQ(send(a, gpu(1), "after them"), CNUASLINK_OK);
  EXPECT_EQ(receive(b).text, "after them");
  EXPECT_EQ(counters(b).doorbells_received, 25u);
  EXPECT_EQ(counters(b).doorbells_dropped, 15u);
  EXPECT_EQ(state(b).held_doorbells, 10u);
  cnuaslink_doorbell doorbell;
  for (std::uint64_t i = 0; i < 10; ++i) {
    ASSERT_EQ(cnuaslink_doorbell_recv(b.get(), CNUASLINK_ANY, &doorbell, 0), CNUASLINK_OK);
    EXPECT_EQ(doorbell.value, i);
  }
}

// --- Event loops -----------------------------------------------------------------------------------------

TEST_F(Messages, TheDescriptorIsReadableWhileThereIsSomethingToTake) {
  const LinkHandle a = open(0);
  const LinkHandle b = open(1);
  EXPECT_FALSE(readable(b, 20));
  ASSERT_EQ(send(a, gpu(1), "1"), CNUASLINK_OK);
  ASSERT_EQ(send(a, gpu(1), "2"), CNUASLINK_OK);
  ASSERT_EQ(cnuaslink_doorbell_send(a.get(), gpu(1), 3, kLong), CNUASLINK_OK);
  ASSERT_TRUE(readable(b, 60'000));
  EXPECT_EQ(receive(b).text, "1");
  EXPECT_TRUE(readable(b, 60'000));
  EXPECT_EQ(receive(b).text, "2");
  cnuaslink_doorbell doorbell;
  EXPECT_TRUE(readable(b, 60'000));
  ASSERT_EQ(cnuaslink_doorbell_recv(b.get(), CNUASLINK_ANY, &doorbell, kLong), CNUASLINK_OK);
  EXPECT_FALSE(readable(b, 20));
  relay_->hang_up(1);
  EXPECT_TRUE(readable(b, 60'000));
  EXPECT_EQ(cnuaslink_progress(b.get()), CNUASLINK_NOT_CONNECTED);
}

TEST_F(Messages, AnEventLoopReceivesAll) {
  const LinkHandle a = open(0);
  const LinkHandle b = open(1);
  constexpr int kCount = 2000;
  std::thread sender([&] {
    for (int i = 0; i < kCount; ++i)
      ASSERT_EQ(send(a, gpu(1), std::to_string(i)), CNUASLINK_OK);
  });
  int next = 0;
  while (next < kCount && readable(b, 60'000)) {
    ASSERT_EQ(cnuaslink_progress(b.get()), CNUASLINK_OK);
    for (Received received; (received = receive(b, CNUASLINK_ANY, 0)).result == CNUASLINK_OK;)
      ASSERT_EQ(received.text, std::to_string(next++));
  }
  sender.join();
  EXPECT_EQ(next, kCount);
}

TEST_F(Messages, AThreadOfItsOwnMakesProgress) {
  cnuaslink_options given = options(1);
  given.flags = CNUASLINK_PROGRESS_THREAD;
  const LinkHandle a = open(0);
  const LinkHandle b = open(given);
  ASSERT_EQ(send(a, gpu(1), "read without a call"), CNUASLINK_OK);
  while (state(b).held_messages == 0)
    std::this_thread::yield();
  EXPECT_EQ(receive(b, CNUASLINK_ANY, 0).text, "read without a call");
  std::thread waiting([&] { EXPECT_EQ(receive(b).text, "for who waits"); });
  ASSERT_EQ(send(a, gpu(1), "for who waits"), CNUASLINK_OK);
  waiting.join();
}

// --- What is no message ----------------------------------------------------------------------------------

TEST_F(Messages, WhatIsNoFrameIsCountedAndTheRestGoesOn) {
  const LinkHandle a = open(0);
  const LinkHandle b = open(1);
  std::string valid("HL\x01\x01\x01\x01\x01\x02\x00\x00\x00\x01!", 13);
  const auto with = [&](std::size_t place, char value) {
    std::string changed = valid;
    changed[place] = value;
    return changed;
  };
  const std::string broken[] = {
      "H",
      "nonsense",
      with(0, 'X'),
      with(2, 2),
      with(3, 0),
      with(3, 9),
      with(11, 2),
      std::string("HL\x01\x02\x01\x01\x01\x02\x00\x00\x00\x01!", 13),  // a doorbell of one byte
      valid + std::string(65'536, 'x')};
  for (const std::string& each : broken)
    relay_->send_raw(1, each);
  relay_->send_raw(1, std::string());  // a packet of no bytes is not the end
  relay_->send_raw(1, with(7, 3));     // for another
  relay_->send_raw(1, with(5, 2));     // as if from itself
  relay_->send_raw(1, std::string("HL\x01\x07\x01\x01\xFF\xFF\x00\x00\x00\x00", 12));  // a keepalive
  relay_->send_raw(1, valid);
  const Received received = receive(b);
  EXPECT_EQ(received.text, "!");
  EXPECT_EQ(received.message.source, gpu(0));
  EXPECT_EQ(counters(b).invalid_frames, std::size(broken) + 1);
  EXPECT_EQ(counters(b).misdirected_frames, 2u);
  EXPECT_EQ(counters(b).link_frames_received, 1u);
  EXPECT_EQ(counters(b).messages_received, 1u);
  EXPECT_EQ(state(b).link, CNUASLINK_UP);
}

}  // namespace
}  // namespace cnuas::live::test
