#include "core/wire/reduce.h"

#include "core/wire/byte_order.h"

namespace cnuas::wire {
namespace {

constexpr std::size_t kTypeAt = 1;
constexpr std::size_t kRankAt = 2;
constexpr std::size_t kGroupAt = 4;
constexpr std::size_t kSequenceAt = 8;
constexpr std::size_t kChunkAt = 12;
constexpr std::size_t kCountAt = 16;
constexpr std::size_t kContributionsAt = 20;
constexpr std::size_t kReservedAt = 22;

}  // namespace

std::string_view name(ReduceOp op) {
  switch (op) {
    case ReduceOp::sum:
      return "sum";
    case ReduceOp::product:
      return "product";
    case ReduceOp::min:
      return "min";
    case ReduceOp::max:
      return "max";
  }
  return "?";
}

std::string_view name(ElementType type) {
  switch (type) {
    case ElementType::int8:
      return "int8";
    case ElementType::uint8:
      return "uint8";
    case ElementType::int32:
      return "int32";
    case ElementType::uint32:
      return "uint32";
    case ElementType::int64:
      return "int64";
    case ElementType::uint64:
      return "uint64";
    case ElementType::float32:
      return "float32";
    case ElementType::float64:
      return "float64";
  }
  return "?";
}

std::size_t size_of(ElementType type) {
  switch (type) {
    case ElementType::int8:
    case ElementType::uint8:
      return 1;
    case ElementType::int32:
    case ElementType::uint32:
    case ElementType::float32:
      return 4;
    case ElementType::int64:
    case ElementType::uint64:
    case ElementType::float64:
      return 8;
  }
  return 0;
}

tl::expected<Reduce, DescriptorError> decode_reduce(std::span<const std::byte> payload) {
  const auto refuse = [](DescriptorError error) { return tl::unexpected<DescriptorError>(error); };
  if (payload.size() < kReduceBytes) return refuse(DescriptorError::too_short);
  const std::byte* bytes = payload.data();
  const auto op = std::to_integer<std::uint8_t>(bytes[0]);
  if (op >= kReduceOps) return refuse(DescriptorError::unknown_operation);
  const auto type = std::to_integer<std::uint8_t>(bytes[kTypeAt]);
  if (type >= kElementTypes) return refuse(DescriptorError::unknown_data_type);
  if (load<std::uint16_t>(bytes + kReservedAt) != 0) return refuse(DescriptorError::reserved_not_zero);

  Reduce reduce;
  reduce.op = static_cast<ReduceOp>(op);
  reduce.type = static_cast<ElementType>(type);
  reduce.rank = load<std::uint16_t>(bytes + kRankAt);
  reduce.group = load<std::uint32_t>(bytes + kGroupAt);
  reduce.sequence = load<std::uint32_t>(bytes + kSequenceAt);
  reduce.chunk = load<std::uint32_t>(bytes + kChunkAt);
  reduce.count = load<std::uint32_t>(bytes + kCountAt);
  reduce.contributions = load<std::uint16_t>(bytes + kContributionsAt);
  if (reduce.contributions == 0) return refuse(DescriptorError::no_contribution);
  if (std::uint32_t{reduce.rank} + reduce.contributions > kMaxRanks)
    return refuse(DescriptorError::rank_out_of_range);
  if (reduce.count == 0) return refuse(DescriptorError::no_elements);
  if (reduce.partial_bytes() != payload.size() - kReduceBytes) return refuse(DescriptorError::count_mismatch);
  return reduce;
}

void encode(const Reduce& reduce, std::span<std::byte, kReduceBytes> out) {
  out[0] = static_cast<std::byte>(reduce.op);
  out[kTypeAt] = static_cast<std::byte>(reduce.type);
  store(&out[kRankAt], reduce.rank);
  store(&out[kGroupAt], reduce.group);
  store(&out[kSequenceAt], reduce.sequence);
  store(&out[kChunkAt], reduce.chunk);
  store(&out[kCountAt], reduce.count);
  store(&out[kContributionsAt], reduce.contributions);
  store(&out[kReservedAt], std::uint16_t{0});
}

}  // namespace cnuas::wire
