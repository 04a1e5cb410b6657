#include "core/endpoint/endpoint.h"

#include <map>

#include <rapidcheck/gtest.h>

namespace cnuas {
namespace {

constexpr GpuId kSelf{0x0103};
constexpr GpuId kPeer{0x0204};

Endpoint endpoint(std::uint64_t frame_bytes = 1000, Picoseconds keepalive_ps = 0) {
  return Endpoint(EndpointConfig{kSelf, frame_bytes, keepalive_ps});
}

OutgoingMessage message(std::uint32_t tag, std::uint64_t bytes) {
  return {tag, kPeer, wire::FrameType::data, bytes, 40};
}

TEST(EndpointLink, AnnouncesItselfFirstAndAgainAfterEveryLinkUp) {
  Endpoint self = endpoint();
  self.send(message(1, 10));
  EXPECT_FALSE(self.has_frame());  // the link is down
  self.link_up(0);
  const Endpoint::OutFrame first = self.next(0);
  EXPECT_EQ(first.header.type, wire::FrameType::discovery);
  EXPECT_EQ(first.header.source, kSelf);
  EXPECT_EQ(first.header.destination, kBroadcast);
  self.link_down();
  EXPECT_FALSE(self.has_frame());
  self.link_up(5);
  EXPECT_EQ(self.next(5).header.type, wire::FrameType::discovery);
  EXPECT_EQ(self.next(6).tag, 1u);  // what had not been sent is still there
}

TEST(EndpointSending, CutsAMessageIntoFramesWithTheirEnvelopes) {
  Endpoint self = endpoint(1000);
  self.link_up(0);
  self.next(0);
  self.send(message(7, 2 * 948 + 5));
  for (const std::uint64_t chunk : {948u, 948u, 5u}) {
    const Endpoint::OutFrame frame = self.next(0);
    EXPECT_EQ(frame.chunk_bytes, chunk);
    EXPECT_EQ(frame.header.payload_bytes, chunk + 40);
    EXPECT_EQ(frame.header.destination, kPeer);
    EXPECT_EQ(frame.last, chunk == 5);
  }
  EXPECT_FALSE(self.has_frame());
}

TEST(EndpointSending, AnEmptyMessageIsOneFrame) {
  Endpoint self = endpoint();
  self.link_up(0);
  self.next(0);
  self.send(message(1, 0));
  EXPECT_TRUE(self.next(0).last);
  EXPECT_FALSE(self.has_frame());
}

TEST(EndpointSending, MessagesTakeTurns) {
  Endpoint self = endpoint(1000);
  self.link_up(0);
  self.next(0);
  self.send(message(1, 2000));
  self.send(message(2, 1500));
  std::vector<std::uint32_t> tags;
  while (self.has_frame())
    tags.push_back(self.next(0).tag);
  EXPECT_EQ(tags, (std::vector<std::uint32_t>{1, 2, 1, 2, 1}));
}

TEST(EndpointKeepalive, FramesSentByOtherMeansCount) {
  Endpoint self = endpoint(1000, 100);
  self.link_up(0);
  self.next(0);
  self.sent(60);
  EXPECT_EQ(self.next_deadline(), 160);
  self.on_deadline(160);
  EXPECT_TRUE(self.has_frame());
  self.sent(161);
  EXPECT_FALSE(self.has_frame());
  EXPECT_EQ(self.next_deadline(), 261);
}

TEST(EndpointKeepalive, ComesAfterSilenceAndNotBeforeOtherFrames) {
  Endpoint self = endpoint(1000, 100);
  self.link_up(0);
  self.next(10);
  EXPECT_EQ(self.next_deadline(), 110);
  self.on_deadline(109);
  EXPECT_FALSE(self.has_frame());
  self.on_deadline(110);
  EXPECT_EQ(self.next(111).header.type, wire::FrameType::keepalive);
  self.on_deadline(300);
  self.send(message(1, 10));
  EXPECT_EQ(self.next(301).header.type, wire::FrameType::data);
  EXPECT_FALSE(self.has_frame());  // the data told it
  EXPECT_EQ(self.next_deadline(), 401);
}

TEST(EndpointKeepalive, IsOffByDefaultAndWhileTheLinkIsDown) {
  Endpoint off = endpoint();
  off.link_up(0);
  off.next(0);
  EXPECT_EQ(off.next_deadline(), kNever);
  Endpoint down = endpoint(1000, 100);
  EXPECT_EQ(down.next_deadline(), kNever);
}

TEST(EndpointRoom, OneSlotIsTakenUntilItIsConsumed) {
  Endpoint self = endpoint();
  EXPECT_TRUE(self.has_room());
  self.limit_room(1);
  self.reserve_room();
  EXPECT_FALSE(self.has_room());
  self.release_room();
  self.release_room();  // of a frame that was on its way before the limit
  self.reserve_room();
  EXPECT_FALSE(self.has_room());
  self.unlimited_room();
  EXPECT_TRUE(self.has_room());
}

// Frames of several messages from several sources, in any mixture: each message is complete exactly once,
// with its last byte.
RC_GTEST_PROP(EndpointReceiving, MessagesAreCompleteWithTheirLastByte, ()) {
  Endpoint self = endpoint();
  struct Incoming {
    GpuId source;
    std::uint32_t tag;
    std::uint64_t left;
    std::uint64_t bytes;
  };
  std::vector<Incoming> incoming;
  const auto count = *rc::gen::inRange(1, 8);
  for (int i = 0; i < count; ++i) {
    const auto bytes = *rc::gen::inRange<std::uint64_t>(0, 50);
    incoming.push_back(
        {GpuId{static_cast<std::uint16_t>(1 + i % 3)}, static_cast<std::uint32_t>(i / 3), bytes, bytes});
  }
  while (!incoming.empty()) {
    const auto which = *rc::gen::inRange<std::size_t>(0, incoming.size());
    Incoming& from = incoming[which];
    const std::uint64_t chunk = from.left == 0 ? 0 : *rc::gen::inRange<std::uint64_t>(1, from.left + 1);
    from.left -= chunk;
    const bool complete = self.receive(from.source, from.tag, chunk, from.bytes);
    RC_ASSERT(complete == (from.left == 0));
    if (complete) incoming.erase(incoming.begin() + static_cast<std::ptrdiff_t>(which));
  }
  RC_ASSERT(self.incomplete_messages() == 0u);
}

}  // namespace
}  // namespace cnuas
