// The 16-bit name of a GPU in the whole fabric.
#pragma once

#include "core/engine/error.h"

#include <compare>
#include <cstdint>
#include <string>

namespace cnuas {

// (rack << 8) | slot. 0x0000 means "no GPU" and 0xFFFF "all GPUs"; neither names one.
struct GpuId {
  std::uint16_t value = 0;

  constexpr unsigned rack() const { return value >> 8; }
  constexpr unsigned slot() const { return value & 0xFF; }
  constexpr bool usable() const { return value != 0x0000 && value != 0xFFFF; }
  constexpr auto operator<=>(const GpuId&) const = default;
};

inline constexpr GpuId kNoGpu{0x0000};
inline constexpr GpuId kBroadcast{0xFFFF};
inline constexpr unsigned kMaxRack = 255;
inline constexpr unsigned kSlotsPerRack = 256;

// "rack/slot", as scenarios and the command line write it: "1/3".
std::string to_string(GpuId id);

// Errors: invalid_argument when rack > 255, slot > 255, or the pair is one of the two reserved IDs; the
// message says which and what to change.
Result<GpuId> make_gpu_id(unsigned rack, unsigned slot);

// Reads "1/3" or "0x0103". Errors: invalid_argument.
Result<GpuId> parse_gpu_id(const std::string& text);

}  // namespace cnuas
