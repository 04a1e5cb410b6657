// One buffer in several queues: how many still hold it.
#pragma once

#include <cassert>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace cnuas::fabric_switch {

// Counts for the buffers of flooded frames. A buffer in a single queue, the common case, takes none. Counts
// are taken from a free list, so BufferIds may be any numbers and a steady state allocates nothing.
class SharedBuffers {
 public:
  using Slot = std::uint32_t;
  static constexpr Slot kSole = 0xFFFFFFFF;  // one holder, no count

  // Precondition: holders > 0.
  Slot share(std::uint32_t holders) {
    assert(holders > 0);
    if (holders == 1) return kSole;
    if (free_.empty()) {
      counts_.push_back(holders);
      return static_cast<Slot>(counts_.size() - 1);
    }
    const Slot slot = free_.back();
    free_.pop_back();
    counts_[slot] = holders;
    return slot;
  }

  // One holder lets go; true when it was the last.
  bool let_go(Slot slot) {
    if (slot == kSole) return true;
    assert(counts_[slot] > 0);
    if (--counts_[slot] > 0) return false;
    free_.push_back(slot);
    return true;
  }

  std::size_t in_use() const { return counts_.size() - free_.size(); }

 private:
  std::vector<std::uint32_t> counts_;
  std::vector<Slot> free_;
};

}  // namespace cnuas::fabric_switch
