#include "core/wire/gather.h"

#include "core/wire/byte_order.h"

namespace cnuas::wire {
namespace {

constexpr std::size_t kSequenceAt = 4;
constexpr std::size_t kChunkAt = 8;
constexpr std::size_t kRankAt = 12;
constexpr std::size_t kReservedAt = 14;

}  // namespace

tl::expected<Gather, DescriptorError> decode_gather(std::span<const std::byte> payload) {
  if (payload.size() < kGatherBytes) return tl::unexpected<DescriptorError>(DescriptorError::too_short);
  const std::byte* bytes = payload.data();
  if (load<std::uint16_t>(bytes + kReservedAt) != 0) {
    return tl::unexpected<DescriptorError>(DescriptorError::reserved_not_zero);
  }
  return Gather{.group = load<std::uint32_t>(bytes),
                .sequence = load<std::uint32_t>(bytes + kSequenceAt),
                .chunk = load<std::uint32_t>(bytes + kChunkAt),
                .rank = load<std::uint16_t>(bytes + kRankAt)};
}

void encode(const Gather& gather, std::span<std::byte, kGatherBytes> out) {
  store(out.data(), gather.group);
  store(&out[kSequenceAt], gather.sequence);
  store(&out[kChunkAt], gather.chunk);
  store(&out[kRankAt], gather.rank);
  store(&out[kReservedAt], std::uint16_t{0});
}

}  // namespace cnuas::wire
