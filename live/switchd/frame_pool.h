// The daemon's frame buffers. The switch only ever sees their numbers.
#pragma once

#include "core/switch/frame_ref.h"
#include "core/wire/frame.h"

#include <cstddef>
#include <memory>
#include <new>
#include <span>
#include <vector>

namespace cnuas::live {

// Receiving needs room for the largest frame, waiting only for the frame at hand: when much is waiting, a
// frame that has to wait is moved to memory of its own size, under the same number. Blocks are reused last
// in, first out, so that those in use stay in the processor's cache. What is in use is bounded by what the
// switch lets wait (SwitchConfig::overrun_bytes, PortConfig::queue_bytes).
class FramePool {
 public:
  using BufferId = fabric_switch::BufferId;

  static constexpr std::size_t kBlockBytes = wire::kMaxFrameBytes;

  static constexpr std::size_t kBlocksAtHand = 256;

  // A buffer of kBlockBytes, its content arbitrary.
  BufferId take();
  void give_back(BufferId buffer);

  std::byte* data(BufferId buffer) { return buffers_[buffer].data; }
  bool in_use(BufferId buffer) const { return buffers_[buffer].data != nullptr; }
  // Keeps the first `bytes` of a buffer in use. Its block is for others then if that is worth a copy: not for
  // a large frame, nor while kBlocksAtHand or fewer are in use.
  void shrink(BufferId buffer, std::size_t bytes);

  std::size_t buffers_in_use() const { return buffers_.size() - free_ids_.size(); }

 private:
  struct Buffer {
    std::byte* data = nullptr;  // a whole block, or own.get()
    std::unique_ptr<std::byte[]> own;
  };
  // Of a page, as the kernel's own buffers are: processors copy between addresses that differ in their last
  // bits at less than half the speed.
  static constexpr std::align_val_t kAlignment{4096};
  struct FreeSlab {
    void operator()(std::byte* slab) const;
  };
  using Slab = std::unique_ptr<std::byte, FreeSlab>;

  std::byte* take_block();

  std::vector<Buffer> buffers_;  // by BufferId
  std::vector<BufferId> free_ids_;
  std::vector<Slab> slabs_;
  std::vector<std::byte*> free_blocks_;
  std::size_t blocks_in_use_ = 0;
};

}  // namespace cnuas::live
