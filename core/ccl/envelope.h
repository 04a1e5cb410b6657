// What a collective puts in front of each chunk of a message: the 40-byte envelope, little-endian. Envelope
// and chunk are the payload of one DATA frame.
//
//   offset  size  field
//   0       4     magic, the bytes "CCLE"
//   4       2     version, 1
//   6       2     coll_kind: which collective, or which message of the library's own (EnvelopeKind)
//   8       4     comm_id
//   12      4     seq: which collective of the communicator, counted from 0
//   16      4     src_rank
//   20      4     dst_rank
//   24      4     chunk_index, counted from 0
//   28      4     chunk_count of the message, at least 1
//   32      4     chunk_bytes: what follows the envelope in this frame, at most 60 KiB
//   36      4     total_bytes: chunk_bytes of all chunks of the message together
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include <tl/expected.hpp>

namespace cnuas::ccl {

inline constexpr std::size_t kEnvelopeBytes = 40;
inline constexpr std::uint16_t kEnvelopeVersion = 1;
// Envelope, chunk and frame header stay below the fabric's 64 KiB.
inline constexpr std::uint32_t kMaxChunkBytes = 60 * 1024;

// The values are those on the wire.
enum class EnvelopeKind : std::uint16_t {
  all_reduce = 1,
  broadcast = 2,
  all_gather = 3,
  reduce_scatter = 4,
  all_to_all = 5,
  barrier = 6,
  split = 7,      // the exchange by which communicators are derived from one
  agreement = 8,  // the exchange by which ranks agree on a transport
  credit = 0x0101,
  abort = 0x0102,
};
// "all_reduce", ...; "?" for a number that stands for none.
std::string_view name(EnvelopeKind kind);

struct Envelope {
  std::uint16_t kind = 0;  // as on the wire: any number
  std::uint32_t communicator = 0;
  std::uint32_t sequence = 0;
  std::uint32_t source = 0;
  std::uint32_t destination = 0;
  std::uint32_t chunk_index = 0;
  std::uint32_t chunk_count = 1;
  std::uint32_t chunk_bytes = 0;
  std::uint32_t total_bytes = 0;
  constexpr bool operator==(const Envelope&) const = default;
};

enum class EnvelopeError : std::uint8_t {
  too_short,    // fewer than 40 bytes
  bad_magic,    // not "CCLE"
  bad_version,  // not 1
};
inline constexpr std::size_t kEnvelopeErrors = 3;
std::string_view name(EnvelopeError error);  // "too_short", ...

void encode(const Envelope& envelope, std::span<std::byte, kEnvelopeBytes> out);

// Reads the envelope of a whole payload. Errors, in the order in which they are checked: too_short,
// bad_magic, bad_version. The numbers in it may be anything.
tl::expected<Envelope, EnvelopeError> decode_envelope(std::span<const std::byte> payload);

}  // namespace cnuas::ccl
