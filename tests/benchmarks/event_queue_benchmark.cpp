// What an event costs, by how many are pending: each is popped and another one pushed at a random distance
// ahead (the "hold" model). --benchmark_format=json for JSON; the ratio of the rows is what counts.
#include "core/engine/event_queue.h"
#include "core/engine/random.h"

#include <benchmark/benchmark.h>

namespace {

void hold(benchmark::State& state) {
  const auto pending = static_cast<std::size_t>(state.range(0));
  cnuas::EventQueue<std::uint64_t> queue;
  cnuas::Random random(1);
  const auto ahead = [&] { return static_cast<cnuas::Picoseconds>(random.below(2 * cnuas::kMicrosecond)); };
  for (std::size_t i = 0; i < pending; ++i)
    queue.push(ahead(), 0, i);
  for (auto _ : state) {
    const auto event = queue.pop();
    queue.push(event.time_ps + 1 + ahead(), 0, event.payload);
  }
  state.SetItemsProcessed(static_cast<std::int64_t>(state.iterations()));
}
BENCHMARK(hold)->RangeMultiplier(10)->Range(1'000, 1'000'000);

}  // namespace

BENCHMARK_MAIN();
