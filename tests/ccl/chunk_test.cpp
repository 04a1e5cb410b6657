#include "core/ccl/chunk.h"

#include "core/ccl/crc32c.h"
#include "core/engine/random.h"
#include "core/wire/byte_order.h"
#include "tests/wire/bytes.h"

#include <array>
#include <cstdint>
#include <string_view>

#include <gtest/gtest.h>

namespace cnuas::ccl {
namespace {

using wire::Bytes;
using wire::hex;
using wire::operator+;

Bytes text(std::string_view characters) {
  Bytes bytes;
  for (const char character : characters)
    bytes.push_back(static_cast<std::byte>(character));
  return bytes;
}

// RFC 3720, B.4, and the check value of the CRC catalogue.
TEST(Crc32cTest, KnownValues) {
  EXPECT_EQ(crc32c({}), 0u);
  EXPECT_EQ(crc32c(text("123456789")), 0xE3069283u);
  EXPECT_EQ(crc32c(Bytes(32, std::byte{0})), 0x8A9136AAu);
  EXPECT_EQ(crc32c(Bytes(32, std::byte{0xFF})), 0x62A8AB43u);
  EXPECT_EQ(crc32c_portable(text("123456789")), 0xE3069283u);
}

TEST(Crc32cTest, InstructionAndTablesAgreeOnEveryLengthAndSplit) {
  Random random(1);
  Bytes bytes(70'000);
  for (std::byte& each : bytes)
    each = static_cast<std::byte>(random.next() & 0xFF);
  const std::span<const std::byte> all(bytes);
  for (std::size_t i = 0; i < 500; ++i) {
    const std::size_t begin = random.below(64);
    const std::size_t length = i < 100 ? i : random.below(bytes.size() - begin);
    const std::span<const std::byte> part = all.subspan(begin, length);
    const std::uint32_t crc = crc32c_portable(part);
    EXPECT_EQ(crc32c(part), crc) << length;
    const std::size_t cut = random.below(length + 1);
    EXPECT_EQ(crc32c(part.subspan(cut), crc32c(part.first(cut))), crc);
  }
}

Bytes encoded(const ChunkHeader& header, const Bytes& rest) {
  std::array<std::byte, kChunkHeaderBytes> bytes{};
  bytes.fill(std::byte{0xEE});
  encode(header, std::span(rest).first(rest.size() / 2), std::span(rest).subspan(rest.size() / 2), bytes);
  return Bytes(bytes.begin(), bytes.end());
}

constexpr ChunkHeader kHeader{0x14131211, 0x24232221, 0x31, true};

TEST(ChunkHeaderTest, IsLaidOutByteByByte) {
  const Bytes rest = text("data");
  Bytes after_crc = hex("11 12 13 14 21 22 23 24 31 00 00 00");
  Bytes crc(4);
  wire::store(crc.data(), crc32c(after_crc + rest));
  EXPECT_EQ(encoded(kHeader, rest), crc + after_crc);

  ChunkHeader bare = kHeader;
  bare.checksum = false;
  EXPECT_EQ(encoded(bare, rest), hex("00 00 00 00 11 12 13 14 21 22 23 24 31 01 00 00"));
}

TEST(ChunkHeaderTest, AnyFlippedBitShows) {
  const Bytes rest = text("some data");
  const Bytes chunk = encoded(kHeader, rest) + rest;
  const auto decoded = decode_chunk_header(chunk);
  ASSERT_TRUE(decoded);
  EXPECT_EQ(*decoded, kHeader);
  for (std::size_t bit = 0; bit < 8 * chunk.size(); ++bit) {
    Bytes flipped = chunk;
    flipped[bit / 8] ^= static_cast<std::byte>(1u << (bit % 8));
    const auto result = decode_chunk_header(flipped);
    ASSERT_FALSE(result) << "bit " << bit;
    EXPECT_EQ(result.error(), ChunkError::bad_checksum);
  }
  for (std::size_t length = 0; length < chunk.size(); ++length)
    EXPECT_FALSE(decode_chunk_header(std::span(chunk).first(length))) << length;
}

TEST(ChunkHeaderTest, RefusesWhatALaterVersionMaySend) {
  ChunkHeader bare = kHeader;
  bare.checksum = false;
  Bytes chunk = encoded(bare, {});
  ASSERT_TRUE(decode_chunk_header(chunk));
  chunk[13] = std::byte{0x03};
  EXPECT_EQ(decode_chunk_header(chunk).error(), ChunkError::unknown_flags);
  chunk[13] = std::byte{0x01};
  chunk[15] = std::byte{0x01};
  EXPECT_EQ(decode_chunk_header(chunk).error(), ChunkError::reserved_not_zero);
  chunk[15] = std::byte{0x00};
  chunk[0] = std::byte{0x01};
  EXPECT_EQ(decode_chunk_header(chunk).error(), ChunkError::bad_checksum);
}

TEST(SignatureTest, IsLaidOutByteByByte) {
  const Signature signature{0x01, 0x02, 0x03, 0x14131211, 0x2827262524232221, 0x34333231};
  std::array<std::byte, kSignatureBytes> bytes{};
  bytes.fill(std::byte{0xEE});
  encode(signature, bytes);
  const Bytes expected = hex("01 02 03 00 11 12 13 14 21 22 23 24 25 26 27 28 31 32 33 34 00 00 00 00");
  EXPECT_EQ(Bytes(bytes.begin(), bytes.end()), expected);
  const auto decoded = decode_signature(expected);
  ASSERT_TRUE(decoded);
  EXPECT_EQ(*decoded, signature);
  EXPECT_EQ(decode_signature(std::span(expected).first(23)).error(), ChunkError::too_short);
  for (const std::size_t reserved : {3, 20, 21, 22, 23}) {
    Bytes changed = expected;
    changed[reserved] = std::byte{1};
    EXPECT_EQ(decode_signature(changed).error(), ChunkError::reserved_not_zero) << reserved;
  }
}

// The values that the signature carries.
TEST(SignatureTest, EnumerationsHaveTheirNumbersOnTheWire) {
  EXPECT_EQ(static_cast<int>(Operator::sum), 0);
  EXPECT_EQ(static_cast<int>(Operator::max), 3);
  EXPECT_EQ(static_cast<int>(DataType::int8), 0);
  EXPECT_EQ(static_cast<int>(DataType::float64), 7);
  EXPECT_EQ(static_cast<int>(Algorithm::ring), 0);
  EXPECT_EQ(static_cast<int>(Algorithm::direct), 2);
  EXPECT_EQ(static_cast<int>(Algorithm::bruck), 10);
}

TEST(ChunkPlanTest, CoversTheDataWithoutCuttingAnElement) {
  for (const std::uint32_t limit : {64u, 72u, 1024u, kMaxChunkBytes}) {
    for (const std::uint64_t bytes : {0ul, 1ul, 8ul, 23ul, 24ul, 25ul, 61400ul, 61401ul, 1000000ul}) {
      const ChunkPlan plan(bytes, limit);
      std::uint64_t data = 0;
      std::uint64_t total = 0;
      for (std::uint64_t i = 0; i < plan.count(); ++i) {
        EXPECT_EQ(plan.offset(i), data);
        EXPECT_EQ(plan.offset(i) % 8, 0u);
        EXPECT_LE(plan.chunk_bytes(i), limit);
        const bool last = i + 1 == plan.count();
        EXPECT_TRUE(last || plan.chunk_bytes(i) == limit);
        EXPECT_TRUE(i == 0 || plan.data_bytes(i) > 0);
        data += plan.data_bytes(i);
        total += plan.chunk_bytes(i);
      }
      EXPECT_EQ(data, bytes);
      EXPECT_EQ(total, plan.total());
    }
  }
}

TEST(ChunkPlanTest, KnowsWhatTheEnvelopeCannotExpress) {
  EXPECT_TRUE(ChunkPlan(0xFFEE'0000, kMaxChunkBytes).fits());
  EXPECT_FALSE(ChunkPlan(0xFFFF'FFFF, kMaxChunkBytes).fits());
  EXPECT_FALSE(ChunkPlan(0xFFF0'0000, 64).fits());
  EXPECT_FALSE(ChunkPlan(~std::uint64_t{0}, kMaxChunkBytes).fits());
}

}  // namespace
}  // namespace cnuas::ccl
