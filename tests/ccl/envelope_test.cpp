#include "core/ccl/envelope.h"

#include "tests/wire/bytes.h"

#include <array>
#include <cstdint>
#include <set>

#include <gtest/gtest.h>
#include <rapidcheck.h>
#include <rapidcheck/gtest.h>

namespace cnuas::ccl {
namespace {

using wire::Bytes;
using wire::hex;

Bytes encoded(const Envelope& envelope) {
  std::array<std::byte, kEnvelopeBytes> bytes{};
  bytes.fill(std::byte{0xEE});
  encode(envelope, bytes);
  return {bytes.begin(), bytes.end()};
}

Envelope sample() {
  Envelope envelope;
  envelope.kind = 0x0201;
  envelope.communicator = 0x14131211;
  envelope.sequence = 0x24232221;
  envelope.source = 0x34333231;
  envelope.destination = 0x44434241;
  envelope.chunk_index = 0x54535251;
  envelope.chunk_count = 0x64636261;
  envelope.chunk_bytes = 0x74737271;
  envelope.total_bytes = 0x84838281;
  return envelope;
}

TEST(EnvelopeTest, IsLaidOutByteByByte) {
  const Bytes expected =
      hex("43 43 4C 45"  // "CCLE"
          "01 00"        // version
          "01 02"        // coll_kind
          "11 12 13 14"  // comm_id
          "21 22 23 24"  // seq
          "31 32 33 34"  // src_rank
          "41 42 43 44"  // dst_rank
          "51 52 53 54"  // chunk_index
          "61 62 63 64"  // chunk_count
          "71 72 73 74"  // chunk_bytes
          "81 82 83 84");
  EXPECT_EQ(encoded(sample()), expected);
  const auto decoded = decode_envelope(expected);
  ASSERT_TRUE(decoded);
  EXPECT_EQ(*decoded, sample());
}

TEST(EnvelopeTest, KindsHaveTheirNumbersOnTheWire) {
  EXPECT_EQ(static_cast<int>(EnvelopeKind::all_reduce), 1);
  EXPECT_EQ(static_cast<int>(EnvelopeKind::broadcast), 2);
  EXPECT_EQ(static_cast<int>(EnvelopeKind::all_gather), 3);
  EXPECT_EQ(static_cast<int>(EnvelopeKind::reduce_scatter), 4);
  EXPECT_EQ(static_cast<int>(EnvelopeKind::all_to_all), 5);
  EXPECT_EQ(static_cast<int>(EnvelopeKind::barrier), 6);
  EXPECT_EQ(static_cast<int>(EnvelopeKind::split), 7);
  EXPECT_EQ(static_cast<int>(EnvelopeKind::agreement), 8);
  EXPECT_EQ(static_cast<int>(EnvelopeKind::credit), 0x101);
  EXPECT_EQ(static_cast<int>(EnvelopeKind::abort), 0x102);
  EXPECT_EQ(name(EnvelopeKind::reduce_scatter), "reduce_scatter");
  EXPECT_EQ(name(static_cast<EnvelopeKind>(99)), "?");
}

RC_GTEST_PROP(EnvelopeTest, AnyNumbersSurvive, ()) {
  Envelope envelope;
  envelope.kind = *rc::gen::arbitrary<std::uint16_t>();
  for (std::uint32_t* field :
       {&envelope.communicator, &envelope.sequence, &envelope.source, &envelope.destination,
        &envelope.chunk_index, &envelope.chunk_count, &envelope.chunk_bytes, &envelope.total_bytes})
    *field = *rc::gen::arbitrary<std::uint32_t>();
  const auto decoded = decode_envelope(encoded(envelope));
  RC_ASSERT(decoded.has_value());
  RC_ASSERT(*decoded == envelope);
}

TEST(EnvelopeTest, AnyCutIsTooShort) {
  const Bytes whole = encoded(sample());
  for (std::size_t length = 0; length < whole.size(); ++length) {
    const auto decoded = decode_envelope(std::span(whole).first(length));
    ASSERT_FALSE(decoded) << length;
    EXPECT_EQ(decoded.error(), EnvelopeError::too_short);
  }
}

TEST(EnvelopeTest, EveryBitOfMagicAndVersionCounts) {
  for (std::size_t bit = 0; bit < 48; ++bit) {
    Bytes bytes = encoded(sample());
    bytes[bit / 8] ^= static_cast<std::byte>(1u << (bit % 8));
    const auto decoded = decode_envelope(bytes);
    ASSERT_FALSE(decoded) << "bit " << bit;
    EXPECT_EQ(decoded.error(), bit < 32 ? EnvelopeError::bad_magic : EnvelopeError::bad_version);
  }
}

TEST(EnvelopeErrorTest, EveryOneHasItsName) {
  std::set<std::string_view> names;
  for (std::size_t i = 0; i < kEnvelopeErrors; ++i)
    EXPECT_TRUE(names.insert(name(static_cast<EnvelopeError>(i))).second);
  EXPECT_EQ(names.count("?"), 0u);
  EXPECT_EQ(name(EnvelopeError::bad_version), "bad_version");
  EXPECT_EQ(name(static_cast<EnvelopeError>(kEnvelopeErrors)), "?");
}

}  // namespace
}  // namespace cnuas::ccl
