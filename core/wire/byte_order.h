// Integers as bytes in a stated order, whatever the machine's own.
#pragma once

#include <bit>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <cstring>

namespace cnuas::wire {

enum class ByteOrder : std::uint8_t { big, little };

template <std::unsigned_integral Value>
constexpr Value byte_swapped(Value value) {
  if constexpr (sizeof(Value) == 1) return value;
  if constexpr (sizeof(Value) == 2) return __builtin_bswap16(value);
  if constexpr (sizeof(Value) == 4) return __builtin_bswap32(value);
  if constexpr (sizeof(Value) == 8) return __builtin_bswap64(value);
}

constexpr bool is_native(ByteOrder order) {
  return (order == ByteOrder::little) == (std::endian::native == std::endian::little);
}

// Reads sizeof(Value) bytes, at any alignment.
template <std::unsigned_integral Value>
Value load(const std::byte* from, ByteOrder order = ByteOrder::little) {
  Value value;
  std::memcpy(&value, from, sizeof value);
  return is_native(order) ? value : byte_swapped(value);
}

// Writes sizeof(Value) bytes, at any alignment.
template <std::unsigned_integral Value>
void store(std::byte* to, Value value, ByteOrder order = ByteOrder::little) {
  if (!is_native(order)) value = byte_swapped(value);
  std::memcpy(to, &value, sizeof value);
}

}  // namespace cnuas::wire
