// CRC-32C (Castagnoli), as in iSCSI and ext4: detects every single, double and triple bit error in a chunk of
// 60 KiB, and all others with a chance of 1 - 2^-32.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace cnuas::ccl {

// Of `bytes` after others whose CRC is `before` (0: none). Uses the processor's instruction where it has one.
std::uint32_t crc32c(std::span<const std::byte> bytes, std::uint32_t before = 0);

// The same by tables alone, whatever the processor.
std::uint32_t crc32c_portable(std::span<const std::byte> bytes, std::uint32_t before = 0);

}  // namespace cnuas::ccl
