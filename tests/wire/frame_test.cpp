#include "core/wire/frame.h"

#include "tests/wire/bytes.h"

#include <array>
#include <optional>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck.h>
#include <rapidcheck/gtest.h>

namespace cnuas::wire {
namespace {

const Bytes kBigData = hex("48 4C 01 01 01 03 02 04 00 00 00 03 AA BB CC");
const Bytes kLittleData = hex("4C 48 01 01 03 01 04 02 03 00 00 00 AA BB CC");

Bytes encoded(const FrameHeader& header) {
  std::array<std::byte, kHeaderBytes> bytes{};
  encode(header, bytes);
  return {bytes.begin(), bytes.end()};
}

Bytes message_of(FrameHeader header) {
  return encoded(header) + Bytes(header.payload_bytes, std::byte{0x5A});
}

void expect_refused(const Bytes& message, FrameError error) {
  const auto decoded = decode(message);
  ASSERT_FALSE(decoded) << name(error);
  EXPECT_EQ(name(decoded.error()), name(error));
}

TEST(Frame, BigEndianByteByByte) {
  const auto header = decode(kBigData);
  ASSERT_TRUE(header);
  EXPECT_EQ(*header, (FrameHeader{FrameType::data, ByteOrder::big, GpuId{0x0103}, GpuId{0x0204}, 3}));
  EXPECT_EQ(encoded(*header), Bytes(kBigData.begin(), kBigData.begin() + kHeaderBytes));
  EXPECT_EQ(byte_order(kBigData), ByteOrder::big);
}

TEST(Frame, LittleEndianByteByByte) {
  const auto header = decode(kLittleData);
  ASSERT_TRUE(header);
  EXPECT_EQ(*header, (FrameHeader{FrameType::data, ByteOrder::little, GpuId{0x0103}, GpuId{0x0204}, 3}));
  EXPECT_EQ(encoded(*header), Bytes(kLittleData.begin(), kLittleData.begin() + kHeaderBytes));
  EXPECT_EQ(byte_order(kLittleData), ByteOrder::little);
}

TEST(Frame, EveryTypeHasItsNumberAndName) {
  const std::string_view names[] = {
      "DATA", "DOORBELL", "ATOMIC", "COLLECTIVE_REDUCE", "COLLECTIVE_GATHER", "DISCOVERY", "LINK_KEEPALIVE"};
  for (std::uint8_t type = 1; type <= kFrameTypes; ++type) {
    Bytes message = kBigData;
    message[3] = std::byte{type};
    const auto header = decode(message);
    ASSERT_TRUE(header);
    EXPECT_EQ(static_cast<std::uint8_t>(header->type), type);
    EXPECT_EQ(name(header->type), names[type - 1]);
  }
  EXPECT_EQ(name(static_cast<FrameType>(8)), "?");
}

TEST(Frame, AnAnnouncementNeedsNoPayload) {
  const auto header = decode(hex("48 4C 01 06 01 03 FF FF 00 00 00 00"));
  ASSERT_TRUE(header);
  EXPECT_EQ(*header, (FrameHeader{FrameType::discovery, ByteOrder::big, GpuId{0x0103}, kBroadcast, 0}));
}

TEST(Frame, ChangesOrderInPlace) {
  Bytes frame = kBigData;
  set_byte_order(frame, ByteOrder::little);
  EXPECT_EQ(frame, kLittleData);
  set_byte_order(frame, ByteOrder::little);
  EXPECT_EQ(frame, kLittleData);
  set_byte_order(frame, ByteOrder::big);
  EXPECT_EQ(frame, kBigData);
}

TEST(FrameError, Empty) {
  expect_refused({}, FrameError::empty);
}

TEST(FrameError, ShortHeader) {
  for (std::size_t length = 1; length < kHeaderBytes; ++length)
    expect_refused(Bytes(kBigData.begin(), kBigData.begin() + static_cast<std::ptrdiff_t>(length)),
                   FrameError::short_header);
}

TEST(FrameError, Oversize) {
  FrameHeader header{FrameType::data, ByteOrder::big, GpuId{1}, GpuId{2}, kMaxPayloadBytes};
  EXPECT_TRUE(decode(message_of(header)));
  expect_refused(message_of(header) + hex("00"), FrameError::oversize);
}

TEST(FrameError, BadMagicIsEveryOtherPairOfBytes) {
  Bytes message = kBigData;
  for (unsigned pair = 0; pair < 65'536; ++pair) {
    message[0] = static_cast<std::byte>(pair >> 8);
    message[1] = static_cast<std::byte>(pair & 0xFF);
    const auto header = decode(message);
    ASSERT_EQ(header.has_value(), pair == 0x484C);
    if (header || pair == 0x4C48) continue;  // the latter reads the length in the other order
    ASSERT_EQ(header.error(), FrameError::bad_magic);
  }
}

TEST(FrameError, BadVersionIsEveryOtherByte) {
  Bytes message = kBigData;
  for (unsigned version = 0; version < 256; ++version) {
    message[2] = static_cast<std::byte>(version);
    if (version != kVersion) expect_refused(message, FrameError::bad_version);
  }
}

TEST(FrameError, UnknownTypeIsEveryOtherByte) {
  Bytes message = kBigData;
  for (unsigned type = 0; type < 256; ++type) {
    message[3] = static_cast<std::byte>(type);
    if (type == 0 || type > kFrameTypes) expect_refused(message, FrameError::unknown_type);
  }
}

TEST(FrameError, LengthMismatch) {
  expect_refused(hex("48 4C 01 01 01 03 02 04 00 00 00 02 AA BB CC"), FrameError::length_mismatch);
  expect_refused(hex("48 4C 01 01 01 03 02 04 00 00 00 04 AA BB CC"), FrameError::length_mismatch);
  expect_refused(hex("48 4C 01 01 01 03 02 04 FF FF FF FF AA BB CC"), FrameError::length_mismatch);
  expect_refused(hex("48 4C 01 01 01 03 02 04 03 00 00 00 AA BB CC"), FrameError::length_mismatch);
  expect_refused(hex("4C 48 01 01 03 01 04 02 00 00 00 03 AA BB CC"), FrameError::length_mismatch);
}

TEST(FrameError, BadSource) {
  expect_refused(hex("48 4C 01 01 00 00 02 04 00 00 00 00"), FrameError::bad_source);
  expect_refused(hex("48 4C 01 01 FF FF 02 04 00 00 00 00"), FrameError::bad_source);
}

TEST(FrameError, BadDestination) {
  expect_refused(hex("48 4C 01 01 01 03 00 00 00 00 00 00"), FrameError::bad_destination);
}

TEST(FrameError, TheFirstInTheListIsReported) {
  // Everything after the magic is wrong, then each mended in turn.
  expect_refused(hex("00 00 02 09 00 00 00 00 00 00 00 09"), FrameError::bad_magic);
  expect_refused(hex("48 4C 02 09 00 00 00 00 00 00 00 09"), FrameError::bad_version);
  expect_refused(hex("48 4C 01 09 00 00 00 00 00 00 00 09"), FrameError::unknown_type);
  expect_refused(hex("48 4C 01 01 00 00 00 00 00 00 00 09"), FrameError::length_mismatch);
  expect_refused(hex("48 4C 01 01 00 00 00 00 00 00 00 00"), FrameError::bad_source);
  expect_refused(hex("48 4C 01 01 01 03 00 00 00 00 00 00"), FrameError::bad_destination);
}

TEST(FrameError, EveryOneHasItsName) {
  const std::string_view names[] = {"empty",           "short_header", "oversize",
                                    "bad_magic",       "bad_version",  "unknown_type",
                                    "length_mismatch", "bad_source",   "bad_destination"};
  for (std::size_t i = 0; i < kFrameErrors; ++i)
    EXPECT_EQ(name(static_cast<FrameError>(i)), names[i]);
  EXPECT_EQ(name(static_cast<FrameError>(kFrameErrors)), "?");
}

// What frame.h says, once more and in another way.
std::optional<FrameError> judged(const Bytes& message) {
  const auto at = [&](std::size_t i) { return std::to_integer<unsigned>(message[i]); };
  if (message.empty()) return FrameError::empty;
  if (message.size() < 12) return FrameError::short_header;
  if (message.size() > 65'536) return FrameError::oversize;
  const std::string magic{static_cast<char>(at(0)), static_cast<char>(at(1))};
  if (magic != "HL" && magic != "LH") return FrameError::bad_magic;
  const auto number = [&](std::size_t from, std::size_t size) {
    std::uint64_t value = 0;
    for (std::size_t i = 0; i < size; ++i)
      value = value << 8 | at(magic == "HL" ? from + i : from + size - 1 - i);
    return value;
  };
  if (at(2) != 1) return FrameError::bad_version;
  if (at(3) < 1 || at(3) > 7) return FrameError::unknown_type;
  if (number(8, 4) + 12 != message.size()) return FrameError::length_mismatch;
  if (number(4, 2) == 0 || number(4, 2) == 0xFFFF) return FrameError::bad_source;
  if (number(6, 2) == 0) return FrameError::bad_destination;
  return std::nullopt;
}

void expect_judged(const Bytes& message) {
  const auto decoded = decode(message);
  const std::optional<FrameError> error = judged(message);
  ASSERT_EQ(decoded.has_value(), !error.has_value());
  if (error) {
    ASSERT_EQ(name(decoded.error()), name(*error));
  } else {
    ASSERT_EQ(encoded(*decoded), Bytes(message.begin(), message.begin() + kHeaderBytes));
  }
}

TEST(FrameExhaustive, EveryMessageOfUpToTwoBytes) {
  expect_judged({});
  for (unsigned first = 0; first < 256; ++first) {
    expect_judged({std::byte(first)});
    for (unsigned second = 0; second < 256; ++second)
      ASSERT_EQ(decode(Bytes{std::byte(first), std::byte(second)}).error(), FrameError::short_header);
  }
}

TEST(FrameExhaustive, EveryByteOfAHeaderInEveryPlace) {
  for (const Bytes& valid : {kBigData, kLittleData}) {
    for (std::size_t place = 0; place < kHeaderBytes; ++place) {
      for (unsigned value = 0; value < 256; ++value) {
        Bytes message = valid;
        message[place] = static_cast<std::byte>(value);
        expect_judged(message);
      }
    }
  }
}

TEST(FrameExhaustive, EverySourceAndEveryDestination) {
  for (const ByteOrder order : {ByteOrder::big, ByteOrder::little}) {
    for (unsigned id = 0; id < 65'536; ++id) {
      const GpuId gpu{static_cast<std::uint16_t>(id)};
      const auto from = decode(encoded({FrameType::data, order, gpu, GpuId{2}, 0}));
      ASSERT_EQ(from.has_value(), gpu.usable());
      const auto to = decode(encoded({FrameType::data, order, GpuId{2}, gpu, 0}));
      ASSERT_EQ(to.has_value(), gpu != kNoGpu);
    }
  }
}

RC_GTEST_PROP(FrameProperty, WhatWasEncodedIsDecoded, ()) {
  const FrameHeader header{static_cast<FrameType>(*rc::gen::inRange(1, 8)),
                           *rc::gen::element(ByteOrder::big, ByteOrder::little),
                           GpuId{*rc::gen::inRange<std::uint16_t>(1, 0xFFFF)},
                           GpuId{static_cast<std::uint16_t>(*rc::gen::inRange(1, 0x10000))},
                           *rc::gen::inRange<std::uint32_t>(0, kMaxPayloadBytes + 1)};
  const auto decoded = decode(message_of(header));
  RC_ASSERT(decoded.has_value());
  RC_ASSERT(*decoded == header);
}

RC_GTEST_PROP(FrameProperty, AnyBytesAreJudgedAsTheRulesSay, ()) {
  Bytes message;
  for (const auto byte : *rc::gen::arbitrary<std::vector<std::uint8_t>>())
    message.push_back(std::byte{byte});
  const bool plausible = *rc::gen::arbitrary<bool>();
  if (plausible) {  // random bytes alone hardly ever get past the magic
    const FrameHeader header{
        static_cast<FrameType>(*rc::gen::inRange(0, 9)), *rc::gen::element(ByteOrder::big, ByteOrder::little),
        GpuId{*rc::gen::arbitrary<std::uint16_t>()}, GpuId{*rc::gen::arbitrary<std::uint16_t>()},
        static_cast<std::uint32_t>(message.size() + (*rc::gen::inRange(0, 8) == 0 ? 1 : 0))};
    message = encoded(header) + message;
  }
  const auto decoded = decode(message);
  const std::optional<FrameError> error = judged(message);
  RC_ASSERT(decoded.has_value() == !error.has_value());
  if (error) RC_ASSERT(decoded.error() == *error);
}

RC_GTEST_PROP(FrameProperty, ChangingOrderKeepsTheMeaning, ()) {
  FrameHeader header{FrameType::data, *rc::gen::element(ByteOrder::big, ByteOrder::little),
                     GpuId{*rc::gen::inRange<std::uint16_t>(1, 0xFFFF)},
                     GpuId{*rc::gen::inRange<std::uint16_t>(1, 0xFFFF)},
                     *rc::gen::inRange<std::uint32_t>(0, 300)};
  Bytes message = message_of(header);
  header.order = *rc::gen::element(ByteOrder::big, ByteOrder::little);
  set_byte_order(message, header.order);
  RC_ASSERT(decode(message) == header);
  RC_ASSERT(message == message_of(header));
}

}  // namespace
}  // namespace cnuas::wire
