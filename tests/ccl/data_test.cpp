// Schedules carry real data, with messages and completions in every order that can happen.
#include "core/ccl/executor.h"
#include "tests/ccl/mutated_schedule.h"
#include "tests/ccl/shipped.h"
#include "tests/slow_build.h"

#include <algorithm>
#include <cstring>
#include <deque>
#include <iterator>
#include <limits>
#include <map>
#include <random>
#include <tuple>

#include <gtest/gtest.h>

namespace cnuas::ccl {
namespace {

// One function for every fold, so that the compiler cannot choose the order of operands here and there: with
// two NaNs it shows in the bits.
[[gnu::noinline]] float fold(float left, float right) {
  return left + right;
}
[[gnu::noinline]] std::uint32_t fold(std::uint32_t left, std::uint32_t right) {
  return left + right;
}

// Whatever makes the order of a float sum visible: mixed magnitudes, both zeros, NaNs, infinities, denormals.
float order_sensitive(std::mt19937_64& random) {
  using Limits = std::numeric_limits<float>;
  constexpr float kSpecial[] = {0.0F,
                                -0.0F,
                                Limits::infinity(),
                                -Limits::infinity(),
                                Limits::quiet_NaN(),
                                Limits::denorm_min(),
                                -Limits::denorm_min(),
                                Limits::max(),
                                1e30F,
                                -1e30F};
  if (random() % 16 == 0) return kSpecial[random() % std::size(kSpecial)];
  const float magnitude[] = {1e-6F, 1.0F, 1e4F, 1e8F};
  const auto mantissa = static_cast<float>(static_cast<std::int64_t>(random() % 2'000'001) - 1'000'000);
  return mantissa * magnitude[random() % std::size(magnitude)];
}
void fill(std::vector<float>& values, std::mt19937_64& random) {
  for (float& value : values)
    value = order_sensitive(random);
}
void fill(std::vector<std::uint32_t>& values, std::mt19937_64& random) {
  for (std::uint32_t& value : values)
    value = static_cast<std::uint32_t>(random());
}

template <class T>
bool same_bits(const std::vector<T>& a, const std::vector<T>& b) {
  return a.size() == b.size() && (a.empty() || std::memcmp(a.data(), b.data(), a.size() * sizeof(T)) == 0);
}

// The inputs of a collective, and what must come out.
template <class T>
struct Inputs {
  Inputs(const Problem& problem, std::mt19937_64& random) : problem_(problem), of(problem.ranks) {
    for (Rank rank = 0; rank < problem.ranks; ++rank) {
      of[rank].resize(input_elements(problem, rank));
      fill(of[rank], random);
    }
  }

  // Reductions: the left fold.
  std::vector<T> result(Rank rank) const {
    const Block own = partition(problem_.count, problem_.ranks, rank);
    switch (problem_.collective) {
      case Collective::broadcast:
        return of[problem_.root];
      case Collective::all_gather:
      case Collective::all_to_all: {
        std::vector<T> all;
        for (const std::vector<T>& input : of) {
          const bool gathers = problem_.collective == Collective::all_gather;
          const auto first = input.begin() + static_cast<std::ptrdiff_t>(gathers ? 0 : own.offset);
          all.insert(all.end(), first,
                     gathers ? input.end() : first + static_cast<std::ptrdiff_t>(own.count));
        }
        return all;
      }
      case Collective::all_reduce:
      case Collective::reduce_scatter:
        break;
    }
    std::vector<T> sum = of[0];
    for (Rank source = 1; source < problem_.ranks; ++source)
      for (std::size_t i = 0; i < sum.size(); ++i)
        sum[i] = fold(sum[i], of[source][i]);
    if (problem_.collective == Collective::all_reduce) return sum;
    const auto first = sum.begin() + static_cast<std::ptrdiff_t>(own.offset);
    return {first, first + static_cast<std::ptrdiff_t>(own.count)};
  }

  Problem problem_;
  std::vector<std::vector<T>> of;
};

// The memory of one rank. In place, input and output are the same, as schedule.h defines it.
template <class T>
class Memory {
 public:
  Memory(const Schedule& schedule, Rank rank, bool in_place, const std::vector<T>& input)
      : outputs_(output_elements(schedule.problem(), rank)), scratch_(schedule.scratch_elements(rank), T{}) {
    const Problem& problem = schedule.problem();
    const Block own = partition(problem.count, problem.ranks, rank);
    const bool shared = in_place && !(problem.collective == Collective::broadcast && rank != problem.root);
    if (shared && problem.collective == Collective::all_gather) input_at_ = own.offset;
    if (shared && problem.collective == Collective::reduce_scatter) output_at_ = own.offset;
    memory_.resize(std::max(input_at_ + input.size(), output_at_ + outputs_), T{});
    std::copy(input.begin(), input.end(), memory_.begin() + static_cast<std::ptrdiff_t>(input_at_));
    if (!shared) output_at_ = memory_.size();
    memory_.resize(std::max(memory_.size(), output_at_ + outputs_), T{});
  }

  T* at(const Location& location) {
    if (location.buffer == Buffer::scratch) return scratch_.data() + location.offset;
    return memory_.data() + (location.buffer == Buffer::input ? input_at_ : output_at_) + location.offset;
  }
  std::vector<T> output() {
    const T* first = at(Location{Buffer::output, 0});
    return {first, first + outputs_};
  }

 private:
  std::uint64_t outputs_;
  std::vector<T> memory_;
  std::vector<T> scratch_;
  std::uint64_t input_at_ = 0;
  std::uint64_t output_at_ = 0;
};

// Runs all ranks. What happens next, the completion of a send or the arrival of a message, is drawn at
// random; a send's data is taken as late as it may be, when the send completes.
template <class T>
class RandomRun {
 public:
  RandomRun(const Schedule& schedule, const Inputs<T>& inputs, bool in_place, std::mt19937_64& random)
      : random_(random) {
    const Rank ranks = schedule.problem().ranks;
    executors_.reserve(ranks);
    for (Rank rank = 0; rank < ranks; ++rank) {
      memory_.emplace_back(schedule, rank, in_place, inputs.of[rank]);
      executors_.emplace_back(schedule, rank, true);
    }
  }

  // False if some rank does not finish.
  bool run() {
    for (Executor& executor : executors_) {
      executor.start(actions_);
      carry_out(executor.rank());
    }
    while (!sending_.empty() || !on_the_way_.empty()) {
      const std::size_t next = random_() % (sending_.size() + on_the_way_.size());
      if (next < sending_.size())
        complete_send(next);
      else
        deliver(next - sending_.size());
    }
    return std::all_of(executors_.begin(), executors_.end(), [](const Executor& e) { return e.finished(); });
  }

  std::vector<T> output(Rank rank) { return memory_[rank].output(); }

 private:
  using Channel = std::tuple<Rank, Rank, std::uint8_t>;  // source, destination, number
  struct Send {
    Rank rank;
    Lane lane;
    Step step;
  };

  void carry_out(Rank rank) {
    const Executor::Actions actions = std::move(actions_);
    actions_.clear();
    for (const Executor::Action& action : actions) {
      const Step& step = action.step;
      if (step.op == Op::send) {
        sending_.push_back(Send{rank, action.lane, step});
        continue;
      }
      std::vector<T> data;
      if (step.op == Op::copy || step.op == Op::reduce) {
        const T* src = memory_[rank].at(step.src);
        data.assign(src, src + step.count);
      } else {
        auto& arrived = arrived_[{step.peer, rank, step.channel}];
        ASSERT_FALSE(arrived.empty());
        data = std::move(arrived.front());
        arrived.pop_front();
      }
      store(rank, step, data);
    }
  }

  void store(Rank rank, const Step& step, const std::vector<T>& data) {
    T* dst = memory_[rank].at(step.dst);
    const T* operand = step.op == Op::reduce ? dst : memory_[rank].at(step.src);
    const bool folds = step.op == Op::reduce || step.op == Op::recv_reduce;
    ASSERT_EQ(data.size(), step.count);
    for (std::size_t i = 0; i < data.size(); ++i) {
      if (!folds)
        dst[i] = data[i];
      else
        dst[i] = step.incoming_left ? fold(data[i], operand[i]) : fold(operand[i], data[i]);
    }
  }

  void complete_send(std::size_t which) {
    const Send send = sending_[which];
    sending_[which] = sending_.back();
    sending_.pop_back();
    const Channel channel{send.rank, send.step.peer, send.step.channel};
    const T* src = memory_[send.rank].at(send.step.src);
    flying_[channel].emplace_back(src, src + send.step.count);
    on_the_way_.push_back(channel);
    executors_[send.rank].sent(send.lane, actions_);
    carry_out(send.rank);
  }

  void deliver(std::size_t which) {
    const Channel channel = on_the_way_[which];
    on_the_way_[which] = on_the_way_.back();
    on_the_way_.pop_back();
    const auto [source, destination, number] = channel;
    arrived_[channel].push_back(std::move(flying_[channel].front()));
    flying_[channel].pop_front();
    executors_[destination].arrived(source, number, actions_);
    carry_out(destination);
  }

  std::mt19937_64& random_;
  std::vector<Memory<T>> memory_;
  std::vector<Executor> executors_;
  Executor::Actions actions_;
  std::vector<Send> sending_;
  std::vector<Channel> on_the_way_;  // one entry a message; which one of a channel is next is up to flying_
  std::map<Channel, std::deque<std::vector<T>>> flying_;
  std::map<Channel, std::deque<std::vector<T>>> arrived_;
};

class DataTest : public testing::TestWithParam<Shipped> {
 protected:
  // Calls check(problem, inputs, in_place, outputs) for many problems and interleavings.
  template <class T, class Check>
  static void for_each_run(std::uint64_t seed, const Check& check) {
    std::mt19937_64 random(seed);
    for (int i = 0; i < (test::kSlowBuild ? 150 : 600); ++i) {
      const auto ranks = static_cast<Rank>(1 + random() % 17);
      const std::uint64_t count = random() % (4 * ranks);
      const Problem problem =
          problem_of(GetParam(), ranks, count, static_cast<Rank>(random() % ranks), 1 + random() % 6);
      const auto schedule = schedule_of(problem);
      ASSERT_NE(schedule, nullptr);
      const Inputs<T> inputs(problem, random);
      const bool in_place = problem.collective != Collective::all_to_all && i % 2 == 1;
      RandomRun<T> run(*schedule, inputs, in_place, random);
      ASSERT_TRUE(run.run()) << describe(problem);
      std::vector<std::vector<T>> outputs;
      for (Rank rank = 0; rank < ranks; ++rank)
        outputs.push_back(run.output(rank));
      check(problem, inputs, outputs);
    }
  }
};
INSTANTIATE_TEST_SUITE_P(Shipped, DataTest, testing::ValuesIn(all_shipped()),
                         [](const auto& shipped) { return label(shipped.param); });

// Integers wrap, so any order of a fold gives the same.
TEST_P(DataTest, IntegersEqualTheSerialResult) {
  for_each_run<std::uint32_t>(1, [](const Problem& problem, const auto& inputs, const auto& outputs) {
    for (Rank rank = 0; rank < problem.ranks; ++rank)
      EXPECT_TRUE(same_bits(outputs[rank], inputs.result(rank))) << describe(problem) << ", rank " << rank;
  });
}

// Floats show the order: the left fold where it is guaranteed, and the same bits everywhere in any case.
TEST_P(DataTest, FloatsKeepTheGuarantee) {
  for_each_run<float>(2, [](const Problem& problem, const auto& inputs, const auto& outputs) {
    const FoldGuarantee guarantee = fold_guarantee(problem.collective, problem.algorithm, problem.ranks);
    for (Rank rank = 0; rank < problem.ranks; ++rank) {
      if (guarantee.canonical) {
        EXPECT_TRUE(same_bits(outputs[rank], inputs.result(rank))) << describe(problem) << ", rank " << rank;
      }
      if (problem.collective == Collective::all_reduce && guarantee.same_everywhere) {
        EXPECT_TRUE(same_bits(outputs[rank], outputs[0])) << describe(problem) << ", rank " << rank;
      }
    }
  });
}

// The test above is worth nothing if its data does not show the order of a fold. Folding the own contribution
// first is the mistake it is there for.
TEST(DataSensitivityTest, OwnContributionFirstShowsInTheBits) {
  std::mt19937_64 random(3);
  const Problem problem{Collective::all_reduce, Algorithm::one_shot, 5, 64, 0, 1};
  const auto schedule = schedule_of(problem);
  // Rank 2 folds after its 4 receives: r0 + r1, + r2, + r3, + r4. Exchange what r1 and r2 are read from.
  const Step second = schedule->step(2, 1, 4);
  const Step third = schedule->step(2, 1, 5);
  ASSERT_EQ(third.src, (Location{Buffer::input, 0}));
  const MutatedSchedule own_first(*schedule, [&](Rank rank, Lane lane, std::uint64_t index, Step& step) {
    if (rank == 2 && lane == 1 && index == 4) step.src = third.src;
    if (rank == 2 && lane == 1 && index == 5) step.src = second.src;
  });
  const Inputs<float> inputs(problem, random);
  RandomRun<float> run(own_first, inputs, false, random);
  ASSERT_TRUE(run.run());
  EXPECT_TRUE(same_bits(run.output(0), inputs.result(0)));
  EXPECT_FALSE(same_bits(run.output(2), inputs.result(2)));
}

}  // namespace
}  // namespace cnuas::ccl
