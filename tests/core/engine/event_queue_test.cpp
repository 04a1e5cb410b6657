#include "core/engine/event_queue.h"

#include <algorithm>
#include <cstdint>
#include <map>
#include <memory>
#include <ostream>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

namespace cnuas {
namespace {

using Queue = EventQueue<int>;

std::vector<int> drain(Queue& queue) {
  std::vector<int> payloads;
  while (!queue.empty())
    payloads.push_back(queue.pop().payload);
  return payloads;
}

TEST(EventQueue, IsEmptyAtFirst) {
  Queue queue;
  EXPECT_TRUE(queue.empty());
  EXPECT_EQ(queue.size(), 0u);
  EXPECT_EQ(queue.next_time(), kNever);
}

TEST(EventQueue, GivesBackWhatWasPushed) {
  Queue queue;
  queue.push(1'234'567, 2, 42);
  EXPECT_EQ(queue.size(), 1u);
  EXPECT_EQ(queue.next_time(), 1'234'567);
  const Queue::Event event = queue.pop();
  EXPECT_EQ(event.time_ps, 1'234'567);
  EXPECT_EQ(event.priority, 2u);
  EXPECT_EQ(event.payload, 42);
  EXPECT_TRUE(queue.empty());
  EXPECT_EQ(queue.next_time(), kNever);
}

TEST(EventQueue, TimeComesFirst) {
  Queue queue;
  queue.push(30, 0, 3);
  queue.push(10, 3, 1);
  queue.push(20, 1, 2);
  EXPECT_THAT(drain(queue), testing::ElementsAre(1, 2, 3));
}

TEST(EventQueue, PriorityDecidesWithinAnInstant) {
  Queue queue;
  queue.push(10, 3, 3);
  queue.push(10, 0, 0);
  queue.push(10, 2, 2);
  queue.push(10, 1, 1);
  EXPECT_THAT(drain(queue), testing::ElementsAre(0, 1, 2, 3));
}

TEST(EventQueue, InsertionDecidesBetweenEquals) {
  Queue queue;
  for (int i = 0; i < 1000; ++i)
    queue.push(1000, 1, i);
  std::vector<int> in_order(1000);
  for (int i = 0; i < 1000; ++i)
    in_order[static_cast<std::size_t>(i)] = i;
  EXPECT_EQ(drain(queue), in_order);
}

TEST(EventQueue, InsertionStillDecidesWhenEqualsWerePushedAtDifferentMoments) {
  Queue queue;
  queue.push(5, 0, -1);
  queue.push(1000, 1, 0);
  queue.pop();
  queue.push(1000, 1, 1);
  queue.push(900, 0, -2);
  queue.pop();
  queue.push(1000, 1, 2);
  EXPECT_EQ(queue.next_time(), 1000);
  queue.push(1000, 1, 3);
  EXPECT_THAT(drain(queue), testing::ElementsAre(0, 1, 2, 3));
}

TEST(EventQueue, AnEventOfThePresentMayBeMoreUrgentThanTheLastOne) {
  Queue queue;
  queue.push(10, 2, 1);
  queue.push(10, 2, 3);
  queue.push(11, 0, 4);
  EXPECT_EQ(queue.pop().payload, 1);
  queue.push(10, 0, 2);
  EXPECT_THAT(drain(queue), testing::ElementsAre(2, 3, 4));
}

TEST(EventQueue, LookingAheadDoesNotForbidEarlierEvents) {
  Queue queue;
  queue.push(100, 0, 1);
  EXPECT_EQ(queue.pop().payload, 1);
  queue.push(1'000'000, 0, 5);
  queue.push(1'000'000, 0, 6);
  EXPECT_EQ(queue.next_time(), 1'000'000);
  queue.push(500, 0, 3);
  EXPECT_EQ(queue.next_time(), 500);
  queue.push(100, 0, 2);
  EXPECT_EQ(queue.next_time(), 100);
  queue.push(600, 0, 4);
  EXPECT_THAT(drain(queue), testing::ElementsAre(2, 3, 4, 5, 6));
}

TEST(EventQueue, HoldsTheLatestTime) {
  Queue queue;
  queue.push(Queue::kMaxTime, 3, 3);
  queue.push(0, 0, 1);
  queue.push(Queue::kMaxTime, 2, 2);
  EXPECT_EQ(queue.pop().payload, 1);
  EXPECT_EQ(queue.next_time(), Queue::kMaxTime);
  const Queue::Event second = queue.pop();
  EXPECT_EQ(second.time_ps, Queue::kMaxTime);
  EXPECT_EQ(second.priority, 2u);
  EXPECT_EQ(queue.pop().payload, 3);
}

TEST(EventQueue, ClearForgetsEventsAndTime) {
  Queue queue;
  for (int i = 0; i < 100; ++i)
    queue.push(1000 + i, 0, i);
  queue.pop();
  queue.next_time();
  queue.clear();
  EXPECT_TRUE(queue.empty());
  EXPECT_EQ(queue.size(), 0u);
  EXPECT_EQ(queue.next_time(), kNever);
  queue.push(7, 0, 2);  // before everything that was popped
  queue.push(3, 0, 1);
  EXPECT_THAT(drain(queue), testing::ElementsAre(1, 2));
}

TEST(EventQueue, ClearInTheMiddleOfAnInstant) {
  Queue queue;
  for (int i = 0; i < 4; ++i)
    queue.push(1000, 0, i);
  queue.pop();
  queue.pop();
  queue.clear();
  queue.push(5, 0, 10);
  queue.push(5, 0, 11);
  EXPECT_THAT(drain(queue), testing::ElementsAre(10, 11));
}

TEST(EventQueue, CarriesPayloadsThatOnlyMove) {
  EventQueue<std::unique_ptr<std::string>> queue;
  queue.push(20, 0, std::make_unique<std::string>("later"));
  queue.push(10, 0, std::make_unique<std::string>("sooner"));
  EXPECT_EQ(*queue.pop().payload, "sooner");
  EXPECT_EQ(*queue.pop().payload, "later");
}

// --- Against a model -----------------------------------------------------------------------------

// The specification in one container: equal keys of a multimap stay in order of insertion.
class Model {
 public:
  void push(Picoseconds time_ps, unsigned priority, int payload) {
    events_.emplace(std::pair{time_ps, priority}, payload);
  }
  bool empty() const { return events_.empty(); }
  Picoseconds next_time() const { return events_.empty() ? kNever : events_.begin()->first.first; }
  Queue::Event pop() {
    const auto first = events_.begin();
    const Queue::Event event{first->first.first, first->first.second, first->second};
    events_.erase(first);
    return event;
  }
  void clear() { events_.clear(); }

 private:
  std::multimap<std::pair<Picoseconds, unsigned>, int> events_;
};

struct Operation {
  unsigned kind;      // 0..7: push, 8..13: pop, 14: look at the next time, 15: rarely clear
  unsigned shift;     // delay of a push: `mantissa` << `shift`, so that all magnitudes occur
  unsigned mantissa;  // 0 is common: events of the present
  unsigned priority;
};

// How rapidcheck prints a counterexample.
void showValue(const Operation& operation, std::ostream& out) {
  out << "{" << operation.kind << ", " << operation.shift << ", " << operation.mantissa << ", "
      << operation.priority << "}";
}

void run_against_model(const std::vector<Operation>& operations) {
  Queue queue;
  Model model;
  Picoseconds now = 0;
  int next_payload = 0;
  const auto compare_pop = [&] {
    const Queue::Event got = queue.pop();
    const Queue::Event wanted = model.pop();
    RC_ASSERT(got.time_ps == wanted.time_ps);
    RC_ASSERT(got.priority == wanted.priority);
    RC_ASSERT(got.payload == wanted.payload);
    now = got.time_ps;
  };
  for (const Operation& operation : operations) {
    if (operation.kind < 8) {
      const Picoseconds delay = static_cast<Picoseconds>(operation.mantissa) << operation.shift;
      const Picoseconds time = std::min(Queue::kMaxTime, now + delay);
      queue.push(time, operation.priority, next_payload);
      model.push(time, operation.priority, next_payload);
      ++next_payload;
    } else if (operation.kind < 14) {
      if (!model.empty()) compare_pop();
    } else if (operation.kind == 14) {
      RC_ASSERT(queue.next_time() == model.next_time());
    } else if (operation.shift < 10) {
      queue.clear();
      model.clear();
      now = 0;
    }
    RC_ASSERT(queue.empty() == model.empty());
  }
  while (!model.empty())
    compare_pop();
  RC_ASSERT(queue.empty());
}

rc::Gen<Operation> operation() {
  return rc::gen::map(
      rc::gen::tuple(
          rc::gen::inRange(0u, 16u), rc::gen::inRange(0u, 50u),
          rc::gen::weightedOneOf<unsigned>(
              {{2, rc::gen::just(0u)}, {3, rc::gen::inRange(0u, 4u)}, {3, rc::gen::inRange(0u, 1000u)}}),
          rc::gen::inRange(0u, 4u)),
      [](const std::tuple<unsigned, unsigned, unsigned, unsigned>& fields) {
        return Operation{std::get<0>(fields), std::get<1>(fields), std::get<2>(fields), std::get<3>(fields)};
      });
}

RC_GTEST_PROP(EventQueueProperty, EqualsTheModelForAnyInterleaving, ()) {
  const auto length = *rc::gen::inRange<std::size_t>(0, 400);
  const auto operations = *rc::gen::container<std::vector<Operation>>(length, operation());
  run_against_model(operations);
}

// Few distinct times, so that ties are the rule.
RC_GTEST_PROP(EventQueueProperty, EqualsTheModelWhenMostEventsTie, ()) {
  auto operations = *rc::gen::container<std::vector<Operation>>(300, operation());
  for (Operation& each : operations) {
    each.shift = 1;
    each.mantissa %= 3;
  }
  run_against_model(operations);
}

}  // namespace
}  // namespace cnuas
