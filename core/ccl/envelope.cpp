#include "core/ccl/envelope.h"

#include "core/wire/byte_order.h"

#include <algorithm>
#include <array>

namespace cnuas::ccl {
namespace {

constexpr std::array<std::byte, 4> kMagic = {std::byte{'C'}, std::byte{'C'}, std::byte{'L'}, std::byte{'E'}};

constexpr std::size_t kVersionAt = 4;
constexpr std::size_t kKindAt = 6;
constexpr std::size_t kCommunicatorAt = 8;
constexpr std::size_t kSequenceAt = 12;
constexpr std::size_t kSourceAt = 16;
constexpr std::size_t kDestinationAt = 20;
constexpr std::size_t kChunkIndexAt = 24;
constexpr std::size_t kChunkCountAt = 28;
constexpr std::size_t kChunkBytesAt = 32;
constexpr std::size_t kTotalBytesAt = 36;

}  // namespace

std::string_view name(EnvelopeKind kind) {
  switch (kind) {
    case EnvelopeKind::all_reduce:
      return "all_reduce";
    case EnvelopeKind::broadcast:
      return "broadcast";
    case EnvelopeKind::all_gather:
      return "all_gather";
    case EnvelopeKind::reduce_scatter:
      return "reduce_scatter";
    case EnvelopeKind::all_to_all:
      return "all_to_all";
    case EnvelopeKind::barrier:
      return "barrier";
    case EnvelopeKind::split:
      return "split";
    case EnvelopeKind::agreement:
      return "agreement";
    case EnvelopeKind::credit:
      return "credit";
    case EnvelopeKind::abort:
      return "abort";
  }
  return "?";
}

std::string_view name(EnvelopeError error) {
  constexpr std::array<std::string_view, kEnvelopeErrors> kNames = {"too_short", "bad_magic", "bad_version"};
  const auto index = static_cast<std::size_t>(error);
  return index < kNames.size() ? kNames[index] : std::string_view("?");
}

void encode(const Envelope& envelope, std::span<std::byte, kEnvelopeBytes> out) {
  std::copy(kMagic.begin(), kMagic.end(), out.begin());
  std::byte* to = out.data();
  wire::store(to + kVersionAt, kEnvelopeVersion);
  wire::store(to + kKindAt, envelope.kind);
  wire::store(to + kCommunicatorAt, envelope.communicator);
  wire::store(to + kSequenceAt, envelope.sequence);
  wire::store(to + kSourceAt, envelope.source);
  wire::store(to + kDestinationAt, envelope.destination);
  wire::store(to + kChunkIndexAt, envelope.chunk_index);
  wire::store(to + kChunkCountAt, envelope.chunk_count);
  wire::store(to + kChunkBytesAt, envelope.chunk_bytes);
  wire::store(to + kTotalBytesAt, envelope.total_bytes);
}

tl::expected<Envelope, EnvelopeError> decode_envelope(std::span<const std::byte> payload) {
  const auto refuse = [](EnvelopeError error) { return tl::unexpected<EnvelopeError>(error); };
  if (payload.size() < kEnvelopeBytes) return refuse(EnvelopeError::too_short);
  const std::byte* from = payload.data();
  if (!std::equal(kMagic.begin(), kMagic.end(), from)) return refuse(EnvelopeError::bad_magic);
  if (wire::load<std::uint16_t>(from + kVersionAt) != kEnvelopeVersion)
    return refuse(EnvelopeError::bad_version);
  Envelope envelope;
  envelope.kind = wire::load<std::uint16_t>(from + kKindAt);
  envelope.communicator = wire::load<std::uint32_t>(from + kCommunicatorAt);
  envelope.sequence = wire::load<std::uint32_t>(from + kSequenceAt);
  envelope.source = wire::load<std::uint32_t>(from + kSourceAt);
  envelope.destination = wire::load<std::uint32_t>(from + kDestinationAt);
  envelope.chunk_index = wire::load<std::uint32_t>(from + kChunkIndexAt);
  envelope.chunk_count = wire::load<std::uint32_t>(from + kChunkCountAt);
  envelope.chunk_bytes = wire::load<std::uint32_t>(from + kChunkBytesAt);
  envelope.total_bytes = wire::load<std::uint32_t>(from + kTotalBytesAt);
  return envelope;
}

}  // namespace cnuas::ccl
