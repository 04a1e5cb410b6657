// Messages that have arrived before their step was reached, counted by source and channel.
#pragma once

#include "core/ccl/collective.h"

#include <cstddef>
#include <cstdint>
#include <vector>

namespace cnuas::ccl {

// An open-addressed table with linear probing and deletion by shifting back, so that a straggler among
// thousands of ranks costs no search through all of them. Allocates only when it has to hold more distinct
// (source, channel) pairs than ever before.
class EarlyMessages {
 public:
  void add(Rank peer, std::uint8_t channel) {
    ++total_;
    if (2 * (used_ + 1) > slots_.size()) grow();
    insert(key_of(peer, channel), 1);
  }

  // Takes one message of (peer, channel) out; false if there is none.
  bool take(Rank peer, std::uint8_t channel) {
    if (total_ == 0) return false;
    const std::size_t slot = find(key_of(peer, channel));
    if (slots_[slot].count == 0) return false;
    --total_;
    if (--slots_[slot].count == 0) remove(slot);
    return true;
  }

  std::uint64_t total() const { return total_; }

 private:
  struct Slot {
    std::uint64_t key = 0;
    std::uint64_t count = 0;  // 0: free
  };

  static std::uint64_t key_of(Rank peer, std::uint8_t channel) {
    return (static_cast<std::uint64_t>(peer) << 8) | channel;
  }
  // Fibonacci hashing: consecutive ranks spread over the table.
  std::size_t home(std::uint64_t key) const {
    return static_cast<std::size_t>((key * 0x9E3779B97F4A7C15u) >> 32) & (slots_.size() - 1);
  }
  std::size_t next(std::size_t slot) const { return (slot + 1) & (slots_.size() - 1); }

  // The slot of `key`, or the free one where it belongs.
  std::size_t find(std::uint64_t key) const {
    std::size_t slot = home(key);
    while (slots_[slot].count != 0 && slots_[slot].key != key)
      slot = next(slot);
    return slot;
  }

  void insert(std::uint64_t key, std::uint64_t count) {
    Slot& slot = slots_[find(key)];
    if (slot.count == 0) ++used_;
    slot.key = key;
    slot.count += count;
  }

  // Closes the gap, so that no probe sequence is cut.
  void remove(std::size_t gap) {
    --used_;
    for (std::size_t slot = next(gap); slots_[slot].count != 0; slot = next(slot)) {
      const std::size_t from_home = (slot - home(slots_[slot].key)) & (slots_.size() - 1);
      const std::size_t from_gap = (slot - gap) & (slots_.size() - 1);
      if (from_home < from_gap) continue;
      slots_[gap] = slots_[slot];
      slots_[slot].count = 0;
      gap = slot;
    }
  }

  void grow() {
    std::vector<Slot> old(slots_.empty() ? 8 : 2 * slots_.size());
    old.swap(slots_);
    used_ = 0;
    for (const Slot& slot : old)
      if (slot.count != 0) insert(slot.key, slot.count);
  }

  std::vector<Slot> slots_;  // a power of two of them, at most half in use
  std::size_t used_ = 0;
  std::uint64_t total_ = 0;
};

}  // namespace cnuas::ccl
