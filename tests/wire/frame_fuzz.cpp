// Any bytes as a frame and as every payload: refused, or a meaning that encodes to the same bytes.

#include "core/wire/atomic.h"
#include "core/wire/doorbell.h"
#include "core/wire/frame.h"
#include "core/wire/gather.h"
#include "core/wire/reduce.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <span>
#include <vector>

namespace {

using namespace cnuas::wire;

void require(bool holds) {
  if (!holds) std::abort();
}

bool starts_with(std::span<const std::byte> bytes, std::span<const std::byte> start) {
  return bytes.size() >= start.size() && std::equal(start.begin(), start.end(), bytes.begin());
}

void check_payload(std::span<const std::byte> payload) {
  std::array<std::byte, 32> bytes{};
  const std::span<std::byte> out(bytes);
  if (const auto doorbell = decode_doorbell(payload)) {
    encode(*doorbell, out.first<kDoorbellBytes>());
    require(starts_with(payload, out.first<kDoorbellBytes>()));
  }
  if (const auto atomic = decode_atomic(payload)) {
    require(encode(*atomic, out) == payload.size());
    require(starts_with(payload, out.first(payload.size())));
  }
  if (const auto reduce = decode_reduce(payload)) {
    encode(*reduce, out.first<kReduceBytes>());
    require(starts_with(payload, out.first<kReduceBytes>()));
    require(reduce->partial_bytes() + kReduceBytes == payload.size());
  }
  if (const auto gather = decode_gather(payload)) {
    encode(*gather, out.first<kGatherBytes>());
    require(starts_with(payload, out.first<kGatherBytes>()));
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::span<const std::byte> message = std::as_bytes(std::span(data, size));
  check_payload(message);
  const auto header = decode(message);
  if (!header) return 0;
  std::array<std::byte, kHeaderBytes> bytes{};
  encode(*header, bytes);
  require(starts_with(message, bytes));
  check_payload(message.subspan(kHeaderBytes));

  std::vector<std::byte> turned(message.begin(), message.end());
  const ByteOrder other = header->order == ByteOrder::big ? ByteOrder::little : ByteOrder::big;
  set_byte_order(turned, other);
  require(byte_order(turned) == other && decode(turned).has_value());
  set_byte_order(turned, header->order);
  require(std::equal(turned.begin(), turned.end(), message.begin(), message.end()));
  return 0;
}
