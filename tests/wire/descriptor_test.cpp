#include "core/wire/atomic.h"
#include "core/wire/doorbell.h"
#include "core/wire/gather.h"
#include "core/wire/reduce.h"
#include "tests/wire/bytes.h"

#include <array>
#include <cstdint>
#include <limits>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck.h>
#include <rapidcheck/gtest.h>

namespace cnuas::wire {
namespace {

Bytes encoded(const Doorbell& doorbell) {
  std::array<std::byte, kDoorbellBytes> bytes{};
  encode(doorbell, bytes);
  return {bytes.begin(), bytes.end()};
}
Bytes encoded(const Atomic& atomic) {
  Bytes bytes(kCompareSwapBytes, std::byte{0xEE});
  bytes.resize(encode(atomic, bytes));
  return bytes;
}
Bytes encoded(const AtomicReply& reply) {
  std::array<std::byte, kAtomicReplyBytes> bytes{};
  bytes.fill(std::byte{0xEE});
  encode(reply, bytes);
  return {bytes.begin(), bytes.end()};
}
Bytes encoded(const Reduce& reduce) {
  std::array<std::byte, kReduceBytes> bytes{};
  bytes.fill(std::byte{0xEE});
  encode(reduce, bytes);
  return {bytes.begin(), bytes.end()};
}
Bytes encoded(const Gather& gather) {
  std::array<std::byte, kGatherBytes> bytes{};
  bytes.fill(std::byte{0xEE});
  encode(gather, bytes);
  return {bytes.begin(), bytes.end()};
}

template <class Decoded>
void expect_refused(const Decoded& decoded, DescriptorError error) {
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

TEST(DescriptorError, EveryOneHasItsName) {
  const std::string_view names[] = {"too_short",         "too_long",          "unknown_operation",
                                    "unknown_data_type", "reserved_not_zero", "no_contribution",
                                    "rank_out_of_range", "no_elements",       "count_mismatch",
                                    "bad_magic",         "bad_version"};
  for (std::size_t i = 0; i < kDescriptorErrors; ++i)
    EXPECT_EQ(name(static_cast<DescriptorError>(i)), names[i]);
  EXPECT_EQ(name(static_cast<DescriptorError>(kDescriptorErrors)), "?");
}

// --- Doorbell ---------------------------------------------------------------------------------------------

TEST(Doorbell, ByteByByte) {
  const Bytes bytes = hex("EF CD AB 89 67 45 23 01");
  EXPECT_EQ(decode_doorbell(bytes).value(), (Doorbell{0x0123456789ABCDEF}));
  EXPECT_EQ(encoded(Doorbell{0x0123456789ABCDEF}), bytes);
}

TEST(Doorbell, HasEightBytes) {
  for (std::size_t length = 0; length < kDoorbellBytes; ++length)
    expect_refused(decode_doorbell(Bytes(length)), DescriptorError::too_short);
  expect_refused(decode_doorbell(Bytes(9)), DescriptorError::too_long);
  expect_refused(decode_doorbell(Bytes(kMaxPayloadBytes)), DescriptorError::too_long);
}

// --- Atomic -----------------------------------------------------------------------------------------------

const Bytes kAdd = hex("00 00 00 00 00 00 00 00  08 07 06 05 04 03 02 01  18 17 16 15 14 13 12 11");
const Bytes kCompareSwap =
    hex("02 00 00 00 00 00 00 00  08 07 06 05 04 03 02 01  18 17 16 15 14 13 12 11  28 27 26 25 24 23 22 21");

TEST(Atomic, ByteByByte) {
  const Atomic add{AtomicOp::add, 0x0102030405060708, 0x1112131415161718, 0};
  EXPECT_EQ(decode_atomic(kAdd).value(), add);
  EXPECT_EQ(encoded(add), kAdd);
}

TEST(Atomic, CompareSwapByteByByte) {
  const Atomic swap{AtomicOp::compare_swap, 0x0102030405060708, 0x1112131415161718, 0x2122232425262728};
  EXPECT_EQ(decode_atomic(kCompareSwap).value(), swap);
  EXPECT_EQ(encoded(swap), kCompareSwap);
}

TEST(Atomic, EveryOperationHasItsNumberAndName) {
  const std::string_view names[] = {"add", "swap", "compare_swap", "and", "or", "xor", "min", "max"};
  for (unsigned op = 0; op < 256; ++op) {
    const bool compares = op == 2;
    const auto decoded = decode_atomic(with(compares ? kCompareSwap : kAdd, 0, op));
    if (op >= kAtomicOps) {
      expect_refused(decoded, DescriptorError::unknown_operation);
      continue;
    }
    ASSERT_TRUE(decoded);
    EXPECT_EQ(static_cast<unsigned>(decoded->op), op);
    EXPECT_EQ(name(decoded->op), names[op]);
  }
  EXPECT_EQ(name(static_cast<AtomicOp>(8)), "?");
}

TEST(Atomic, DoesWhatItSays) {
  const auto after = [](AtomicOp op, std::uint64_t before, std::uint64_t value, std::uint64_t compare = 0) {
    return apply(Atomic{op, 0, value, compare}, before);
  };
  EXPECT_EQ(after(AtomicOp::add, ~std::uint64_t{0}, 2), 1u);
  EXPECT_EQ(after(AtomicOp::swap, 5, 7), 7u);
  EXPECT_EQ(after(AtomicOp::compare_swap, 5, 7, 5), 7u);
  EXPECT_EQ(after(AtomicOp::compare_swap, 5, 7, 6), 5u);
  EXPECT_EQ(after(AtomicOp::bit_and, 0b1100, 0b1010), 0b1000u);
  EXPECT_EQ(after(AtomicOp::bit_or, 0b1100, 0b1010), 0b1110u);
  EXPECT_EQ(after(AtomicOp::bit_xor, 0b1100, 0b1010), 0b0110u);
  EXPECT_EQ(after(AtomicOp::min, 3, ~std::uint64_t{0}), 3u);
  EXPECT_EQ(after(AtomicOp::max, 3, ~std::uint64_t{0}), ~std::uint64_t{0});
}

TEST(Atomic, HasTheLengthItsOperationNeeds) {
  for (std::size_t length = 0; length < kAtomicBytes; ++length)
    expect_refused(decode_atomic(cut(kAdd, length)), DescriptorError::too_short);
  for (std::size_t length = kAtomicBytes; length < kCompareSwapBytes; ++length)
    expect_refused(decode_atomic(cut(kCompareSwap, length)), DescriptorError::too_short);
  expect_refused(decode_atomic(kAdd + hex("00")), DescriptorError::too_long);
  expect_refused(decode_atomic(kCompareSwap + hex("00")), DescriptorError::too_long);
}

TEST(Atomic, ReservedBytesAreZero) {
  for (std::size_t place = 1; place < 4; ++place)
    expect_refused(decode_atomic(with(kAdd, place, 0x80)), DescriptorError::reserved_not_zero);
}

TEST(Atomic, ATagAsksForAnAnswer) {
  const Bytes bytes = hex("01 00 00 00 04 03 02 01  08 07 06 05 04 03 02 01  18 17 16 15 14 13 12 11");
  const Atomic swap{AtomicOp::swap, 0x0102030405060708, 0x1112131415161718, 0, 0x01020304};
  EXPECT_EQ(decode_atomic(bytes).value(), swap);
  EXPECT_EQ(encoded(swap), bytes);
}

const Bytes kReply = hex("80 00 00 00 04 03 02 01  18 17 16 15 14 13 12 11");

TEST(AtomicReply, ByteByByte) {
  const AtomicReply reply{WindowStatus::ok, 0x01020304, 0x1112131415161718};
  EXPECT_TRUE(is_atomic_reply(kReply));
  EXPECT_FALSE(is_atomic_reply(kAdd));
  EXPECT_FALSE(is_atomic_reply({}));
  EXPECT_EQ(decode_atomic_reply(kReply).value(), reply);
  EXPECT_EQ(encoded(reply), kReply);
  const Bytes refused = hex("80 04 00 00 04 03 02 01  00 00 00 00 00 00 00 00");
  EXPECT_EQ(decode_atomic_reply(refused).value(), (AtomicReply{WindowStatus::misaligned, 0x01020304, 0}));
}

// The example of docs/wire.md.
TEST(AtomicReply, ToAnAdditionInAWindow) {
  const Atomic add{AtomicOp::add, window_address(7, 0x40), 5, 0, 1};
  EXPECT_EQ(encoded(add), hex("00 00 00 00 01 00 00 00  40 00 00 00 00 00 07 00  05 00 00 00 00 00 00 00"));
  EXPECT_EQ(encoded(AtomicReply{WindowStatus::ok, 1, 1}),
            hex("80 00 00 00 01 00 00 00  01 00 00 00 00 00 00 00"));
}

TEST(AtomicReply, IsRefusedWhenItIsNone) {
  for (std::size_t length = 0; length < kAtomicReplyBytes; ++length)
    expect_refused(decode_atomic_reply(cut(kReply, length)), DescriptorError::too_short);
  expect_refused(decode_atomic_reply(kReply + hex("00")), DescriptorError::too_long);
  expect_refused(decode_atomic_reply(kAdd), DescriptorError::unknown_operation);
  expect_refused(decode_atomic_reply(with(kReply, 2, 1)), DescriptorError::reserved_not_zero);
  expect_refused(decode_atomic_reply(with(kReply, 3, 1)), DescriptorError::reserved_not_zero);
  expect_refused(decode_atomic_reply(with(kReply, 1, 1)),
                 DescriptorError::reserved_not_zero);  // with a value
  expect_refused(decode_atomic_reply(hex("80 05 00 00 04 03 02 01 00 00 00 00 00 00 00 00")),
                 DescriptorError::unknown_data_type);
  expect_refused(decode_atomic_reply(hex("80 00 00 00 00 00 00 00 00 00 00 00 00 00 00 00")),
                 DescriptorError::reserved_not_zero);  // nobody asked for it
  expect_refused(decode_atomic(kReply + Bytes(8)), DescriptorError::unknown_operation);
}

RC_GTEST_PROP(AtomicProperty, WhatWasEncodedIsDecoded, ()) {
  Atomic atomic{static_cast<AtomicOp>(*rc::gen::inRange(0, 8)), *rc::gen::arbitrary<std::uint64_t>(),
                *rc::gen::arbitrary<std::uint64_t>(), 0, *rc::gen::arbitrary<std::uint32_t>()};
  if (atomic.op == AtomicOp::compare_swap) atomic.compare = *rc::gen::arbitrary<std::uint64_t>();
  RC_ASSERT(decode_atomic(encoded(atomic)) == atomic);
}

// --- Reduce -----------------------------------------------------------------------------------------------

const Bytes kSum = hex("00 06 02 01  06 05 04 03  0A 09 08 07  0E 0D 0C 0B  02 00 00 00  03 00 00 00");
const Bytes kPartial = hex("00 00 80 3F 00 00 00 40");  // 1.0F, 2.0F

TEST(Reduce, ByteByByte) {
  const Reduce sum{ReduceOp::sum, ElementType::float32, 0x0102, 0x03040506, 0x0708090A, 0x0B0C0D0E, 2, 3};
  EXPECT_EQ(decode_reduce(kSum + kPartial).value(), sum);
  EXPECT_EQ(encoded(sum), kSum);
}

TEST(Reduce, EveryOperatorHasItsNumberAndName) {
  const std::string_view names[] = {"sum", "product", "min", "max"};
  for (unsigned op = 0; op < 256; ++op) {
    const auto decoded = decode_reduce(with(kSum, 0, op) + kPartial);
    if (op >= kReduceOps) {
      expect_refused(decoded, DescriptorError::unknown_operation);
      continue;
    }
    ASSERT_TRUE(decoded);
    EXPECT_EQ(name(decoded->op), names[op]);
  }
  EXPECT_EQ(name(static_cast<ReduceOp>(4)), "?");
}

TEST(Reduce, EveryElementTypeHasItsNumberNameAndSize) {
  const std::string_view names[] = {"int8",  "uint8",  "int32",   "uint32",
                                    "int64", "uint64", "float32", "float64"};
  const std::size_t sizes[] = {1, 1, 4, 4, 8, 8, 4, 8};
  for (unsigned type = 0; type < 256; ++type) {
    const std::size_t bytes = type < kElementTypes ? 2 * sizes[type] : 8;
    const auto decoded = decode_reduce(with(kSum, 1, type) + Bytes(bytes));
    if (type >= kElementTypes) {
      expect_refused(decoded, DescriptorError::unknown_data_type);
      continue;
    }
    ASSERT_TRUE(decoded);
    EXPECT_EQ(name(decoded->type), names[type]);
    EXPECT_EQ(size_of(decoded->type), sizes[type]);
  }
  EXPECT_EQ(name(static_cast<ElementType>(8)), "?");
  EXPECT_EQ(size_of(static_cast<ElementType>(8)), 0u);
}

TEST(Reduce, IsNotShorterThanItsDescriptor) {
  for (std::size_t length = 0; length < kReduceBytes; ++length)
    expect_refused(decode_reduce(cut(kSum, length)), DescriptorError::too_short);
}

TEST(Reduce, HasAsManyElementsAsItSays) {
  expect_refused(decode_reduce(kSum), DescriptorError::count_mismatch);
  expect_refused(decode_reduce(kSum + cut(kPartial, 7)), DescriptorError::count_mismatch);
  expect_refused(decode_reduce(kSum + kPartial + hex("00")), DescriptorError::count_mismatch);
  expect_refused(decode_reduce(with(kSum, 19, 0x80) + kPartial), DescriptorError::count_mismatch);
  expect_refused(decode_reduce(with(kSum, 16, 0)), DescriptorError::no_elements);
}

TEST(Reduce, HoldsAtLeastOneRankAndNoneBeyondTheLast) {
  expect_refused(decode_reduce(with(kSum, 20, 0) + kPartial), DescriptorError::no_contribution);
  const Bytes last = with(with(kSum, 2, 0xFD), 3, 0xFF);  // ranks 65,533 to 65,535
  EXPECT_TRUE(decode_reduce(last + kPartial));
  expect_refused(decode_reduce(with(last, 2, 0xFE) + kPartial), DescriptorError::rank_out_of_range);
}

TEST(Reduce, ReservedBytesAreZero) {
  expect_refused(decode_reduce(with(kSum, 22, 1) + kPartial), DescriptorError::reserved_not_zero);
  expect_refused(decode_reduce(with(kSum, 23, 1) + kPartial), DescriptorError::reserved_not_zero);
}

RC_GTEST_PROP(ReduceProperty, WhatWasEncodedIsDecoded, ()) {
  Reduce reduce{static_cast<ReduceOp>(*rc::gen::inRange(0, 4)),
                static_cast<ElementType>(*rc::gen::inRange(0, 8)),
                *rc::gen::arbitrary<std::uint16_t>(),
                *rc::gen::arbitrary<std::uint32_t>(),
                *rc::gen::arbitrary<std::uint32_t>(),
                *rc::gen::arbitrary<std::uint32_t>(),
                1,
                1};
  reduce.count = *rc::gen::inRange<std::uint32_t>(
      1, static_cast<std::uint32_t>(kMaxPartialBytes / size_of(reduce.type)) + 1);
  reduce.contributions = *rc::gen::inRange<std::uint16_t>(
      1, static_cast<std::uint16_t>(std::min<std::uint32_t>(kMaxRanks - reduce.rank, 65'534) + 1));
  RC_ASSERT(decode_reduce(encoded(reduce) + Bytes(reduce.partial_bytes())) == reduce);
}

// --- Gather -----------------------------------------------------------------------------------------------

const Bytes kPiece = hex("04 03 02 01  08 07 06 05  0C 0B 0A 09  0E 0D  00 00");

TEST(Gather, ByteByByte) {
  const Gather gather{0x01020304, 0x05060708, 0x090A0B0C, 0x0D0E};
  EXPECT_EQ(decode_gather(kPiece).value(), gather);
  EXPECT_EQ(decode_gather(kPiece + hex("00 01 02")).value(), gather);
  EXPECT_EQ(encoded(gather), kPiece);
}

TEST(Gather, IsNotShorterThanItsDescriptor) {
  for (std::size_t length = 0; length < kGatherBytes; ++length)
    expect_refused(decode_gather(cut(kPiece, length)), DescriptorError::too_short);
}

TEST(Gather, ReservedBytesAreZero) {
  expect_refused(decode_gather(with(kPiece, 14, 1)), DescriptorError::reserved_not_zero);
  expect_refused(decode_gather(with(kPiece, 15, 1)), DescriptorError::reserved_not_zero);
}

// --- All --------------------------------------------------------------------------------------------------

// Whatever the bytes: refused, or understood completely, so that encoding gives them back.
RC_GTEST_PROP(DescriptorProperty, AnyBytesAreRefusedOrReadBack, ()) {
  Bytes payload;
  const auto length = *rc::gen::element<std::size_t>(0, 7, 8, 9, 16, 17, 24, 25, 26, 28, 32, 33);
  for (std::size_t i = 0; i < length; ++i)
    payload.push_back(static_cast<std::byte>(*rc::gen::oneOf(rc::gen::just(0), rc::gen::inRange(0, 256))));
  if (const auto doorbell = decode_doorbell(payload)) RC_ASSERT(encoded(*doorbell) == payload);
  if (const auto atomic = decode_atomic(payload)) RC_ASSERT(encoded(*atomic) == payload);
  if (const auto gather = decode_gather(payload)) RC_ASSERT(encoded(*gather) == cut(payload, kGatherBytes));
  if (const auto reduce = decode_reduce(payload)) {
    RC_ASSERT(encoded(*reduce) == cut(payload, kReduceBytes));
    RC_ASSERT(reduce->partial_bytes() == payload.size() - kReduceBytes);
  }
}

}  // namespace
}  // namespace cnuas::wire
