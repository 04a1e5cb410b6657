// Puts that wait to become one frame: a frame under way for each of a few peers, to which small puts are
// added, as a GPU combines the stores of a warp.
#pragma once

#include "core/topology/gpu_id.h"
#include "core/wire/window.h"
#include "live/endpoint/frame_memory.h"

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

namespace cnuas::live::endpoint {

// One thread at a time.
class PutCombiner {
 public:
  static constexpr std::size_t kMostFrames = 8;

  // `segment_bytes`: what the segments of a frame may have, their heads included.
  PutCombiner(std::size_t segment_bytes, FrameMemory& memory)
      : segment_bytes_(segment_bytes), memory_(memory) {}

  enum class Added { yes, after_sending, no_memory };
  // after_sending: in_the_way() has to be sent first. A put that begins where the last one of its frame ended
  // makes that one's segment longer. Precondition: data is not empty and fits a frame with its head.
  Added add(GpuId peer, std::uint16_t window, std::uint64_t offset, std::span<const std::byte> data);
  // Whose frame keeps a put to `peer` from being added: its own, or the one that was added to longest ago.
  GpuId in_the_way(GpuId peer) const;

  struct Frame {
    GpuId peer;  // kNoGpu: none
    std::uint16_t window = 0;
    std::span<const std::byte> segments;
    std::uint64_t segment_count = 0;
    // --- the combiner's own ---
    AlignedBytes memory;
    std::size_t last_segment_at = 0;
    std::uint64_t last_segment_end = 0;  // offset in the window
    std::uint64_t used = 0;
  };
  // The frame for a peer, or any if it is kBroadcast; null when there is none.
  const Frame* frame_for(GpuId peer) const;
  // It has been sent.
  void remove(GpuId peer);
  bool empty() const { return open_ == 0; }

 private:
  Frame* find(GpuId peer);
  Added begin(GpuId peer, std::uint16_t window, Frame*& out);
  void append(Frame& frame, std::uint64_t offset, std::span<const std::byte> data);

  std::size_t segment_bytes_;
  FrameMemory& memory_;
  std::array<Frame, kMostFrames> frames_{};
  std::size_t open_ = 0;
  std::uint64_t uses_ = 0;
};

}  // namespace cnuas::live::endpoint
