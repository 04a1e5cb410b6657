// What a socket says, and what is made of it: empty messages, ends, resets, more than fits.
#include "live/switchd/receive_batch.h"

#include "live/posix/unique_fd.h"

#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/socket.h>

namespace cnuas::live {
namespace {

using testing::Each;
using testing::ElementsAre;
using End = ReceiveBatch::End;

class ReceiveBatchTest : public testing::Test {
 protected:
  ReceiveBatchTest() {
    int ends[2];
    EXPECT_EQ(::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_NONBLOCK, 0, ends), 0);
    near.reset(ends[0]);
    far.reset(ends[1]);
    int bytes = 1024 * 1024;
    ::setsockopt(far.get(), SOL_SOCKET, SO_SNDBUF, &bytes, sizeof(bytes));
  }
  void send(std::size_t bytes) {
    const std::string message(bytes, static_cast<char>(bytes));
    ASSERT_EQ(::send(far.get(), message.data(), bytes, 0), static_cast<ssize_t>(bytes));
  }
  // The lengths of everything up to the end that is given back.
  std::vector<std::uint64_t> read_until_not_more(End& how) {
    std::vector<std::uint64_t> lengths;
    do {
      const ReceiveBatch::Received received = batch.receive(near.get());
      for (const ReceiveBatch::Message& message : received.messages) {
        lengths.push_back(message.bytes);
        if (message.bytes > 0) {
          EXPECT_EQ(pool.data(message.buffer)[0], std::byte{static_cast<unsigned char>(message.bytes)});
        }
        pool.give_back(message.buffer);
      }
      how = received.end;
    } while (how == End::more);
    return lengths;
  }

  FramePool pool;
  ReceiveBatch batch{pool};
  UniqueFd near;
  UniqueFd far;
  End end = End::more;
};

TEST_F(ReceiveBatchTest, ReadsWhatIsThere) {
  for (const std::size_t bytes : {12, 1500, 60'000, 1})
    send(bytes);
  EXPECT_THAT(read_until_not_more(end), ElementsAre(12, 1500, 60'000, 1));
  EXPECT_EQ(end, End::drained);
  EXPECT_THAT(read_until_not_more(end), ElementsAre());
  EXPECT_EQ(end, End::drained);
}

TEST_F(ReceiveBatchTest, ReadsMoreThanABatchHolds) {
  for (int i = 0; i < 200; ++i)
    send(40);
  EXPECT_EQ(read_until_not_more(end).size(), 200u);
}

TEST_F(ReceiveBatchTest, AnEmptyMessageIsNotTheEnd) {
  send(0);
  send(20);
  send(0);
  EXPECT_THAT(read_until_not_more(end), ElementsAre(0, 20, 0));
  EXPECT_EQ(end, End::drained);
}

TEST_F(ReceiveBatchTest, EmptyMessagesThatFillABatchAreNotTheEnd) {
  for (std::size_t i = 0; i < ReceiveBatch::kMost; ++i)
    send(0);
  const std::vector<std::uint64_t> lengths = read_until_not_more(end);
  EXPECT_EQ(lengths.size(), ReceiveBatch::kMost);
  EXPECT_THAT(lengths, Each(0u));
  EXPECT_EQ(end, End::drained);
}

TEST_F(ReceiveBatchTest, WhatWasSentBeforeTheEndIsRead) {
  send(20);
  send(0);
  send(30);
  ::shutdown(far.get(), SHUT_WR);
  EXPECT_THAT(read_until_not_more(end), ElementsAre(20, 0, 30));
  EXPECT_EQ(end, End::closed);
}

TEST_F(ReceiveBatchTest, WhatWasSentBeforeAResetIsRead) {
  ASSERT_EQ(::send(near.get(), "unread", 6, 0), 6);
  send(20);
  far.reset();
  EXPECT_THAT(read_until_not_more(end), ElementsAre(20));
  EXPECT_EQ(end, End::closed);
}

TEST_F(ReceiveBatchTest, TellsTheLengthOfWhatDidNotFit) {
  send(100'000);
  send(20);
  EXPECT_THAT(read_until_not_more(end), ElementsAre(100'000, 20));
}

TEST_F(ReceiveBatchTest, DescriptorsAreNotReceived) {
  char control[CMSG_SPACE(sizeof(int))] = {};
  char byte = 'x';
  iovec vector{&byte, 1};
  msghdr message{};
  message.msg_iov = &vector;
  message.msg_iovlen = 1;
  message.msg_control = control;
  message.msg_controllen = sizeof(control);
  cmsghdr* header = CMSG_FIRSTHDR(&message);
  header->cmsg_level = SOL_SOCKET;
  header->cmsg_type = SCM_RIGHTS;
  header->cmsg_len = CMSG_LEN(sizeof(int));
  *reinterpret_cast<int*>(CMSG_DATA(header)) = near.get();
  UniqueFd before(::dup(0));
  ASSERT_EQ(::sendmsg(far.get(), &message, 0), 1);
  const ReceiveBatch::Received received = batch.receive(near.get());
  ASSERT_EQ(received.messages.size(), 1u);
  UniqueFd after(::dup(0));
  EXPECT_EQ(after.get(), before.get() + 1) << "no descriptor has come between";
}

// The one that is in the processor's cache.
TEST_F(ReceiveBatchTest, ReceivesIntoTheBufferThatWasGivenBackLast) {
  std::byte* last = nullptr;
  for (int round = 0; round < 100; ++round) {
    send(1000);
    const ReceiveBatch::Received received = batch.receive(near.get());
    ASSERT_EQ(received.messages.size(), 1u);
    std::byte* const now = pool.data(received.messages[0].buffer);
    EXPECT_TRUE(last == nullptr || now == last);
    last = now;
    pool.give_back(received.messages[0].buffer);
  }
}

TEST_F(ReceiveBatchTest, KeepsNoBuffersBeyondABatch) {
  for (int round = 0; round < 50; ++round) {
    for (int i = 0; i < 5; ++i)
      send(100);
    read_until_not_more(end);
  }
  EXPECT_LE(pool.buffers_in_use(), ReceiveBatch::kMost);
}

}  // namespace
}  // namespace cnuas::live
