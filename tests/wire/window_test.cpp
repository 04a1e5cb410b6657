#include "core/wire/window.h"

#include "tests/wire/bytes.h"

#include <array>
#include <cstdint>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck.h>
#include <rapidcheck/gtest.h>

namespace cnuas::wire {
namespace {

template <std::size_t Size, class Value>
Bytes encoded_as(const Value& value) {
  std::array<std::byte, Size> bytes{};
  bytes.fill(std::byte{0xEE});
  encode(value, bytes);
  return {bytes.begin(), bytes.end()};
}
Bytes encoded(const WrappedMessage& value) {
  return encoded_as<kWindowHeadBytes>(value);
}
Bytes encoded(const Put& value) {
  return encoded_as<kWindowHeadBytes>(value);
}
Bytes encoded(const Get& value) {
  return encoded_as<kGetBytes>(value);
}
Bytes encoded(const GetReply& value) {
  return encoded_as<kGetReplyBytes>(value);
}
Bytes encoded(const Flush& value) {
  return encoded_as<kFlushBytes>(value);
}
Bytes encoded(const FlushReply& value) {
  return encoded_as<kFlushReplyBytes>(value);
}
Bytes segment(std::uint64_t offset, const Bytes& bytes) {
  std::array<std::byte, kPutSegmentBytes> head{};
  head.fill(std::byte{0xEE});
  encode_segment(offset, static_cast<std::uint32_t>(bytes.size()), head);
  return Bytes(head.begin(), head.end()) + bytes;
}

void expect_refused(const Bytes& payload, DescriptorError error) {
  const auto decoded = decode_window(payload);
  ASSERT_FALSE(decoded) << name(error);
  EXPECT_EQ(name(decoded.error()), name(error));
}

Bytes cut(const Bytes& bytes, std::size_t length) {
  return {bytes.begin(), bytes.begin() + static_cast<std::ptrdiff_t>(length)};
}

Bytes with(Bytes bytes, std::size_t place, unsigned value) {
  bytes[place] = static_cast<std::byte>(value);
  return bytes;
}

void expect_zero(const Bytes& payload, std::initializer_list<std::size_t> places) {
  ASSERT_TRUE(decode_window(payload));
  for (const std::size_t place : places)
    expect_refused(with(payload, place, 1), DescriptorError::reserved_not_zero);
}

const Bytes kMessage = hex("F5 43 4E 57 49 4E 0D 0A  01 01 00 00 00 00 00 00");
const Bytes kPut = hex("F5 43 4E 57 49 4E 0D 0A  01 02 02 01  06 05 04 03");
const Bytes kSegment = hex("08 07 06 05 04 03 02 01  03 00 00 00 00 00 00 00  AA BB CC");
const Bytes kGet = hex(
    "F5 43 4E 57 49 4E 0D 0A  01 03 02 01  06 05 04 03  08 07 06 05 04 03 02 01  00 00 10 00 00 00 00 00");
const Bytes kGetReply = hex("F5 43 4E 57 49 4E 0D 0A  01 04 00 00  06 05 04 03  00 00 00 00  0D 0C 0B 00");
const Bytes kFlush = hex("F5 43 4E 57 49 4E 0D 0A  01 05 00 00  06 05 04 03  0D 0C 0B 0A  00 00 00 00");
const Bytes kFlushReply =
    hex("F5 43 4E 57 49 4E 0D 0A  01 06 00 00  06 05 04 03  0D 0C 0B 0A  02 00 00 00 "
        "08 07 06 05 04 03 02 01  18 17 16 15 14 13 12 11");

// --- Head ------------------------------------------------------------------------------------------------

TEST(WindowHead, WithoutItsMagicAPayloadIsAMessage) {
  EXPECT_TRUE(has_window_magic(kMessage));
  EXPECT_TRUE(has_window_magic(cut(kMessage, 8)));
  EXPECT_FALSE(has_window_magic(cut(kMessage, 7)));
  EXPECT_FALSE(has_window_magic({}));
  for (std::size_t place = 0; place < 8; ++place) {
    const Bytes other = with(kMessage, place, std::to_integer<unsigned>(kMessage[place]) ^ 0x20);
    EXPECT_FALSE(has_window_magic(other));
    expect_refused(other, DescriptorError::bad_magic);
  }
  // The payloads of other users of DATA frames begin otherwise.
  EXPECT_FALSE(has_window_magic(hex("43 43 4C 45 00 00 00 00")));
}

TEST(WindowHead, IsOfThisVersionAndOfAKnownKind) {
  for (std::size_t length = 0; length < kWindowHeadBytes; ++length)
    expect_refused(cut(kMessage, length), DescriptorError::too_short);
  expect_refused(with(kMessage, 8, 0), DescriptorError::bad_version);
  expect_refused(with(kMessage, 8, 2), DescriptorError::bad_version);
  expect_refused(with(kMessage, 9, 0), DescriptorError::unknown_operation);
  for (unsigned kind = 7; kind < 256; ++kind)
    expect_refused(with(kMessage, 9, kind), DescriptorError::unknown_operation);
}

TEST(WindowStatuses, HaveTheirNames) {
  const std::string_view names[] = {"ok", "no_window", "out_of_bounds", "not_permitted", "misaligned"};
  for (std::size_t i = 0; i < kWindowStatuses; ++i)
    EXPECT_EQ(name(static_cast<WindowStatus>(i)), names[i]);
  EXPECT_EQ(name(static_cast<WindowStatus>(kWindowStatuses)), "?");
}

// --- Kinds -----------------------------------------------------------------------------------------------

TEST(WrappedMessages, ByteByByte) {
  EXPECT_EQ(encoded(WrappedMessage{}), kMessage);
  EXPECT_EQ(decode_window(kMessage).value(), WindowTraffic(WrappedMessage{}));
  EXPECT_EQ(decode_window(kMessage + kMessage).value(), WindowTraffic(WrappedMessage{}));
  expect_zero(kMessage, {10, 11, 12, 13, 14, 15});
}

TEST(Puts, ByteByByte) {
  EXPECT_EQ(encoded(Put{0x0102, 0x03040506}), kPut);
  EXPECT_EQ(segment(0x0102030405060708, hex("AA BB CC")), kSegment);
  const Bytes put = kPut + kSegment + segment(1, hex("DD"));
  EXPECT_EQ(decode_window(put).value(), WindowTraffic(Put{0x0102, 0x03040506}));
  std::span<const std::byte> segments = std::span(put).subspan(kWindowHeadBytes);
  const auto first = next_segment(segments);
  ASSERT_TRUE(first);
  EXPECT_EQ(first->offset, 0x0102030405060708u);
  EXPECT_THAT(first->bytes, ::testing::ElementsAreArray(hex("AA BB CC")));
  const auto second = next_segment(segments);
  ASSERT_TRUE(second);
  EXPECT_EQ(second->offset, 1u);
  EXPECT_THAT(second->bytes, ::testing::ElementsAreArray(hex("DD")));
  EXPECT_FALSE(next_segment(segments));
}

// The example of docs/wire.md.
TEST(Puts, OfTwoSegments) {
  const Bytes example =
      hex("F5 43 4E 57 49 4E 0D 0A  01 02 07 00  01 00 00 00 "
          "10 00 00 00 00 00 00 00  04 00 00 00  00 00 00 00  AA BB CC DD "
          "40 00 00 00 00 00 00 00  01 00 00 00  00 00 00 00  EE");
  EXPECT_EQ(encoded(Put{7, 1}) + segment(0x10, hex("AA BB CC DD")) + segment(0x40, hex("EE")), example);
  EXPECT_EQ(decode_window(example).value(), WindowTraffic(Put{7, 1}));
}

TEST(Puts, AreNothingButWholeSegments) {
  expect_refused(kPut, DescriptorError::too_short);
  const Bytes put = kPut + kSegment;
  for (std::size_t length = kWindowHeadBytes; length < put.size(); ++length)
    expect_refused(cut(put, length), DescriptorError::too_short);
  for (std::size_t more = 1; more < kPutSegmentBytes; ++more)
    expect_refused(put + Bytes(more), DescriptorError::too_short);
  expect_refused(put + segment(0, {}), DescriptorError::no_elements);
  expect_refused(with(put, 24, 4), DescriptorError::too_short);     // one byte more than there is
  expect_refused(with(put, 27, 0xFF), DescriptorError::too_short);  // and four billion more
  expect_zero(put, {28, 29, 30, 31});
}

TEST(Gets, ByteByByte) {
  const Get get{0x0102, 0x03040506, 0x0102030405060708, 0x100000};
  EXPECT_EQ(encoded(get), kGet);
  EXPECT_EQ(decode_window(kGet).value(), WindowTraffic(get));
  for (std::size_t length = kWindowHeadBytes; length < kGetBytes; ++length)
    expect_refused(cut(kGet, length), DescriptorError::too_short);
  expect_refused(kGet + Bytes(1), DescriptorError::too_long);
  expect_zero(kGet, {28, 29, 30, 31});
}

TEST(Gets, AskForSomethingButNotForTooMuch) {
  expect_refused(with(kGet, 26, 0), DescriptorError::no_elements);
  expect_refused(with(kGet, 24, 1), DescriptorError::count_mismatch);
  expect_refused(with(kGet, 27, 0x80), DescriptorError::count_mismatch);
  EXPECT_TRUE(decode_window(with(with(kGet, 26, 0), 24, 1)));
}

TEST(GetReplies, ByteByByte) {
  const GetReply reply{0x03040506, WindowStatus::ok, 0x000B0C0D};
  EXPECT_EQ(encoded(reply), kGetReply);
  EXPECT_EQ(decode_window(kGetReply + Bytes(5)).value(), WindowTraffic(reply));
  const Bytes refused = with(cut(kGetReply, 16) + Bytes(8), 16, 3);
  EXPECT_EQ(decode_window(refused).value(),
            WindowTraffic(GetReply{0x03040506, WindowStatus::not_permitted, 0}));
  for (std::size_t length = kWindowHeadBytes; length < kGetReplyBytes; ++length)
    expect_refused(cut(kGetReply, length), DescriptorError::too_short);
  expect_zero(kGetReply + Bytes(1), {10, 11, 17, 18, 19});
}

TEST(GetReplies, HaveBytesWhenAllIsWellAndElseNone) {
  expect_refused(kGetReply, DescriptorError::no_elements);
  expect_refused(with(kGetReply, 16, 1), DescriptorError::reserved_not_zero);  // nothing belongs anywhere
  const Bytes refused = with(cut(kGetReply, 16) + Bytes(8), 16, 1);
  expect_refused(refused + Bytes(1), DescriptorError::too_long);
  for (unsigned status = kWindowStatuses; status < 256; ++status)
    expect_refused(with(refused, 16, status), DescriptorError::unknown_data_type);
}

TEST(GetReplies, BelongWithinWhatMayBeAskedFor) {
  const Bytes last = with(with(with(kGetReply, 20, 0xFF), 21, 0xFF), 22, 0x0F);  // at 1,048,575
  EXPECT_TRUE(decode_window(last + Bytes(1)));
  expect_refused(last + Bytes(2), DescriptorError::count_mismatch);
  expect_refused(with(kGetReply, 23, 0xFF) + Bytes(1), DescriptorError::count_mismatch);
}

TEST(Flushes, ByteByByte) {
  const Flush flush{0x03040506, 0x0A0B0C0D};
  EXPECT_EQ(encoded(flush), kFlush);
  EXPECT_EQ(decode_window(kFlush).value(), WindowTraffic(flush));
  for (std::size_t length = kWindowHeadBytes; length < kFlushBytes; ++length)
    expect_refused(cut(kFlush, length), DescriptorError::too_short);
  expect_refused(kFlush + Bytes(1), DescriptorError::too_long);
  expect_zero(kFlush, {10, 11, 20, 21, 22, 23});
}

TEST(FlushReplies, ByteByByte) {
  const FlushReply reply{0x03040506, 0x0A0B0C0D, WindowStatus::out_of_bounds, 0x0102030405060708,
                         0x1112131415161718};
  EXPECT_EQ(encoded(reply), kFlushReply);
  EXPECT_EQ(decode_window(kFlushReply).value(), WindowTraffic(reply));
  for (std::size_t length = kWindowHeadBytes; length < kFlushReplyBytes; ++length)
    expect_refused(cut(kFlushReply, length), DescriptorError::too_short);
  expect_refused(kFlushReply + Bytes(1), DescriptorError::too_long);
  expect_zero(kFlushReply, {10, 11, 21, 22, 23});
  expect_refused(with(kFlushReply, 20, 5), DescriptorError::unknown_data_type);
}

// --- Addresses -------------------------------------------------------------------------------------------

TEST(WindowAddresses, AreTheNumberAndTheOffset) {
  const std::uint64_t address = window_address(0x0102, 0x030405060708);
  EXPECT_EQ(address, 0x0102030405060708u);
  EXPECT_EQ(window_of(address), 0x0102);
  EXPECT_EQ(offset_of(address), 0x030405060708u);
  EXPECT_EQ(window_of(window_address(0xFFFF, kMostWindowBytes - 1)), 0xFFFF);
  EXPECT_EQ(offset_of(window_address(0xFFFF, kMostWindowBytes - 1)), kMostWindowBytes - 1);
}

// --- All -------------------------------------------------------------------------------------------------

RC_GTEST_PROP(WindowProperty, SegmentsComeBackAsTheyWerePut, ()) {
  const auto count = *rc::gen::inRange(1, 20);
  std::vector<std::pair<std::uint64_t, Bytes>> puts;
  Bytes payload = encoded(Put{7, 8});
  for (int i = 0; i < count; ++i) {
    Bytes bytes(*rc::gen::inRange<std::size_t>(1, 50));
    for (std::byte& each : bytes)
      each = static_cast<std::byte>(*rc::gen::inRange(0, 256));
    puts.emplace_back(*rc::gen::arbitrary<std::uint64_t>(), bytes);
    payload = payload + segment(puts.back().first, bytes);
  }
  RC_ASSERT(decode_window(payload).has_value());
  std::span<const std::byte> segments = std::span(payload).subspan(kWindowHeadBytes);
  for (const auto& [offset, bytes] : puts) {
    const auto next = next_segment(segments);
    RC_ASSERT(next.has_value());
    RC_ASSERT(next->offset == offset);
    RC_ASSERT(Bytes(next->bytes.begin(), next->bytes.end()) == bytes);
  }
  RC_ASSERT(!next_segment(segments).has_value());
}

}  // namespace
}  // namespace cnuas::wire
