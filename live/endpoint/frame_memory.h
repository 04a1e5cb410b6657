// Memory for frames, laid out so that payloads start at multiples of 64 bytes.
#pragma once

#include "core/wire/frame.h"

#include <cstddef>
#include <memory>
#include <new>
#include <vector>

namespace cnuas::live::endpoint {

inline constexpr std::size_t kPayloadAlignment = 64;

struct AlignedDelete {
  void operator()(std::byte* memory) const {
    ::operator delete[](memory, std::align_val_t{kPayloadAlignment});
  }
};
using AlignedBytes = std::unique_ptr<std::byte[], AlignedDelete>;

// Not initialised. Null when there is no memory.
inline AlignedBytes allocate_aligned(std::size_t bytes) {
  return AlignedBytes(new (std::align_val_t{kPayloadAlignment}, std::nothrow) std::byte[bytes]);
}

// Room for the largest frame; its payload is aligned.
inline constexpr std::size_t kFrameAt = kPayloadAlignment - wire::kHeaderBytes;
inline constexpr std::size_t kFrameMemoryBytes = kFrameAt + wire::kMaxFrameBytes;

// Keeps frame memory that is not in use, hottest first. One thread at a time.
class FrameMemory {
 public:
  AlignedBytes take() {
    if (spare_.empty()) return allocate_aligned(kFrameMemoryBytes);
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
