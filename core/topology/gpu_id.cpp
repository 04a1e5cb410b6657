#include "core/topology/gpu_id.h"

#include <charconv>
#include <string_view>

namespace cnuas {

namespace {

// Whole text as an unsigned number; false when anything else is in it.
bool read_number(std::string_view text, int base, unsigned& value) {
  const char* end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, value, base);
  return error == std::errc{} && stop == end && !text.empty();
}

}  // namespace

std::string to_string(GpuId id) {
  return std::to_string(id.rack()) + "/" + std::to_string(id.slot());
}

Result<GpuId> make_gpu_id(unsigned rack, unsigned slot) {
  const std::string where = "GPU " + std::to_string(rack) + "/" + std::to_string(slot);
  if (rack > kMaxRack) {
    return fail(ErrorCode::invalid_argument,
                "rack numbers go from 0 to 255, and " + std::to_string(rack) + " is beyond", where);
  }
  if (slot >= kSlotsPerRack) {
    return fail(ErrorCode::invalid_argument,
                "slots go from 0 to 255, and " + std::to_string(slot) + " is beyond", where);
  }
  const GpuId id{static_cast<std::uint16_t>(rack << 8 | slot)};
  if (id == kNoGpu) {
    return fail(ErrorCode::invalid_argument,
                "its ID would be 0x0000, which means \"no GPU\"; number the racks from 1", where);
  }
  if (id == kBroadcast) {
    return fail(ErrorCode::invalid_argument,
                "its ID would be 0xFFFF, which means \"all GPUs\"; rack 255 can hold 255 GPUs at most",
                where);
  }
  return id;
}

Result<GpuId> parse_gpu_id(const std::string& text) {
  const std::string_view view = text;
  if (view.starts_with("0x") || view.starts_with("0X")) {
    unsigned value = 0;
    if (!read_number(view.substr(2), 16, value) || value > 0xFFFF) {
      return fail(ErrorCode::invalid_argument, "'" + text + "' is not a 16-bit GPU ID such as 0x0103");
    }
    return make_gpu_id(value >> 8, value & 0xFF);
  }
  const std::size_t slash = view.find('/');
  unsigned rack = 0;
  unsigned slot = 0;
  if (slash == std::string_view::npos || !read_number(view.substr(0, slash), 10, rack) ||
      !read_number(view.substr(slash + 1), 10, slot)) {
    return fail(ErrorCode::invalid_argument,
                "'" + text + "' is not a GPU: write rack/slot as in 1/3, or an ID as in 0x0103");
  }
  return make_gpu_id(rack, slot);
}

}  // namespace cnuas
