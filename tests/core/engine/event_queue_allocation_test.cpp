// The event queue must not allocate once its buckets have grown: this program counts every operator new.

#include "core/engine/event_queue.h"
#include "tests/counted_allocations.h"

#include <cstdint>

#include <gtest/gtest.h>

namespace cnuas {
namespace {

using cnuas::test::allocations;

// Enough randomness for delays, the same on every machine (Marsaglia's xorshift).
class Delays {
 public:
  Picoseconds next(unsigned bits) {
    state_ ^= state_ << 13;
    state_ ^= state_ >> 7;
    state_ ^= state_ << 17;
    return static_cast<Picoseconds>(state_ >> (64 - bits));
  }

 private:
  std::uint64_t state_ = 0x9E3779B97F4A7C15;
};

// `pending` events, each of which schedules its successor, for `events` in all.
void churn(EventQueue<std::uint32_t>& queue, std::uint32_t pending, std::uint64_t events,
           unsigned delay_bits) {
  Delays delays;
  for (std::uint32_t i = 0; i < pending; ++i)
    queue.push(delays.next(delay_bits), i & 3, i);
  for (std::uint64_t i = 0; i < events; ++i) {
    const auto event = queue.pop();
    queue.push(event.time_ps + delays.next(delay_bits), event.priority, event.payload);
  }
}

TEST(EventQueueAllocation, TheCounterCounts) {
  const std::uint64_t before = allocations;
  delete new int(1);
  EXPECT_EQ(allocations, before + 1);
}

TEST(EventQueueAllocation, NoneOnceTheBucketsHaveGrown) {
  EventQueue<std::uint32_t> queue;
  churn(queue, 1000, 200'000, 20);
  queue.clear();
  const std::uint64_t before = allocations;
  churn(queue, 1000, 200'000, 20);
  EXPECT_EQ(allocations, before);
}

TEST(EventQueueAllocation, NoneWhileEventsFollowEachOtherOneByOne) {
  EventQueue<std::uint32_t> queue;
  churn(queue, 8, 100'000, 12);
  queue.clear();
  const std::uint64_t before = allocations;
  churn(queue, 8, 100'000, 12);
  EXPECT_EQ(allocations, before);
}

// Time itself grows, and with it the number of buckets in use; that costs each bucket its growth and no more.
TEST(EventQueueAllocation, AHandfulOverTheWholeOfTime) {
  EventQueue<std::uint32_t> queue;
  const std::uint64_t before = allocations;
  churn(queue, 1000, 2'000'000, 40);
  const std::uint64_t growth_of_one_vector = 12;  // doublings from 1 entry to more than 1000
  EXPECT_LE(allocations - before, 66 * growth_of_one_vector);
}

}  // namespace
}  // namespace cnuas
