#include "core/link/link_profile.h"

namespace cnuas {

namespace {

// Not published by the vendor for any generation. 300 ns is in the range that measurements of a
// device-to-device hop leave for the wire and the two link controllers; a scenario overrides it with {preset:
// ..., latency: ...}.
constexpr Picoseconds kAssumedLatency = 300 * kNanosecond;

constexpr std::uint64_t kGigabyte = 1'000'000'000;

LinkProfile port_of(std::uint64_t links, std::uint64_t gigabytes_per_s_per_link) {
  return LinkProfile{links * gigabytes_per_s_per_link * kGigabyte, kAssumedLatency, PacketFormat{}};
}

}  // namespace

std::uint64_t LinkProfile::payload_bytes_per_s() const {
  if (!packets) return bandwidth_bytes_per_s;
  const std::uint64_t payload = packets->max_payload_bytes();
  if (payload == 0) return 0;
  __extension__ using Wide = unsigned __int128;
  return static_cast<std::uint64_t>(static_cast<Wide>(bandwidth_bytes_per_s) * payload /
                                    packets->wire_bytes(payload));
}

const std::vector<LinkPreset>& link_presets() {
  static const std::vector<LinkPreset> presets = {
      {"nvlink1", "P100: 4 links of 20 GB/s each way", port_of(4, 20)},
      {"nvlink2", "V100: 6 links of 25 GB/s each way", port_of(6, 25)},
      {"nvlink3", "A100: 12 links of 25 GB/s each way", port_of(12, 25)},
      {"nvlink4", "H100: 18 links of 25 GB/s each way", port_of(18, 25)},
      {"nvlink5", "B200: 18 links of 50 GB/s each way", port_of(18, 50)},
  };
  return presets;
}

const LinkPreset* find_link_preset(std::string_view name) {
  for (const LinkPreset& preset : link_presets()) {
    if (preset.name == name) return &preset;
  }
  return nullptr;
}

}  // namespace cnuas
