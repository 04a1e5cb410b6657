#include "live/switchd/frame_pool.h"

#include <cstring>

namespace cnuas::live {

namespace {

constexpr std::size_t kBlocksASlab = 16;
// Above this a copy costs more than the rest of a block is worth.
constexpr std::size_t kMostMoved = FramePool::kBlockBytes / 4;

}  // namespace

void FramePool::FreeSlab::operator()(std::byte* slab) const {
  ::operator delete(slab, kAlignment);
}

std::byte* FramePool::take_block() {
  if (free_blocks_.empty()) {
    slabs_.push_back(Slab(static_cast<std::byte*>(::operator new(kBlocksASlab* kBlockBytes, kAlignment))));
    for (std::size_t i = kBlocksASlab; i-- > 0;)
      free_blocks_.push_back(slabs_.back().get() + i * kBlockBytes);
  }
  std::byte* block = free_blocks_.back();
  free_blocks_.pop_back();
  ++blocks_in_use_;
  return block;
}

FramePool::BufferId FramePool::take() {
  BufferId id = 0;
  if (free_ids_.empty()) {
    id = static_cast<BufferId>(buffers_.size());
    buffers_.emplace_back();
  } else {
    id = free_ids_.back();
    free_ids_.pop_back();
  }
  buffers_[id].data = take_block();
  return id;
}

void FramePool::give_back(BufferId id) {
  Buffer& buffer = buffers_[id];
  if (buffer.own) {
    buffer.own.reset();
  } else {
    free_blocks_.push_back(buffer.data);
    --blocks_in_use_;
  }
  buffer.data = nullptr;
  free_ids_.push_back(id);
}

void FramePool::shrink(BufferId id, std::size_t bytes) {
  Buffer& buffer = buffers_[id];
  if (bytes > kMostMoved || buffer.own || blocks_in_use_ <= kBlocksAtHand) return;
  buffer.own = std::unique_ptr<std::byte[]>(new std::byte[bytes]);
  std::memcpy(buffer.own.get(), buffer.data, bytes);
  free_blocks_.push_back(buffer.data);
  --blocks_in_use_;
  buffer.data = buffer.own.get();
}

}  // namespace cnuas::live
