#include "core/ccl/crc32c.h"

#include "core/wire/byte_order.h"

#include <array>

namespace cnuas::ccl {
namespace {

constexpr std::uint32_t kPolynomial = 0x82F63B78;  // 0x1EDC6F41, lowest bit first

using Table = std::array<std::uint32_t, 256>;

// tables[k][b]: byte b followed by k zero bytes.
constexpr std::array<Table, 8> make_tables() {
  std::array<Table, 8> tables{};
  for (std::uint32_t byte = 0; byte < 256; ++byte) {
    std::uint32_t crc = byte;
    for (int bit = 0; bit < 8; ++bit)
      crc = (crc >> 1) ^ ((crc & 1) != 0 ? kPolynomial : 0);
    tables[0][byte] = crc;
  }
  for (std::size_t k = 1; k < tables.size(); ++k)
    for (std::size_t byte = 0; byte < 256; ++byte)
      tables[k][byte] = (tables[k - 1][byte] >> 8) ^ tables[0][tables[k - 1][byte] & 0xFF];
  return tables;
}
constexpr std::array<Table, 8> kTables = make_tables();

std::uint32_t one_byte(std::uint32_t state, std::byte byte) {
  return (state >> 8) ^ kTables[0][(state ^ std::to_integer<std::uint32_t>(byte)) & 0xFF];
}

#if defined(__x86_64__)

// The instruction has a latency of three cycles and starts one each cycle, so three streams of `kStride`
// bytes run side by side; then the first two are moved over the bytes that follow them.
constexpr std::size_t kStride = 1024;

// shift[i][b]: what byte i of a state, being b, becomes after kStride zero bytes.
constexpr std::array<Table, 4> make_shift() {
  std::array<std::uint32_t, 32> column{};  // where each bit goes
  for (int bit = 0; bit < 32; ++bit) {
    std::uint32_t state = std::uint32_t{1} << bit;
    for (std::size_t i = 0; i < kStride; ++i)
      state = (state >> 8) ^ kTables[0][state & 0xFF];
    column[static_cast<std::size_t>(bit)] = state;
  }
  std::array<Table, 4> shift{};
  for (std::size_t i = 0; i < 4; ++i)
    for (std::size_t byte = 0; byte < 256; ++byte)
      for (std::size_t bit = 0; bit < 8; ++bit)
        if ((byte >> bit & 1) != 0) shift[i][byte] ^= column[8 * i + bit];
  return shift;
}
constexpr std::array<Table, 4> kShift = make_shift();

std::uint32_t over_a_stride(std::uint32_t state) {
  return kShift[0][state & 0xFF] ^ kShift[1][state >> 8 & 0xFF] ^ kShift[2][state >> 16 & 0xFF] ^
         kShift[3][state >> 24];
}

[[gnu::target("sse4.2")]] std::uint32_t by_instruction(std::span<const std::byte> bytes,
                                                       std::uint32_t before) {
  const std::byte* at = bytes.data();
  std::size_t left = bytes.size();
  std::uint32_t state = ~before;
  while (left >= 3 * kStride) {
    std::uint64_t first = state;
    std::uint64_t second = 0;
    std::uint64_t third = 0;
    for (std::size_t i = 0; i < kStride; i += 8) {
      first = __builtin_ia32_crc32di(first, wire::load<std::uint64_t>(at + i));
      second = __builtin_ia32_crc32di(second, wire::load<std::uint64_t>(at + kStride + i));
      third = __builtin_ia32_crc32di(third, wire::load<std::uint64_t>(at + 2 * kStride + i));
    }
    state = over_a_stride(static_cast<std::uint32_t>(first)) ^ static_cast<std::uint32_t>(second);
    state = over_a_stride(state) ^ static_cast<std::uint32_t>(third);
    at += 3 * kStride;
    left -= 3 * kStride;
  }
  for (; left >= 8; at += 8, left -= 8)
    state = static_cast<std::uint32_t>(__builtin_ia32_crc32di(state, wire::load<std::uint64_t>(at)));
  for (; left > 0; ++at, --left)
    state = __builtin_ia32_crc32qi(state, std::to_integer<std::uint8_t>(*at));
  return ~state;
}

#endif

}  // namespace

std::uint32_t crc32c_portable(std::span<const std::byte> bytes, std::uint32_t before) {
  const std::byte* at = bytes.data();
  std::size_t left = bytes.size();
  std::uint32_t state = ~before;
  for (; left >= 8; at += 8, left -= 8) {
    const std::uint64_t word = wire::load<std::uint64_t>(at) ^ state;
    state = 0;
    for (unsigned i = 0; i < 8; ++i)
      state ^= kTables[7 - i][word >> (8 * i) & 0xFF];
  }
  for (; left > 0; ++at, --left)
    state = one_byte(state, *at);
  return ~state;
}

std::uint32_t crc32c(std::span<const std::byte> bytes, std::uint32_t before) {
#if defined(__x86_64__)
  if (__builtin_cpu_supports("sse4.2")) return by_instruction(bytes, before);
#endif
  return crc32c_portable(bytes, before);
}

}  // namespace cnuas::ccl
