// What frame fidelity costs: frames a second through real switch objects, and memory a GPU.
//   frame_benchmark        one rack of 8, 64 and 256 GPUs, 64 KiB frames, and 1024 ranks with one burst a
//   message
// Each run is a child process of its own. Prints one JSON document.
#include "sim/child_process.h"
#include "sim/simulator.h"

#include <chrono>
#include <cstdio>
#include <cstring>
#include <string>

#include <nlohmann/json.hpp>
#include <sys/resource.h>

namespace {

using namespace cnuas;
using Json = nlohmann::ordered_json;

struct Outcome {
  double cpu_s;
  long peak_kib;
  long before_kib;
  std::uint64_t frames;
  Picoseconds time_ps;
  int ok;
};

scenarios::Scenario scenario_of(unsigned ranks, std::uint64_t frame_bytes, ccl::Algorithm algorithm,
                                std::uint64_t size) {
  scenarios::Scenario scenario;
  scenario.name = "benchmark";
  scenario.fidelity = Fidelity::frame;
  const LinkProfile pipe{450'000'000'000, 500 * kNanosecond, {}};
  scenario.fabric.switches.push_back(Switch{"switch", 1, 250 * kNanosecond, 256 * 1024});
  scenario.fabric.frame_bytes = frame_bytes;
  CollectiveCall call;
  call.algorithm = algorithm;
  call.size_bytes = size / 4 * 4;
  for (unsigned rank = 0; rank < ranks; ++rank) {
    const GpuId id = *make_gpu_id(1 + rank / 256, rank % 256);
    scenario.fabric.gpus.push_back(Gpu{id, 0, 0, pipe});
    call.ranks.push_back(id);
  }
  scenario.workload.items.emplace_back(Measurement{{call}});
  return scenario;
}

Outcome run_here(const scenarios::Scenario& scenario) {
  rusage before{};
  getrusage(RUSAGE_SELF, &before);
  const auto result = sim::simulate(scenario, {}, [](const sim::Progress&) {});
  rusage after{};
  getrusage(RUSAGE_SELF, &after);
  Outcome outcome{};
  const auto seconds = [](const timeval& time) {
    return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_usec) / 1e6;
  };
  outcome.cpu_s =
      seconds(after.ru_utime) + seconds(after.ru_stime) - seconds(before.ru_utime) - seconds(before.ru_stime);
  outcome.peak_kib = after.ru_maxrss;
  outcome.before_kib = before.ru_maxrss;
  if (!result) {
    std::fprintf(stderr, "%s\n", result.error().message.c_str());
    return outcome;
  }
  outcome.ok = result->collectives[0].incomplete.empty() ? 1 : 0;
  outcome.frames = result->collectives[0].frames;
  outcome.time_ps = result->collectives[0].time_ps;
  return outcome;
}

struct Case {
  const char* name;
  unsigned ranks;
  std::uint64_t frame_bytes;
  ccl::Algorithm algorithm;
  std::uint64_t size;
};

}  // namespace

int main() {
  const Case cases[] = {
      {"ring, 8 GPUs, 64 KiB frames", 8, 65536, ccl::Algorithm::ring, 8'000'000'000},
      {"direct, 64 GPUs, 64 KiB frames", 64, 65536, ccl::Algorithm::direct, 1'000'000'000},
      {"ring, 256 GPUs, 9 KB frames", 256, 9000, ccl::Algorithm::ring, 50'000'000},
      {"ring, 1024 GPUs, one burst a message", 1024, 0, ccl::Algorithm::ring, 1'000'000'000},
  };
  Json document = {{"schema", "cnuas.benchmark/1"}, {"benchmark", "frame"}, {"runs", Json::array()}};
  bool ok = true;
  for (const Case& each : cases) {
    const auto bytes = sim::in_child_process([&] {
      const Outcome outcome = run_here(scenario_of(each.ranks, each.frame_bytes, each.algorithm, each.size));
      return std::string(reinterpret_cast<const char*>(&outcome), sizeof outcome);
    });
    Outcome outcome{};
    if (bytes && bytes->size() == sizeof outcome) std::memcpy(&outcome, bytes->data(), sizeof outcome);
    ok = ok && outcome.ok == 1;
    document["runs"].push_back(
        {{"name", each.name},
         {"ok", outcome.ok == 1},
         {"frame_hops", outcome.frames},
         {"cpu_s", outcome.cpu_s},
         {"frame_hops_per_s", outcome.cpu_s > 0 ? static_cast<double>(outcome.frames) / outcome.cpu_s : 0.0},
         {"simulated_ps", outcome.time_ps},
         {"peak_kib", outcome.peak_kib},
         {"kib_per_gpu", static_cast<double>(outcome.peak_kib - outcome.before_kib) / each.ranks}});
  }
  std::printf("%s\n", document.dump(2).c_str());
  return ok ? 0 : 1;
}
