#include "core/ccl/chunk.h"

#include "core/ccl/crc32c.h"
#include "core/wire/byte_order.h"

#include <array>

namespace cnuas::ccl {
namespace {

constexpr std::size_t kNumberAt = 4;
constexpr std::size_t kConsumedAt = 8;
constexpr std::size_t kChannelAt = 12;
constexpr std::size_t kFlagsAt = 13;
constexpr std::size_t kHeaderReservedAt = 14;
constexpr std::uint8_t kNoChecksum = 1;

constexpr std::size_t kTypeAt = 1;
constexpr std::size_t kAlgorithmAt = 2;
constexpr std::size_t kFirstReservedAt = 3;
constexpr std::size_t kRootAt = 4;
constexpr std::size_t kCountAt = 8;
constexpr std::size_t kChunksAt = 16;
constexpr std::size_t kLastReservedAt = 20;

}  // namespace

std::string_view name(ChunkError error) {
  constexpr std::array<std::string_view, kChunkErrors> kNames = {"too_short", "bad_checksum", "unknown_flags",
                                                                 "reserved_not_zero"};
  const auto index = static_cast<std::size_t>(error);
  return index < kNames.size() ? kNames[index] : std::string_view("?");
}

void encode(const ChunkHeader& header, std::span<const std::byte> rest, std::span<const std::byte> more,
            std::span<std::byte, kChunkHeaderBytes> out) {
  std::byte* to = out.data();
  wire::store(to + kNumberAt, header.number);
  wire::store(to + kConsumedAt, header.consumed);
  to[kChannelAt] = std::byte{header.channel};
  to[kFlagsAt] = std::byte{header.checksum ? std::uint8_t{0} : kNoChecksum};
  wire::store(to + kHeaderReservedAt, std::uint16_t{0});
  std::uint32_t crc = 0;
  if (header.checksum) crc = crc32c(more, crc32c(rest, crc32c(out.subspan(kNumberAt))));
  wire::store(to, crc);
}

void encode(const Signature& signature, std::span<std::byte, kSignatureBytes> out) {
  std::byte* to = out.data();
  to[0] = std::byte{signature.op};
  to[kTypeAt] = std::byte{signature.type};
  to[kAlgorithmAt] = std::byte{signature.algorithm};
  to[kFirstReservedAt] = std::byte{0};
  wire::store(to + kRootAt, signature.root);
  wire::store(to + kCountAt, signature.count);
  wire::store(to + kChunksAt, signature.chunks);
  wire::store(to + kLastReservedAt, std::uint32_t{0});
}

tl::expected<ChunkHeader, ChunkError> decode_chunk_header(std::span<const std::byte> chunk) {
  const auto refuse = [](ChunkError error) { return tl::unexpected<ChunkError>(error); };
  if (chunk.size() < kChunkHeaderBytes) return refuse(ChunkError::too_short);
  const std::byte* from = chunk.data();
  const auto flags = std::to_integer<std::uint8_t>(from[kFlagsAt]);
  const auto crc = wire::load<std::uint32_t>(from);
  const bool checksum = (flags & kNoChecksum) == 0;
  if (checksum ? crc32c(chunk.subspan(kNumberAt)) != crc : crc != 0) return refuse(ChunkError::bad_checksum);
  if ((flags & ~kNoChecksum) != 0) return refuse(ChunkError::unknown_flags);
  if (wire::load<std::uint16_t>(from + kHeaderReservedAt) != 0) return refuse(ChunkError::reserved_not_zero);
  ChunkHeader header;
  header.number = wire::load<std::uint32_t>(from + kNumberAt);
  header.consumed = wire::load<std::uint32_t>(from + kConsumedAt);
  header.channel = std::to_integer<std::uint8_t>(from[kChannelAt]);
  header.checksum = checksum;
  return header;
}

tl::expected<Signature, ChunkError> decode_signature(std::span<const std::byte> bytes) {
  const auto refuse = [](ChunkError error) { return tl::unexpected<ChunkError>(error); };
  if (bytes.size() < kSignatureBytes) return refuse(ChunkError::too_short);
  const std::byte* from = bytes.data();
  if (from[kFirstReservedAt] != std::byte{0} || wire::load<std::uint32_t>(from + kLastReservedAt) != 0)
    return refuse(ChunkError::reserved_not_zero);
  Signature signature;
  signature.op = std::to_integer<std::uint8_t>(from[0]);
  signature.type = std::to_integer<std::uint8_t>(from[kTypeAt]);
  signature.algorithm = std::to_integer<std::uint8_t>(from[kAlgorithmAt]);
  signature.root = wire::load<std::uint32_t>(from + kRootAt);
  signature.count = wire::load<std::uint64_t>(from + kCountAt);
  signature.chunks = wire::load<std::uint32_t>(from + kChunksAt);
  return signature;
}

}  // namespace cnuas::ccl
