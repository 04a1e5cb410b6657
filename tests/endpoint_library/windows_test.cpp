// Puts, gets and atomics in windows of other GPUs: what they do, what is refused and what is lost.

#include "live/posix/clock.h"
#include "tests/endpoint_library/window_fixture.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <cstring>
#include <numeric>
#include <random>
#include <thread>

namespace cnuas::live::test {
namespace {

// --- Puts ------------------------------------------------------------------------------------------------

TEST_F(WindowTest, WhatWasPutIsThereAfterAFlush) {
  serve();
  const std::string large = pattern(1'000'003);
  ASSERT_EQ(put(0, "small"), CNUASLINK_OK);
  ASSERT_EQ(put(1001, large), CNUASLINK_OK);
  ASSERT_EQ(put(bytes() - 3, "end"), CNUASLINK_OK);
  ASSERT_EQ(put(5, ""), CNUASLINK_OK);
  ASSERT_EQ(flush(), CNUASLINK_OK);
  stop_serving();
  EXPECT_EQ(std::memcmp(at(0), "small", 5), 0);
  EXPECT_EQ(std::memcmp(at(1001), large.data(), large.size()), 0);
  EXPECT_EQ(std::memcmp(at(bytes() - 3), "end", 3), 0);
  EXPECT_EQ(counters(a_).puts, 3u);
  EXPECT_EQ(counters(a_).put_bytes, 5u + large.size() + 3);
  EXPECT_EQ(counters(b_).served_put_bytes, counters(a_).put_bytes);
  EXPECT_EQ(counters(b_).served_put_frames, counters(a_).put_frames);
  EXPECT_EQ(state(b_).held_messages, 0u);
}

TEST_F(WindowTest, AdjacentPutsBecomeOneSegmentOfOneFrame) {
  serve();
  for (std::uint64_t i = 0; i < 1000; ++i)
    ASSERT_EQ(put(8 * i, {reinterpret_cast<const char*>(&i), 8}), CNUASLINK_OK);
  EXPECT_EQ(counters(a_).put_frames, 0u);  // nothing has left
  ASSERT_EQ(flush(), CNUASLINK_OK);
  stop_serving();
  for (std::uint64_t i = 0; i < 1000; ++i)
    ASSERT_EQ(memory_[i], i);
  EXPECT_EQ(counters(a_).puts, 1000u);
  EXPECT_EQ(counters(a_).put_segments, 1u);
  EXPECT_EQ(counters(a_).put_frames, 1u);
  EXPECT_EQ(counters(b_).served_put_frames, 1u);
  EXPECT_EQ(counters(b_).served_put_bytes, 8000u);
}

TEST_F(WindowTest, ScatteredPutsShareAFrame) {
  serve();
  for (std::uint64_t i = 0; i < 100; ++i)
    ASSERT_EQ(put(800 * (99 - i), {reinterpret_cast<const char*>(&i), 8}), CNUASLINK_OK);
  ASSERT_EQ(flush(), CNUASLINK_OK);
  stop_serving();
  for (std::uint64_t i = 0; i < 100; ++i)
    ASSERT_EQ(memory_[100 * (99 - i)], i);
  EXPECT_EQ(counters(a_).put_segments, 100u);
  EXPECT_EQ(counters(a_).put_frames, 1u);
}

TEST_F(WindowTest, TheLastPutToAPlaceWins) {
  serve();
  ASSERT_EQ(put(0, "first"), CNUASLINK_OK);
  ASSERT_EQ(put(0, "other"), CNUASLINK_OK);
  ASSERT_EQ(put(2, std::string(5000, 'L')), CNUASLINK_OK);  // not combined, and still behind them
  ASSERT_EQ(put(3, "x"), CNUASLINK_OK);
  ASSERT_EQ(flush(), CNUASLINK_OK);
  stop_serving();
  EXPECT_EQ(std::memcmp(at(0), "otLxL", 5), 0);
}

TEST_F(WindowTest, AFenceEndsAFrame) {
  for (int i = 0; i < 5; ++i) {
    ASSERT_EQ(put(static_cast<std::uint64_t>(i), "x"), CNUASLINK_OK);
    ASSERT_EQ(cnuaslink_fence(a_.get(), gpu(1), kLong), CNUASLINK_OK);
  }
  EXPECT_EQ(counters(a_).put_frames, 5u);
  ASSERT_EQ(put(6, "x"), CNUASLINK_OK);
  ASSERT_EQ(cnuaslink_fence(a_.get(), CNUASLINK_ALL, kLong), CNUASLINK_OK);
  EXPECT_EQ(counters(a_).put_frames, 6u);
  ASSERT_EQ(cnuaslink_fence(a_.get(), CNUASLINK_ALL, kLong), CNUASLINK_OK);
  EXPECT_EQ(counters(a_).put_frames, 6u);
}

TEST_F(WindowTest, AFullFrameIsSentAndTheNextBegun) {
  serve();
  const std::string data = pattern(1000);
  for (std::uint64_t i = 0; i < 200; ++i)
    ASSERT_EQ(put(1000 * i, data), CNUASLINK_OK);
  ASSERT_EQ(flush(), CNUASLINK_OK);
  stop_serving();
  for (std::uint64_t i = 0; i < 200; ++i)
    ASSERT_EQ(std::memcmp(at(1000 * i), data.data(), data.size()), 0) << i;
  EXPECT_EQ(counters(a_).put_frames, 4u);  // 65 fit a frame
  EXPECT_EQ(counters(a_).put_segments, 4u);
}

TEST_F(WindowTest, CombiningCanBeTurnedOff) {
  cnuaslink_options given = options(2);
  given.combine_bytes = 0;
  const LinkHandle c = open(given);
  serve();
  for (std::uint64_t i = 0; i < 10; ++i)
    ASSERT_EQ(cnuaslink_put(c.get(), gpu(1), 7, i, "x", 1, kLong), CNUASLINK_OK);
  ASSERT_EQ(cnuaslink_flush(c.get(), gpu(1), kLong), CNUASLINK_OK);
  EXPECT_EQ(counters(c).put_frames, 10u);
}

TEST_F(WindowTest, FramesForMorePeersThanCanWaitAreSent) {
  // Nobody else is there; the switch drops the frames, but sent they are.
  for (unsigned peer = 0; peer < 20; ++peer)
    ASSERT_EQ(cnuaslink_put(a_.get(), static_cast<std::uint16_t>(0x0150 + peer), 7, 0, "x", 1, kLong),
              CNUASLINK_OK);
  EXPECT_EQ(counters(a_).put_frames, 12u);
  ASSERT_EQ(cnuaslink_fence(a_.get(), CNUASLINK_ALL, kLong), CNUASLINK_OK);
  EXPECT_EQ(counters(a_).put_frames, 20u);
}

TEST_F(WindowTest, WhateverIsSentComesAfterThePutsBeforeIt) {
  for (std::uint64_t i = 1; i <= 50; ++i) {
    ASSERT_EQ(put(0, {reinterpret_cast<const char*>(&i), 8}), CNUASLINK_OK);
    cnuaslink_doorbell doorbell;
    switch (i % 3) {
      case 0:
        ASSERT_EQ(cnuaslink_doorbell_send(a_.get(), gpu(1), i, kLong), CNUASLINK_OK);
        ASSERT_EQ(cnuaslink_doorbell_recv(b_.get(), gpu(0), &doorbell, kLong), CNUASLINK_OK);
        break;
      case 1:
        ASSERT_EQ(send(a_, gpu(1), "look"), CNUASLINK_OK);
        ASSERT_EQ(receive(b_).text, "look");
        break;
      case 2: {
        const cnuaslink_outgoing messages[] = {{gpu(1), CNUASLINK_DATA, "1", 1},
                                               {gpu(1), CNUASLINK_DATA, "2", 1}};
        ASSERT_EQ(cnuaslink_send_many(a_.get(), messages, 2, nullptr, kLong), CNUASLINK_OK);
        ASSERT_EQ(receive(b_).text, "1");
        ASSERT_EQ(receive(b_).text, "2");
      }
    }
    ASSERT_EQ(memory_[0], i);
  }
}

TEST_F(WindowTest, SmallFramesAreEnough) {
  cnuaslink_options given = options(2);
  given.frame_bytes = 128;
  const LinkHandle c = open(given);
  serve();
  const std::string data = pattern(10'000);
  ASSERT_EQ(cnuaslink_put(c.get(), gpu(1), 7, 3, data.data(), data.size(), kLong), CNUASLINK_OK);
  for (std::uint64_t i = 0; i < 100; ++i)
    ASSERT_EQ(cnuaslink_put(c.get(), gpu(1), 7, 20'000 + i, "y", 1, kLong), CNUASLINK_OK);
  std::string back(10'000, '\0');
  ASSERT_EQ(cnuaslink_get(c.get(), gpu(1), 7, 3, back.data(), back.size(), kLong), CNUASLINK_OK);
  EXPECT_EQ(back, data);
  ASSERT_EQ(cnuaslink_flush(c.get(), gpu(1), kLong), CNUASLINK_OK);
  stop_serving();
  EXPECT_EQ(std::count(at(20'000), at(20'100), std::byte{'y'}), 100);
}

// --- Gets ------------------------------------------------------------------------------------------------

TEST_F(WindowTest, GetsReadWhatIsThere) {
  const std::string data = pattern(bytes());
  std::memcpy(memory_.data(), data.data(), data.size());
  serve();
  for (const std::size_t size :
       {std::size_t{1}, std::size_t{8}, std::size_t{65'500}, std::size_t{1'048'577}, bytes()}) {
    std::string back(size, '\0');
    const std::uint64_t offset = bytes() - size;
    ASSERT_EQ(get(offset, back), CNUASLINK_OK);
    EXPECT_EQ(back, data.substr(offset));
  }
  std::string none;
  EXPECT_EQ(get(0, none), CNUASLINK_OK);
  EXPECT_EQ(counters(a_).gets, 5u);
  EXPECT_EQ(counters(b_).served_get_bytes, counters(a_).get_bytes);
}

TEST_F(WindowTest, AGetSeesThePutsBeforeIt) {
  serve();
  for (int i = 0; i < 100; ++i) {
    const std::string text = std::to_string(1000 + i);
    ASSERT_EQ(put(16, text), CNUASLINK_OK);
    std::string back(4, '\0');
    ASSERT_EQ(get(16, back), CNUASLINK_OK);
    ASSERT_EQ(back, text);
  }
}

TEST_F(WindowTest, ManyGetsAtATime) {
  const std::string data = pattern(bytes());
  std::memcpy(memory_.data(), data.data(), data.size());
  serve();
  std::string back(bytes(), '\0');
  constexpr std::size_t kPiece = 1024;
  // Four times as many as may be open.
  for (std::size_t offset = 0; offset < back.size(); offset += kPiece)
    ASSERT_EQ(cnuaslink_get_nbi(a_.get(), gpu(1), 7, offset, back.data() + offset, kPiece, kLong),
              CNUASLINK_OK);
  ASSERT_EQ(flush(), CNUASLINK_OK);
  EXPECT_EQ(back, data);
}

TEST_F(WindowTest, BothMayAskEachOtherAtOnce) {
  std::vector<std::uint64_t> of_a(memory_.size());
  std::iota(of_a.begin(), of_a.end(), 1);
  std::iota(memory_.begin(), memory_.end(), 1'000'000);
  ASSERT_EQ(cnuaslink_window_register(a_.get(), 7, of_a.data(), bytes(), kAll), CNUASLINK_OK);
  const auto fetch = [&](const LinkHandle& self, unsigned peer, std::uint64_t first) {
    std::vector<std::uint64_t> back(memory_.size());
    for (int i = 0; i < 5; ++i)
      ASSERT_EQ(cnuaslink_get(self.get(), gpu(peer), 7, 0, back.data(), bytes(), kLong), CNUASLINK_OK);
    EXPECT_EQ(back.front(), first);
    EXPECT_EQ(back.back(), first + back.size() - 1);
    // The other may still need answers.
    ASSERT_EQ(send(self, gpu(peer), "done"), CNUASLINK_OK);
    ASSERT_EQ(receive(self).text, "done");
  };
  std::thread other([&] { fetch(b_, 0, 1); });
  fetch(a_, 1, 1'000'000);
  other.join();
}

// --- Atomics ---------------------------------------------------------------------------------------------

TEST_F(WindowTest, AtomicsDoWhatTheySay) {
  serve();
  std::uint64_t before = 0;
  const auto step = [&](unsigned op, std::uint64_t value, std::uint64_t compare, std::uint64_t expected) {
    ASSERT_EQ(atomic(80, op, value, &before, compare), CNUASLINK_OK);
    EXPECT_EQ(before, expected) << op;
  };
  step(CNUASLINK_ATOMIC_ADD, 5, 0, 0);
  step(CNUASLINK_ATOMIC_SWAP, 0xF0, 0, 5);
  step(CNUASLINK_ATOMIC_COMPARE_SWAP, 1, 2, 0xF0);
  step(CNUASLINK_ATOMIC_COMPARE_SWAP, 0xFF, 0xF0, 0xF0);
  step(CNUASLINK_ATOMIC_AND, 0x3C, 0, 0xFF);
  step(CNUASLINK_ATOMIC_OR, 0x01, 0, 0x3C);
  step(CNUASLINK_ATOMIC_XOR, 0xFF, 0, 0x3D);
  step(CNUASLINK_ATOMIC_MIN, 7, 0, 0xC2);
  step(CNUASLINK_ATOMIC_MAX, ~std::uint64_t{0}, 0, 7);
  step(CNUASLINK_ATOMIC_ADD, 2, 0, ~std::uint64_t{0});
  stop_serving();
  EXPECT_EQ(memory_[10], 1u);
  EXPECT_EQ(counters(a_).atomics, 10u);
  EXPECT_EQ(counters(b_).served_atomics, 10u);
  EXPECT_EQ(atomic(80, 8, 0, &before), CNUASLINK_INVALID_ARGUMENT);
}

TEST_F(WindowTest, AtomicsOfSeveralGpusAndOfThisProcessDoNotLoseEachOther) {
  const LinkHandle c = open(2);
  serve();
  constexpr std::uint64_t kEach = 2000;
  const auto add = [&](const LinkHandle& self) {
    for (std::uint64_t i = 0; i < kEach; ++i)
      ASSERT_EQ(cnuaslink_atomic(self.get(), gpu(1), 7, 0, CNUASLINK_ATOMIC_ADD, 1, 0, nullptr, kLong),
                CNUASLINK_OK);
    ASSERT_EQ(cnuaslink_flush(self.get(), gpu(1), kLong), CNUASLINK_OK);
  };
  std::thread of_a([&] { add(a_); });
  std::thread of_c([&] { add(c); });
  for (std::uint64_t i = 0; i < kEach; ++i)
    std::atomic_ref(memory_[0]).fetch_add(1);
  of_a.join();
  of_c.join();
  EXPECT_EQ(std::atomic_ref(memory_[0]).load(), 3 * kEach);
}

// --- What is refused -------------------------------------------------------------------------------------

TEST_F(WindowTest, RequestsThatNoWindowAllowsAreRefused) {
  std::array<char, 24> read_only{};
  std::array<char, 24> write_only{};
  alignas(8) std::array<char, 24> crooked{};
  ASSERT_EQ(cnuaslink_window_register(b_.get(), 1, read_only.data(), 24, CNUASLINK_ACCESS_GET), CNUASLINK_OK);
  ASSERT_EQ(cnuaslink_window_register(b_.get(), 2, write_only.data(), 24, CNUASLINK_ACCESS_PUT),
            CNUASLINK_OK);
  ASSERT_EQ(cnuaslink_window_register(b_.get(), 3, crooked.data() + 1, 17, kAll), CNUASLINK_OK);
  serve();
  std::uint64_t before = 0;
  std::string back(8, '\0');
  EXPECT_EQ(get(0, back, 99), CNUASLINK_NO_WINDOW);
  EXPECT_EQ(get(bytes() - 7, back), CNUASLINK_OUT_OF_BOUNDS);
  EXPECT_EQ(get(bytes(), back), CNUASLINK_OUT_OF_BOUNDS);
  EXPECT_EQ(get(~std::uint64_t{0} - 3, back), CNUASLINK_OUT_OF_BOUNDS);  // not even asked
  EXPECT_EQ(get(0, back, 2), CNUASLINK_NOT_PERMITTED);
  EXPECT_EQ(atomic(0, 0, 1, &before, 0, 99), CNUASLINK_NO_WINDOW);
  EXPECT_EQ(atomic(bytes() - 7, 0, 1, &before), CNUASLINK_OUT_OF_BOUNDS);
  EXPECT_EQ(atomic(0, 0, 1, &before, 0, 1), CNUASLINK_NOT_PERMITTED);
  EXPECT_EQ(atomic(4, 0, 1, &before), CNUASLINK_MISALIGNED);
  EXPECT_EQ(atomic(0, 0, 1, &before, 0, 3), CNUASLINK_MISALIGNED);
  EXPECT_EQ(atomic(7, 0, 1, &before, 0, 3), CNUASLINK_OK);
  EXPECT_EQ(counters(b_).refused_requests, 9u);
  EXPECT_EQ(counters(b_).served_atomics, 1u);
}

TEST_F(WindowTest, AFlushTellsWhichPutsWereRefusedAndTheNextIsWellAgain) {
  std::array<char, 8> read_only{};
  ASSERT_EQ(cnuaslink_window_register(b_.get(), 1, read_only.data(), 8, CNUASLINK_ACCESS_GET), CNUASLINK_OK);
  serve();
  const auto refused = [&](std::uint64_t offset, std::uint16_t window, cnuaslink_result expected) {
    ASSERT_EQ(put(0, "good"), CNUASLINK_OK);
    ASSERT_EQ(put(offset, "12345678", window), CNUASLINK_OK);
    EXPECT_EQ(flush(), expected);
    EXPECT_EQ(flush(), CNUASLINK_OK);
  };
  refused(0, 99, CNUASLINK_NO_WINDOW);
  refused(bytes() - 7, 7, CNUASLINK_OUT_OF_BOUNDS);
  refused(0, 1, CNUASLINK_NOT_PERMITTED);
  EXPECT_EQ(put((std::uint64_t{1} << 48) - 7, "12345678"), CNUASLINK_OUT_OF_BOUNDS);  // no window is so large
  EXPECT_EQ(counters(b_).refused_requests, 3u);
  // Posted operations, too.
  EXPECT_EQ(atomic(4, 0, 1, nullptr), CNUASLINK_OK);
  EXPECT_EQ(flush(), CNUASLINK_MISALIGNED);
  EXPECT_EQ(flush(), CNUASLINK_OK);
}

TEST_F(WindowTest, OneBadSegmentSpoilsItsFrameAndNothingElse) {
  serve();
  ASSERT_EQ(put(0, "aaaa"), CNUASLINK_OK);
  ASSERT_EQ(cnuaslink_fence(a_.get(), gpu(1), kLong), CNUASLINK_OK);
  ASSERT_EQ(put(0, "bbbb"), CNUASLINK_OK);
  ASSERT_EQ(put(bytes(), "x"), CNUASLINK_OK);
  EXPECT_EQ(flush(), CNUASLINK_OUT_OF_BOUNDS);
  stop_serving();
  EXPECT_EQ(std::memcmp(at(0), "aaaa", 4), 0);
}

TEST_F(WindowTest, WindowsCloseAndOpenAnew) {
  ASSERT_EQ(cnuaslink_window_unregister(b_.get(), 7), CNUASLINK_OK);
  EXPECT_EQ(cnuaslink_window_unregister(b_.get(), 7), CNUASLINK_INVALID_ARGUMENT);
  EXPECT_EQ(cnuaslink_window_register(b_.get(), 7, nullptr, 8, kAll), CNUASLINK_INVALID_ARGUMENT);
  EXPECT_EQ(cnuaslink_window_register(b_.get(), 7, at(0), 0, kAll), CNUASLINK_INVALID_ARGUMENT);
  EXPECT_EQ(cnuaslink_window_register(b_.get(), 7, at(0), 8, 0), CNUASLINK_INVALID_ARGUMENT);
  EXPECT_EQ(cnuaslink_window_register(b_.get(), 7, at(0), 8, 8), CNUASLINK_INVALID_ARGUMENT);
  serve();
  std::string back(8, '\0');
  EXPECT_EQ(get(0, back), CNUASLINK_NO_WINDOW);
  ASSERT_EQ(cnuaslink_window_register(b_.get(), 7, at(0), 8, kAll), CNUASLINK_OK);
  EXPECT_EQ(cnuaslink_window_register(b_.get(), 7, at(8), 8, kAll), CNUASLINK_INVALID_ARGUMENT);
  EXPECT_EQ(get(0, back), CNUASLINK_OK);
  EXPECT_EQ(get(1, back), CNUASLINK_OUT_OF_BOUNDS);
}

TEST_F(WindowTest, ArgumentsAreChecked) {
  char byte = 0;
  for (const std::uint16_t peer : {gpu(0), std::uint16_t{0}, std::uint16_t{0xFFFF}}) {
    EXPECT_EQ(cnuaslink_put(a_.get(), peer, 7, 0, &byte, 1, 0), CNUASLINK_INVALID_ARGUMENT);
    EXPECT_EQ(cnuaslink_get(a_.get(), peer, 7, 0, &byte, 1, 0), CNUASLINK_INVALID_ARGUMENT);
    EXPECT_EQ(cnuaslink_get_nbi(a_.get(), peer, 7, 0, &byte, 1, 0), CNUASLINK_INVALID_ARGUMENT);
    EXPECT_EQ(cnuaslink_atomic(a_.get(), peer, 7, 0, 0, 0, 0, nullptr, 0), CNUASLINK_INVALID_ARGUMENT);
  }
  EXPECT_EQ(cnuaslink_put(a_.get(), gpu(1), 7, 0, nullptr, 1, 0), CNUASLINK_INVALID_ARGUMENT);
  EXPECT_EQ(cnuaslink_get(a_.get(), gpu(1), 7, 0, nullptr, 1, 0), CNUASLINK_INVALID_ARGUMENT);
  EXPECT_EQ(cnuaslink_fence(a_.get(), 0, 0), CNUASLINK_INVALID_ARGUMENT);
  EXPECT_EQ(cnuaslink_flush(a_.get(), gpu(0), 0), CNUASLINK_INVALID_ARGUMENT);
  EXPECT_EQ(cnuaslink_put(nullptr, gpu(1), 7, 0, &byte, 1, 0), CNUASLINK_INVALID_ARGUMENT);
  EXPECT_EQ(cnuaslink_window_register(nullptr, 7, &byte, 1, kAll), CNUASLINK_INVALID_ARGUMENT);
  EXPECT_EQ(cnuaslink_window_unregister(nullptr, 7), CNUASLINK_INVALID_ARGUMENT);
}

// --- What is lost ----------------------------------------------------------------------------------------

TEST_F(WindowTest, AFlushTellsThatPutsWereLost) {
  serve();
  ASSERT_EQ(put(0, "arrives"), CNUASLINK_OK);
  ASSERT_EQ(flush(), CNUASLINK_OK);
  const auto set_b_up = [&](bool up) {
    relay_->with_switch([up](fabric_switch::Switch& self) {
      fabric_switch::Actions ignored;
      self.set_admin_state(1, up, live::monotonic_now(), ignored);
    });
  };
  set_b_up(false);
  ASSERT_EQ(put(8, "does not"), CNUASLINK_OK);
  ASSERT_EQ(cnuaslink_fence(a_.get(), gpu(1), kLong), CNUASLINK_OK);
  // Until the switch has read and dropped it.
  for (std::uint64_t dropped = 0; dropped == 0;)
    relay_->with_switch([&](fabric_switch::Switch& self) {
      dropped = self.counters(0).rx_dropped(fabric_switch::DropReason::no_route);
    });
  EXPECT_EQ(cnuaslink_flush(a_.get(), gpu(1), kShort), CNUASLINK_TIMEOUT);
  set_b_up(true);
  // The switch learns B anew.
  ASSERT_EQ(send(b_, gpu(0), "here I am"), CNUASLINK_OK);
  ASSERT_EQ(receive(a_).text, "here I am");
  EXPECT_EQ(flush(), CNUASLINK_LOST);
  ASSERT_EQ(put(16, "arrives again"), CNUASLINK_OK);
  EXPECT_EQ(flush(), CNUASLINK_OK);
}

TEST_F(WindowTest, APeerThatHasStartedAnewHasLostWhatWasPut) {
  serve();
  ASSERT_EQ(put(0, "one"), CNUASLINK_OK);
  ASSERT_EQ(flush(), CNUASLINK_OK);
  ASSERT_EQ(put(0, "two"), CNUASLINK_OK);
  ASSERT_EQ(cnuaslink_fence(a_.get(), gpu(1), kLong), CNUASLINK_OK);
  while (counters(b_).served_put_frames < 2)
    std::this_thread::yield();
  stop_serving();
  b_.reset();
  b_ = LinkHandle();
  while (!b_) {  // the switch may not have noticed yet
    const cnuaslink_options given = options(1);
    cnuaslink* link = nullptr;
    cnuaslink_open(&given, &link, nullptr);
    b_.reset(link);
  }
  ASSERT_EQ(cnuaslink_window_register(b_.get(), 7, memory_.data(), bytes(), kAll), CNUASLINK_OK);
  serve();
  EXPECT_EQ(flush(), CNUASLINK_LOST);
  ASSERT_EQ(put(0, "three"), CNUASLINK_OK);
  EXPECT_EQ(flush(), CNUASLINK_OK);
}

TEST_F(WindowTest, WithoutAnAnswerTheDeadlineHolds) {
  // B makes no progress.
  std::uint64_t before = 0;
  std::string back(8, '\0');
  EXPECT_EQ(cnuaslink_get(a_.get(), gpu(1), 7, 0, back.data(), 8, kShort), CNUASLINK_TIMEOUT);
  EXPECT_EQ(cnuaslink_get(a_.get(), gpu(1), 7, 0, back.data(), 8, 0), CNUASLINK_AGAIN);
  EXPECT_EQ(cnuaslink_atomic(a_.get(), gpu(1), 7, 0, 0, 1, 0, &before, kShort), CNUASLINK_TIMEOUT);
  ASSERT_EQ(put(0, "x"), CNUASLINK_OK);
  EXPECT_EQ(cnuaslink_flush(a_.get(), gpu(1), kShort), CNUASLINK_TIMEOUT);
  // The answers that come late are for nobody.
  serve();
  EXPECT_EQ(flush(), CNUASLINK_OK);
  EXPECT_EQ(counters(a_).stale_replies, 4u);
}

TEST_F(WindowTest, WhenTheSwitchGoesOperationsFail) {
  std::string back(8, '\0');
  std::thread getting(
      [&] { EXPECT_EQ(cnuaslink_get(a_.get(), gpu(1), 7, 0, back.data(), 8, -1), CNUASLINK_NOT_CONNECTED); });
  while (counters(a_).frames_sent < 2)
    std::this_thread::yield();
  relay_.reset();
  getting.join();
  EXPECT_EQ(put(0, "x"), CNUASLINK_NOT_CONNECTED);
  EXPECT_EQ(flush(), CNUASLINK_NOT_CONNECTED);
  std::uint64_t before = 0;
  EXPECT_EQ(atomic(0, 0, 1, &before), CNUASLINK_NOT_CONNECTED);
}

}  // namespace
}  // namespace cnuas::live::test
