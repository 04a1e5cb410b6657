// Scenarios made in code, run in a process of their own.
#pragma once

#include "scenarios/scenario.h"
#include "sim/child_process.h"
#include "sim/report/report.h"
#include "sim/simulator.h"

#include <initializer_list>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

namespace cnuas::test {

inline constexpr std::uint64_t kGB = 1'000'000'000;

// 450 GB/s, 500 ns, as in the formulas: a = 1 us within a rack.
inline LinkProfile pure_pipe() {
  return {450 * kGB, 500 * kNanosecond, {}};
}

inline RackParameters racks(std::vector<unsigned> gpus, std::uint64_t inter_switch_rate = 450 * kGB,
                            Picoseconds inter_switch_latency = 1 * kMicrosecond) {
  RackParameters parameters;
  parameters.gpus_per_rack = std::move(gpus);
  parameters.gpu_link = pure_pipe();
  parameters.inter_switch = {inter_switch_rate, inter_switch_latency, {}};
  return parameters;
}

inline std::vector<GpuId> all_gpus(const Fabric& fabric) {
  std::vector<GpuId> ids;
  for (const Gpu& gpu : fabric.gpus)
    ids.push_back(gpu.id);
  return ids;
}

inline CollectiveCall call(const Fabric& fabric, ccl::Collective collective, ccl::Algorithm algorithm,
                           std::uint64_t size, ccl::DataType type = ccl::DataType::float32) {
  CollectiveCall result;
  result.collective = collective;
  result.algorithm = algorithm;
  result.size_bytes = size / size_of(type) * size_of(type);
  result.type = type;
  result.ranks = all_gpus(fabric);
  return result;
}

inline scenarios::Scenario scenario(Fabric fabric, std::vector<CollectiveCall> calls) {
  scenarios::Scenario result;
  result.name = "test";
  result.fabric = std::move(fabric);
  if (!calls.empty()) result.workload.items.emplace_back(Measurement{std::move(calls)});
  return result;
}

// The JSON report; {"error": message} when the simulation is refused.
inline nlohmann::json run(const scenarios::Scenario& what, sim::SimulatorOptions options = {}) {
  const Result<std::string> text = sim::in_child_process([&] {
    const Result<sim::RunResult> result = sim::simulate(what, options, [](const sim::Progress&) {});
    if (!result) return nlohmann::json{{"error", result.error().message}}.dump();
    return sim::report(what, *result, {"test"}, sim::Format::json);
  });
  return text ? nlohmann::json::parse(*text) : nlohmann::json{{"error", text.error().message}};
}

inline std::vector<Picoseconds> times(const nlohmann::json& report) {
  std::vector<Picoseconds> result;
  for (const auto& row : report.at("results"))
    result.push_back(row.at("time_ps").get<Picoseconds>());
  return result;
}

}  // namespace cnuas::test
