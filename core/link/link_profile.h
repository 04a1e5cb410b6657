// What a link can do, per direction: from bytes to picoseconds. Presets for the five NVLink generations.
#pragma once

#include "core/engine/time.h"

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

namespace cnuas {

// How a link cuts a payload into packets. A pure pipe has none: a byte of payload is a byte on the wire.
//
// NVLink: 128-bit flits, a packet is one header flit, optional extension flits and up to 16 data flits.
// Published for generation 1 (NVIDIA, "Pascal P100 white paper"; Foley and Danskin, IEEE Micro 37(2), 2017)
// and assumed unchanged since.
struct PacketFormat {
  std::uint32_t flit_bytes = 16;
  std::uint32_t header_flits = 1;     // header plus any address-extension and byte-enable flits
  std::uint32_t max_data_flits = 16;  // payload flits of the largest packet

  constexpr std::uint64_t max_payload_bytes() const {
    return static_cast<std::uint64_t>(flit_bytes) * max_data_flits;
  }
  // Bytes on the wire for a payload: whole flits, and a header for every packet. 0 for 0. Precondition: flits
  // and packets hold at least a byte.
  constexpr std::uint64_t wire_bytes(std::uint64_t payload_bytes) const {
    const std::uint64_t data_flits = (payload_bytes + flit_bytes - 1) / flit_bytes;
    const std::uint64_t packets = (data_flits + max_data_flits - 1) / max_data_flits;
    return (data_flits + packets * header_flits) * flit_bytes;
  }
  constexpr bool operator==(const PacketFormat&) const = default;
};

// One direction of a link.
struct LinkProfile {
  std::uint64_t bandwidth_bytes_per_s = 0;  // raw rate of the wire, all lanes and links of the port together
  Picoseconds latency_ps = 0;               // from the last bit sent to the last bit received
  std::optional<PacketFormat> packets;      // none: a pure pipe
  // Flow control of the link itself: a frame is sent while fewer bytes than this are on their way or not yet
  // acknowledged. 0: any number. No effect where only flows are simulated.
  std::uint64_t credit_bytes = 0;

  // Payload bytes a second of a long transfer, full packets only: the raw rate of a pure pipe, 16/17 of it
  // for NVLink, 0 when packets hold no data.
  std::uint64_t payload_bytes_per_s() const;
  constexpr bool operator==(const LinkProfile&) const = default;
};

struct LinkPreset {
  std::string_view name;         // "nvlink4"
  std::string_view description;  // "H100: 18 links of 25 GB/s"
  LinkProfile profile;
};

// nvlink1..nvlink5, all links of one GPU as one port. Rates and packet layout are published; the latency is
// not and is an assumption, stated in docs/timing.md.
const std::vector<LinkPreset>& link_presets();

// nullptr when there is no preset of that name.
const LinkPreset* find_link_preset(std::string_view name);

}  // namespace cnuas
