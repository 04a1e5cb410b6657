// What fluid fidelity costs: one collective a child process, so that memory is each one's own.
//   fluid_benchmark [RANKS [SIZE_BYTES [COLLECTIVE [ALGORITHM]]]]      default: 1024 ranks, 10^9 bytes, all
// GPUs sit around one non-blocking switch. Prints one JSON document.
#include "sim/child_process.h"
#include "sim/simulator.h"

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>

#include <nlohmann/json.hpp>
#include <sys/resource.h>

namespace {

using namespace cnuas;
using Json = nlohmann::ordered_json;

struct Outcome {
  double cpu_s;
  double wall_s;
  long peak_kib;
  std::uint64_t events;
  Picoseconds time_ps;
  int ok;
};

scenarios::Scenario scenario_of(unsigned ranks, const CollectiveCall& prototype) {
  scenarios::Scenario scenario;
  scenario.name = "benchmark";
  const LinkProfile pipe{450'000'000'000, 500 * kNanosecond, {}};
  scenario.fabric.switches.push_back(Switch{"switch", 1, 0, 0});
  CollectiveCall call = prototype;
  for (unsigned rank = 0; rank < ranks; ++rank) {
    const GpuId id = *make_gpu_id(1 + rank / 256, rank % 256);
    scenario.fabric.gpus.push_back(Gpu{id, 0, 0, pipe});
    call.ranks.push_back(id);
  }
  scenario.workload.items.emplace_back(Measurement{{call}});
  return scenario;
}

Outcome run_here(unsigned ranks, const CollectiveCall& call) {
  const auto begin = std::chrono::steady_clock::now();
  const auto result = sim::simulate(scenario_of(ranks, call), {}, [](const sim::Progress&) {});
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  Outcome outcome{};
  outcome.wall_s = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  outcome.cpu_s = static_cast<double>(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) +
                  static_cast<double>(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec) / 1e6;
  outcome.peak_kib = usage.ru_maxrss;
  if (!result) {
    std::fprintf(stderr, "%s\n", result.error().message.c_str());
    return outcome;
  }
  outcome.ok = 1;
  outcome.events = result->collectives[0].events;
  outcome.time_ps = result->collectives[0].time_ps;
  return outcome;
}

Outcome measure(unsigned ranks, const CollectiveCall& call) {
  const auto bytes = sim::in_child_process([&] {
    const Outcome outcome = run_here(ranks, call);
    return std::string(reinterpret_cast<const char*>(&outcome), sizeof outcome);
  });
  Outcome outcome{};
  if (bytes && bytes->size() == sizeof outcome) std::memcpy(&outcome, bytes->data(), sizeof outcome);
  return outcome;
}

}  // namespace

int main(int argc, char** argv) {
  const unsigned ranks = argc > 1 ? static_cast<unsigned>(std::strtoul(argv[1], nullptr, 10)) : 1024;
  const std::uint64_t size = argc > 2 ? std::strtoull(argv[2], nullptr, 10) : 1'000'000'000;
  Json document = {{"schema", "cnuas.benchmark/1"},
                   {"benchmark", "fluid"},
                   {"ranks", ranks},
                   {"size_bytes", size},
                   {"runs", Json::array()}};
  bool ok = ranks >= 1 && ranks <= 65000;
  for (const ccl::Collective collective :
       {ccl::Collective::all_reduce, ccl::Collective::broadcast, ccl::Collective::all_gather,
        ccl::Collective::reduce_scatter, ccl::Collective::all_to_all}) {
    if (argc > 3 && ccl::parse_collective(argv[3]) != collective) continue;
    for (const ccl::Algorithm algorithm : ccl::algorithms_of(collective)) {
      if (argc > 4 && ccl::parse_algorithm(argv[4]) != algorithm) continue;
      CollectiveCall call;
      call.collective = collective;
      call.algorithm = algorithm;
      call.size_bytes = size / 4 * 4;
      const Outcome outcome = measure(ranks, call);
      ok = ok && outcome.ok == 1;
      document["runs"].push_back(
          {{"collective", ccl::name(collective)},
           {"algorithm", ccl::name(algorithm)},
           {"ok", outcome.ok == 1},
           {"events", outcome.events},
           {"simulated_ps", outcome.time_ps},
           {"cpu_s", outcome.cpu_s},
           {"wall_s", outcome.wall_s},
           {"events_per_s", outcome.cpu_s > 0 ? static_cast<double>(outcome.events) / outcome.cpu_s : 0.0},
           {"peak_kib", outcome.peak_kib}});
    }
  }
  std::printf("%s\n", document.dump(2).c_str());
  return ok ? 0 : 1;
}
