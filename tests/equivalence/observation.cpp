#include "tests/equivalence/observation.h"

namespace cnuas::equivalence {

namespace {

std::uint64_t digest_of(std::span<const std::byte> bytes) {
  std::uint64_t hash = 0xCBF29CE484222325u;  // FNV-1a
  for (const std::byte each : bytes)
    hash = (hash ^ std::to_integer<std::uint64_t>(each)) * 0x100000001B3u;
  return hash;
}

}  // namespace

Delivery delivery(GpuIndex to, std::span<const std::byte> message) {
  const auto header = wire::decode(message);
  return {to, header ? *header : wire::FrameHeader{}, digest_of(message)};
}

}  // namespace cnuas::equivalence
