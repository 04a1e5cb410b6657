// Messages that look like window traffic, and peers that make things up.

#include "core/wire/atomic.h"
#include "core/wire/window.h"
#include "tests/endpoint_library/window_fixture.h"
#include "tests/slow_build.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstring>
#include <span>
#include <thread>
#include <variant>

namespace cnuas::live::test {
namespace {

// --- Messages and window traffic -------------------------------------------------------------------------

std::string put_like(std::string_view rest = {}) {
  // A put of four bytes at offset 0 of window 7.
  std::string text(wire::kWindowHeadBytes + wire::kPutSegmentBytes, '\0');
  const std::span<std::byte> bytes = std::as_writable_bytes(std::span(text));
  wire::encode(wire::Put{7, 1}, bytes.first<wire::kWindowHeadBytes>());
  wire::encode_segment(0, 4, bytes.subspan<wire::kWindowHeadBytes, wire::kPutSegmentBytes>());
  return text + "evil" + std::string(rest);
}

TEST_F(WindowTest, AMessageThatLooksLikeAPutIsAMessage) {
  const std::string texts[] = {put_like(), put_like("x"), put_like().substr(0, 8), put_like().substr(0, 16),
                               put_like() + std::string(20'000, 'z')};
  for (const std::string& text : texts) {
    ASSERT_EQ(send(a_, gpu(1), text), CNUASLINK_OK);
    EXPECT_EQ(receive(b_).text, text);
    const cnuaslink_outgoing messages[] = {{gpu(1), CNUASLINK_DATA, text.data(), text.size()},
                                           {gpu(1), CNUASLINK_COLLECTIVE_GATHER, text.data(), text.size()},
                                           {CNUASLINK_ALL, CNUASLINK_DATA, text.data(), text.size()}};
    ASSERT_EQ(cnuaslink_send_many(a_.get(), messages, 3, nullptr, kLong), CNUASLINK_OK);
    for (int i = 0; i < 3; ++i) {
      const Received received = receive(b_);
      EXPECT_EQ(received.text, text);
      EXPECT_EQ(received.message.type, messages[i].type);
    }
  }
  EXPECT_EQ(memory_[0], 0u);
  EXPECT_EQ(counters(b_).served_put_frames, 0u);
  EXPECT_EQ(counters(a_).message_bytes_sent, counters(b_).message_bytes_received);
  const void* data = nullptr;
  ASSERT_EQ(send(a_, gpu(1), texts[4]), CNUASLINK_OK);
  ASSERT_EQ(cnuaslink_borrow(b_.get(), gpu(0), &data, nullptr, kLong), CNUASLINK_OK);
  EXPECT_EQ(reinterpret_cast<std::uintptr_t>(data) % 64, 0u);
  // It needs sixteen bytes more than others.
  std::string largest = put_like(std::string(65'524 - 16 - put_like().size(), 'x'));
  EXPECT_EQ(send(a_, gpu(1), largest), CNUASLINK_OK);
  EXPECT_EQ(receive(b_).text, largest);
  EXPECT_EQ(send(a_, gpu(1), largest + "x"), CNUASLINK_TOO_LARGE);
}

TEST_F(WindowTest, ARawLinkSendsAndReceivesWhatItIsGiven) {
  cnuaslink_options given = options(2);
  given.flags = CNUASLINK_RAW;
  const LinkHandle raw = open(given);
  // What is not quite a put stays a message for everyone.
  for (const std::string& text : {put_like("x"), put_like().substr(0, 8), std::string("anything")}) {
    ASSERT_EQ(send(raw, gpu(1), text), CNUASLINK_OK);
    EXPECT_EQ(receive(b_).text, text);
  }
  // What is one is a put, whoever wrote it, and to a raw link a message.
  ASSERT_EQ(send(raw, gpu(1), put_like()), CNUASLINK_OK);
  while (counters(b_).served_put_frames == 0)
    cnuaslink_progress(b_.get());
  EXPECT_EQ(std::memcmp(at(0), "evil", 4), 0);
  ASSERT_EQ(cnuaslink_put(b_.get(), gpu(2), 7, 0, "1234", 4, kLong), CNUASLINK_OK);
  ASSERT_EQ(cnuaslink_fence(b_.get(), gpu(2), kLong), CNUASLINK_OK);
  EXPECT_EQ(receive(raw).text.size(), put_like().size());
  // Atomics are messages of their own type.
  ASSERT_EQ(cnuaslink_atomic(b_.get(), gpu(2), 7, 16, CNUASLINK_ATOMIC_ADD, 1, 0, nullptr, kLong),
            CNUASLINK_OK);
  EXPECT_EQ(receive(raw).message.type, CNUASLINK_ATOMIC);
  std::string add(wire::kAtomicBytes, '\0');
  wire::encode(wire::Atomic{wire::AtomicOp::add, wire::window_address(7, 80), 5},
               std::as_writable_bytes(std::span(add)));
  const cnuaslink_outgoing message{gpu(1), CNUASLINK_ATOMIC, add.data(), add.size()};
  ASSERT_EQ(cnuaslink_send_many(raw.get(), &message, 1, nullptr, kLong), CNUASLINK_OK);
  while (counters(b_).served_atomics == 0)
    cnuaslink_progress(b_.get());
  EXPECT_EQ(memory_[10], 5u);
  // And there are no windows.
  char byte = 0;
  EXPECT_EQ(cnuaslink_window_register(raw.get(), 1, &byte, 1, kAll), CNUASLINK_UNSUPPORTED);
  EXPECT_EQ(cnuaslink_put(raw.get(), gpu(1), 7, 0, &byte, 1, 0), CNUASLINK_UNSUPPORTED);
  EXPECT_EQ(cnuaslink_get(raw.get(), gpu(1), 7, 0, &byte, 1, 0), CNUASLINK_UNSUPPORTED);
  EXPECT_EQ(cnuaslink_atomic(raw.get(), gpu(1), 7, 0, 0, 0, 0, nullptr, 0), CNUASLINK_UNSUPPORTED);
}

// --- Peers that make things up ---------------------------------------------------------------------------

class HostilePeer : public WindowTest {
 protected:
  HostilePeer() {
    cnuaslink_options given = options(2);
    given.flags = CNUASLINK_RAW;
    hostile_ = open(given);
  }
  template <std::size_t Size, class Value>
  void tell(const Value& value, const std::string& rest = {}, std::uint8_t type = CNUASLINK_DATA) {
    std::string text(Size, '\0');
    wire::encode(value, std::span<std::byte, Size>(reinterpret_cast<std::byte*>(text.data()), Size));
    text += rest;
    const cnuaslink_outgoing message{gpu(1), type, text.data(), text.size()};
    ASSERT_EQ(cnuaslink_send_many(hostile_.get(), &message, 1, nullptr, kLong), CNUASLINK_OK);
  }
  // Everything sent so far has been dealt with.
  void settle() {
    ASSERT_EQ(send(hostile_, gpu(1), "end"), CNUASLINK_OK);
    ASSERT_EQ(receive(b_, gpu(2)).text, "end");
  }
  // The next request of B to the hostile peer.
  template <class Value>
  Value asked() {
    const Received received = receive(hostile_, gpu(1));
    const auto traffic = wire::decode_window(std::as_bytes(std::span(received.text)));
    EXPECT_TRUE(traffic && std::holds_alternative<Value>(*traffic));
    return traffic && std::holds_alternative<Value>(*traffic) ? std::get<Value>(*traffic) : Value{};
  }

  LinkHandle hostile_;
};

TEST_F(HostilePeer, AnswersThatNobodyAskedForAreCounted) {
  tell<wire::kGetReplyBytes>(wire::GetReply{5, wire::WindowStatus::ok, 0}, "bytes");
  tell<wire::kGetReplyBytes>(wire::GetReply{0, wire::WindowStatus::no_window, 0});
  tell<wire::kFlushReplyBytes>(wire::FlushReply{5, 1, wire::WindowStatus::ok, 1, 1});
  tell<wire::kAtomicReplyBytes>(wire::AtomicReply{wire::WindowStatus::ok, 5, 1}, {}, CNUASLINK_ATOMIC);
  settle();
  EXPECT_EQ(counters(b_).stale_replies, 4u);
}

TEST_F(HostilePeer, BoundsHoldAgainstEveryOffset) {
  const auto put_at = [&](std::uint64_t offset, std::uint32_t size) {
    std::string head(wire::kPutSegmentBytes, '\0');
    wire::encode_segment(offset, size,
                         std::span<std::byte, wire::kPutSegmentBytes>(
                             reinterpret_cast<std::byte*>(head.data()), wire::kPutSegmentBytes));
    tell<wire::kWindowHeadBytes>(wire::Put{7, 1}, head + std::string(size, '!'));
  };
  const std::uint64_t most = ~std::uint64_t{0};
  for (const std::uint64_t offset : {bytes(), bytes() - 3, most, most - 3, most - 4, std::uint64_t{1} << 63})
    put_at(offset, 4);
  for (const std::uint64_t offset : {bytes(), bytes() - 1'048'575, most, most - 1'048'576})
    tell<wire::kGetBytes>(wire::Get{7, 1, offset, 1'048'576});
  for (const std::uint64_t offset : {std::uint64_t{bytes()}, bytes() - 7, wire::kMostWindowBytes - 8}) {
    std::string add(wire::kAtomicBytes, '\0');
    wire::encode(wire::Atomic{wire::AtomicOp::add, wire::window_address(7, offset), 5, 0, 1},
                 std::as_writable_bytes(std::span(add)));
    const cnuaslink_outgoing message{gpu(1), CNUASLINK_ATOMIC, add.data(), add.size()};
    ASSERT_EQ(cnuaslink_send_many(hostile_.get(), &message, 1, nullptr, kLong), CNUASLINK_OK);
  }
  settle();
  while (counters(b_).refused_requests < 13)
    cnuaslink_progress(b_.get());
  EXPECT_EQ(counters(b_).served_put_frames, 0u);
  EXPECT_TRUE(std::all_of(memory_.begin(), memory_.end(), [](std::uint64_t each) { return each == 0; }));
}

TEST_F(HostilePeer, WrongAnswersToAGetAreNotBelieved) {
  std::string back(100, '\0');
  cnuaslink_result result = CNUASLINK_OK;
  const auto get_with = [&](auto&& answer) {
    back.assign(100, '\0');
    std::thread getting(
        [&] { result = cnuaslink_get(b_.get(), gpu(2), 1, 0, back.data(), back.size(), kLong); });
    answer(asked<wire::Get>());
    getting.join();
  };
  const auto reply = [&](std::uint32_t tag, std::uint32_t at, std::size_t size) {
    tell<wire::kGetReplyBytes>(wire::GetReply{tag, wire::WindowStatus::ok, at}, std::string(size, 'r'));
  };
  get_with([&](const wire::Get& get) { reply(get.tag, 0, 101); });  // more than was asked for
  EXPECT_EQ(result, CNUASLINK_LOST);
  EXPECT_EQ(back, std::string(100, '\0'));
  get_with([&](const wire::Get& get) { reply(get.tag, 50, 50); });  // the first half is missing
  EXPECT_EQ(result, CNUASLINK_LOST);
  get_with([&](const wire::Get& get) {
    reply(get.tag, 0, 60);
    reply(get.tag, 0, 40);  // again from the start
  });
  EXPECT_EQ(result, CNUASLINK_LOST);
  get_with([&](const wire::Get& get) {
    reply(get.tag, 0, 60);
    reply(get.tag, 60, 41);
  });
  EXPECT_EQ(result, CNUASLINK_LOST);
  get_with([&](const wire::Get& get) {
    reply(get.tag + 1, 0, 100);  // of no request
    // An answer of another kind with the same tag.
    tell<wire::kFlushReplyBytes>(wire::FlushReply{get.tag, 1, wire::WindowStatus::ok, 1, 1});
    reply(get.tag, 0, 60);
    reply(get.tag, 60, 40);
    reply(get.tag, 0, 100);  // once more, when it is done
  });
  EXPECT_EQ(result, CNUASLINK_OK);
  EXPECT_EQ(back, std::string(100, 'r'));
}

TEST_F(HostilePeer, AFlushThatWasAnsweredWithNonsenseHasLost) {
  for (const std::uint64_t applied : {std::uint64_t{0}, ~std::uint64_t{0}, std::uint64_t{2}}) {
    ASSERT_EQ(cnuaslink_put(b_.get(), gpu(2), 1, 0, "x", 1, kLong), CNUASLINK_OK);
    cnuaslink_result result = CNUASLINK_OK;
    std::thread flushing([&] { result = cnuaslink_flush(b_.get(), gpu(2), kLong); });
    asked<wire::Put>();
    const auto flush = asked<wire::Flush>();
    tell<wire::kFlushReplyBytes>(
        wire::FlushReply{flush.tag, flush.epoch, wire::WindowStatus::ok, applied, 0});
    flushing.join();
    EXPECT_EQ(result, CNUASLINK_LOST) << applied;
  }
}

TEST_F(HostilePeer, FloodsOfRequestsAreAnsweredWithinBounds) {
  // More than sockets, queues and the link hold answers.
  constexpr std::uint32_t kSmall = cnuas::test::kSlowBuild ? 20'000 : 40'000;
  constexpr std::uint32_t kLarge = 20;
  cnuaslink_options given = options(3);
  given.flags = CNUASLINK_RAW;
  given.receive_bytes = 1;  // it does not read while it sends
  hostile_ = open(given);
  std::atomic<bool> flooded = false;
  std::thread flood([&] {
    for (std::uint32_t i = 0; i < kSmall; ++i)
      tell<wire::kGetBytes>(wire::Get{99, i, 0, 1'048'576});  // refused: the answers are small
    for (std::uint32_t i = 0; i < kLarge; ++i)
      tell<wire::kGetBytes>(wire::Get{7, i, 0, 1'048'576});
    flooded = true;
  });
  serve();
  // Its answers are not read, so that B has to stop reading its requests.
  while (counters(b_).receive_stops == 0 && !flooded)
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  std::uint32_t refusals = 0;
  std::uint64_t bytes_read = 0;
  while (refusals < kSmall || bytes_read < kLarge * 1'048'576) {
    const Received received = receive(hostile_, gpu(1));
    ASSERT_EQ(received.result, CNUASLINK_OK);
    if (received.text.size() == wire::kGetReplyBytes) {
      ++refusals;
    } else {
      bytes_read += received.text.size() - wire::kGetReplyBytes;
    }
  }
  flood.join();
  EXPECT_GT(counters(b_).receive_stops, 0u);
  EXPECT_EQ(refusals, kSmall);
  EXPECT_EQ(bytes_read, kLarge * 1'048'576u);
  EXPECT_EQ(counters(b_).replies_dropped, 0u);
}

}  // namespace
}  // namespace cnuas::live::test
