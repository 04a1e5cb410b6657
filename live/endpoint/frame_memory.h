// Memory for frames, laid out so that payloads start at multiples of 64 bytes.
#pragma once

#include "core/wire/frame.h"

#include <cstddef>
#include <cstdlib>
#include <memory>
#include <utility>
#include <vector>

namespace cnuas::live::endpoint {

inline constexpr std::size_t kPayloadAlignment = 64;

struct FreeBytes {
  void operator()(std::byte* memory) const { std::free(memory); }
};
using AlignedBytes = std::unique_ptr<std::byte[], FreeBytes>;

// Not initialised. Null when there is no memory. Precondition: `bytes` is a multiple of `alignment`, a power
// of two.
inline AlignedBytes allocate_aligned(std::size_t bytes, std::size_t alignment = kPayloadAlignment) {
  return AlignedBytes(static_cast<std::byte*>(std::aligned_alloc(alignment, bytes)));
}

// Room for the largest frame, its payload at a page: the kernel keeps large frames in pages of their own, and
// copying them to an address a few bytes further in its page costs some processors three times as much.
inline constexpr std::size_t kPage = 4096;
inline constexpr std::size_t kFramePayloadAt = kPage;
inline constexpr std::size_t kFrameAt = kFramePayloadAt - wire::kHeaderBytes;
inline constexpr std::size_t kFrameMemoryBytes = kPage + wire::kMaxFrameBytes;
inline AlignedBytes allocate_frame() {
  return allocate_aligned(kFrameMemoryBytes, kPage);
}

// Keeps frame memory that is not in use, hottest first. One thread at a time.
class FrameMemory {
 public:
  AlignedBytes take() {
    if (spare_.empty()) return allocate_frame();
    AlignedBytes memory = std::move(spare_.back());
    spare_.pop_back();
    return memory;
  }
  void give_back(AlignedBytes memory) {
    if (spare_.size() < kMostSpare) spare_.push_back(std::move(memory));
  }
  FrameMemory() { spare_.reserve(kMostSpare); }

 private:
  static constexpr std::size_t kMostSpare = 64;
  std::vector<AlignedBytes> spare_;
};

}  // namespace cnuas::live::endpoint
