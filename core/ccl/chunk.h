// What a chunk consists of: a header, in the first chunk of a message the signature of the call, and data.
// Little-endian; all of it counts in the envelope's chunk_bytes and total_bytes.
//
//   offset  size  header, in every chunk
//   0       4     CRC-32C of all that follows in this chunk; 0 with flag 1
//   4       4     number of the frame among those from this rank to this one on this channel, from 0
//   8       4     frames that the sender has consumed of those it was sent on this channel (a credit)
//   12      1     channel: messages of one channel are matched in order
//   13      1     flags: 1: there is no checksum. Other bits: 0
//   14      2     0
//
//   offset  size  signature, in a message's first chunk
//   16      1     operator; 0xFF: the collective has none
//   17      1     type of the elements
//   18      1     algorithm
//   19      1     0
//   20      4     root; 0: the collective has none
//   24      8     count: Problem::count
//   32      4     chunks: Problem::chunks
//   36      4     0
#pragma once

#include "core/ccl/envelope.h"
#include "core/ccl/schedule.h"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

#include <tl/expected.hpp>

namespace cnuas::ccl {

inline constexpr std::size_t kChunkHeaderBytes = 16;
inline constexpr std::size_t kSignatureBytes = 24;
inline constexpr std::uint8_t kNoOperator = 0xFF;

enum class ChunkError : std::uint8_t {
  too_short,          // ends before its header or signature does
  bad_checksum,       // was changed on the way
  unknown_flags,      // bits that stand for nothing
  reserved_not_zero,  // bytes that a later version may give a meaning
};
inline constexpr std::size_t kChunkErrors = 4;
std::string_view name(ChunkError error);  // "too_short", ...

struct ChunkHeader {
  std::uint32_t number = 0;
  std::uint32_t consumed = 0;
  std::uint8_t channel = 0;
  bool checksum = true;
  constexpr bool operator==(const ChunkHeader&) const = default;
};

// What all ranks of a collective must agree on. Any numbers, as on the wire.
struct Signature {
  std::uint8_t op = kNoOperator;
  std::uint8_t type = 0;
  std::uint8_t algorithm = 0;
  std::uint32_t root = 0;
  std::uint64_t count = 0;
  std::uint32_t chunks = 1;
  constexpr bool operator==(const Signature&) const = default;
};

// Writes the header, its checksum over `rest` too: the bytes that follow it in the chunk, in two pieces.
void encode(const ChunkHeader& header, std::span<const std::byte> rest, std::span<const std::byte> more,
            std::span<std::byte, kChunkHeaderBytes> out);
void encode(const Signature& signature, std::span<std::byte, kSignatureBytes> out);

// `chunk`: all that follows the envelope. Errors in the order of ChunkError.
tl::expected<ChunkHeader, ChunkError> decode_chunk_header(std::span<const std::byte> chunk);
// `bytes`: what follows the header. Errors: too_short, reserved_not_zero.
tl::expected<Signature, ChunkError> decode_signature(std::span<const std::byte> bytes);

// How a message of `data_bytes` is cut into chunks of at most `limit` bytes, header and signature included.
// Every chunk but the last is as long as the limit allows in whole elements of 8 bytes, so that no element is
// cut. Precondition: 64 <= limit <= kMaxChunkBytes, a multiple of 8.
class ChunkPlan {
 public:
  ChunkPlan() = default;
  constexpr ChunkPlan(std::uint64_t data_bytes, std::uint32_t limit)
      : data_bytes_(data_bytes),
        first_(limit - kChunkHeaderBytes - kSignatureBytes),
        other_(limit - kChunkHeaderBytes) {}

  // Whether the envelope's numbers can express it: total_bytes below 4 GiB.
  constexpr bool fits() const { return data_bytes_ < kMostData && total() <= 0xFFFF'FFFFu; }
  constexpr std::uint64_t count() const {
    return data_bytes_ <= first_ ? 1 : 1 + (data_bytes_ - first_ + other_ - 1) / other_;
  }
  // Header and signature of all chunks included.
  constexpr std::uint64_t total() const {
    return data_bytes_ + count() * kChunkHeaderBytes + kSignatureBytes;
  }
  // Precondition: index < count().
  constexpr std::uint64_t offset(std::uint64_t index) const {
    return index == 0 ? 0 : first_ + (index - 1) * other_;
  }
  constexpr std::uint64_t data_bytes(std::uint64_t index) const {
    const std::uint64_t most = index == 0 ? first_ : other_;
    const std::uint64_t left = data_bytes_ - offset(index);
    return left < most ? left : most;
  }
  constexpr std::uint64_t chunk_bytes(std::uint64_t index) const {
    return data_bytes(index) + kChunkHeaderBytes + (index == 0 ? kSignatureBytes : 0);
  }

 private:
  static constexpr std::uint64_t kMostData = std::uint64_t{1} << 32;
  std::uint64_t data_bytes_ = 0;
  std::uint64_t first_ = 1;
  std::uint64_t other_ = 1;
};

}  // namespace cnuas::ccl
