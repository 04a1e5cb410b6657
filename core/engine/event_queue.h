// A queue of timed events in one total order: time, then priority, then order of insertion.
#pragma once

#include "core/engine/time.h"

#include <array>
#include <bit>
#include <cassert>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

namespace cnuas {

// A radix heap (Ahuja, Mehlhorn, Orlin, Tarjan, "Faster algorithms for the shortest path problem", 1990):
// simulated time never runs backwards, so events are kept in buckets by the highest bit in which their key
// differs from the last one popped, and an event only ever moves to a lower bucket. Cost per event is
// amortised over the bits it crosses and hardly depends on how many events are pending; the buckets keep
// their capacity, so a steady state allocates nothing.
//
// The key is (time << 2 | priority): times up to kMaxTime, priorities 0 (first) to 3. Equal keys leave in
// order of insertion, because equal keys always share a bucket and buckets are only ever appended to and
// replayed in order.
template <class Payload>
class EventQueue {
 public:
  static constexpr Picoseconds kMaxTime = kNever >> 2;
  static constexpr unsigned kPriorities = 4;

  struct Event {
    Picoseconds time_ps;
    unsigned priority;
    Payload payload;
  };

  bool empty() const { return size_ == 0; }
  std::size_t size() const { return size_; }

  // Precondition: time_ps is not before the last popped event and at most kMaxTime; priority < kPriorities.
  // An event for the present moment may be more urgent than the last popped one: it then leaves next.
  void push(Picoseconds time_ps, unsigned priority, Payload payload) {
    assert(time_ps >= 0 && time_ps <= kMaxTime && priority < kPriorities);
    const std::uint64_t key = (static_cast<std::uint64_t>(time_ps) << 2) | priority;
    if (key < last_) lower_last_to(key);
    put(Entry{key, std::move(payload)});
    ++size_;
  }

  // Time of the next event; kNever when empty.
  Picoseconds next_time() {
    if (size_ == 0) return kNever;
    settle();
    return static_cast<Picoseconds>(last_ >> 2);
  }

  // Precondition: not empty.
  Event pop() {
    assert(size_ > 0);
    settle();
    Entry entry = std::move(buckets_[0][head_++]);
    if (head_ == buckets_[0].size()) {
      buckets_[0].clear();
      head_ = 0;
    }
    --size_;
    return Event{static_cast<Picoseconds>(entry.key >> 2), static_cast<unsigned>(entry.key & 3),
                 std::move(entry.payload)};
  }

  void clear() {
    for (auto& bucket : buckets_)
      bucket.clear();
    head_ = size_ = 0;
    last_ = 0;
  }

 private:
  struct Entry {
    std::uint64_t key;
    Payload payload;
  };

  static unsigned bucket_of(std::uint64_t key, std::uint64_t last) {
    return key == last ? 0 : 64u - static_cast<unsigned>(std::countl_zero(key ^ last));
  }

  void put(Entry entry) { buckets_[bucket_of(entry.key, last_)].push_back(std::move(entry)); }

  // Makes buckets_[0] hold the events with the least key.
  void settle() {
    if (head_ < buckets_[0].size()) return;
    unsigned b = 1;
    while (buckets_[b].empty())
      ++b;
    std::uint64_t least = buckets_[b].front().key;
    for (const Entry& entry : buckets_[b])
      least = entry.key < least ? entry.key : least;
    last_ = least;
    // Every entry of this bucket agrees with the new last_ in bit b-1 and above, so it lands strictly lower.
    moving_.swap(buckets_[b]);
    for (Entry& entry : moving_)
      put(std::move(entry));
    moving_.clear();
    moving_.swap(buckets_[b]);
  }

  // Looking at the next event moves last_ up to it; a later push may still come before that event. Bit top-1
  // is the highest in which the two differ: set in last_, clear in key. Whatever is filed below bucket `top`
  // agrees with last_ there, so all of it belongs into `top` now, and `top` itself is empty, since nothing
  // pending is below last_.
  void lower_last_to(std::uint64_t key) {
    const unsigned top = bucket_of(key, last_);
    std::vector<Entry>& target = buckets_[top];
    for (unsigned b = 0; b < top; ++b) {
      std::vector<Entry>& bucket = buckets_[b];
      for (std::size_t i = b == 0 ? head_ : 0; i < bucket.size(); ++i)
        target.push_back(std::move(bucket[i]));
      bucket.clear();
    }
    head_ = 0;
    last_ = key;
  }

  std::array<std::vector<Entry>, 65> buckets_;
  std::vector<Entry> moving_;
  std::size_t head_ = 0;  // entries of buckets_[0] already popped
  std::size_t size_ = 0;
  std::uint64_t last_ = 0;  // no pending key is below this; what buckets_ is filed against
};

}  // namespace cnuas
