// Any bytes as the payload of a collective's frame: refused, or a meaning that encodes to the same bytes.

#include "core/ccl/chunk.h"
#include "core/ccl/envelope.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <span>

namespace {

using namespace cnuas::ccl;

void require(bool holds) {
  if (!holds) std::abort();
}

bool starts_with(std::span<const std::byte> bytes, std::span<const std::byte> start) {
  return bytes.size() >= start.size() && std::equal(start.begin(), start.end(), bytes.begin());
}

void check_chunk(std::span<const std::byte> chunk) {
  const auto header = decode_chunk_header(chunk);
  if (!header) return;
  std::array<std::byte, kChunkHeaderBytes> bytes{};
  const std::span<const std::byte> rest = chunk.subspan(kChunkHeaderBytes);
  encode(*header, rest.first(rest.size() / 2), rest.subspan(rest.size() / 2), bytes);
  require(starts_with(chunk, bytes));
  if (const auto signature = decode_signature(rest)) {
    std::array<std::byte, kSignatureBytes> again{};
    encode(*signature, again);
    require(starts_with(rest, again));
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::span<const std::byte> payload = std::as_bytes(std::span(data, size));
  check_chunk(payload);
  const auto envelope = decode_envelope(payload);
  if (!envelope) return 0;
  std::array<std::byte, kEnvelopeBytes> bytes{};
  encode(*envelope, bytes);
  require(starts_with(payload, bytes));
  check_chunk(payload.subspan(kEnvelopeBytes));
  return 0;
}
