// A frame as the switch handles it: what its header says, and a name for the bytes, which the switch never
// touches.
#pragma once

#include "core/wire/frame.h"

#include <cstdint>

namespace cnuas::fabric_switch {

using PortIndex = std::uint16_t;
inline constexpr std::size_t kMaxPorts = 1024;

// Names the caller's buffer (or simulated message); any value but kOwnFrame. The switch keeps it while a
// queue holds the frame and gives it back once, through Actions::released, when the last queue has let go.
using BufferId = std::uint32_t;

// In the place of a buffer: a frame that the switch makes itself. It has a header and no payload.
inline constexpr BufferId kOwnFrame = 0xFFFFFFFF;

struct FrameRef {
  wire::FrameHeader header;
  BufferId buffer = 0;
  // 64 bits, because a simulation may let one frame stand for a burst.
  std::uint64_t bytes() const { return wire::kHeaderBytes + std::uint64_t{header.payload_bytes}; }
};

}  // namespace cnuas::fabric_switch
