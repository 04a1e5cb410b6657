#include "sim/report/formats.h"
#include "sim/report/ports.h"
#include "sim/simgrid/kernel.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace cnuas::sim {

namespace {

using Json = nlohmann::ordered_json;

Json run_of(const scenarios::Scenario& scenario, const Provenance& provenance) {
  const KernelInfo kernel = kernel_info();
  Json options = Json::object();
  for (const auto& [option, value] : kernel.options)
    options[option] = value;
  return {{"scenario", scenario.name},    {"scenario_sha256", scenario.sha256},
          {"seed", scenario.seed},        {"version", program_version()},
          {"commit", program_commit()},   {"simgrid", {{"version", kernel.version}, {"options", options}}},
          {"command", provenance.command}};
}

Json row_of(const CollectiveResult& row) {
  Json result = {{"collective", ccl::name(row.call.collective)},
                 {"algorithm", ccl::name(row.call.algorithm)},
                 {"canonical", row.canonical},
                 {"fidelity", name(row.fidelity)},
                 {"ranks", row.call.ranks.size()},
                 {"size_bytes", row.call.size_bytes},
                 {"type", ccl::name(row.call.type)},
                 {"operator", ccl::name(row.call.op)},
                 {"time_ps", row.incomplete.empty() ? Json(row.time_ps) : Json()},
                 {"algbw_bytes_per_s", algorithm_bandwidth(row)},
                 {"busbw_bytes_per_s", bus_bandwidth(row)},
                 {"wire_bytes", row.wire_bytes},
                 {"lower_bound_ps", row.lower_bound_ps},
                 {"busiest_link", {{"name", row.busiest_link}, {"utilisation", row.utilisation}}},
                 {"frames", row.frames},
                 {"events", row.events},
                 {"digest", fmt::format("{:016x}", row.digest)}};
  if (!row.incomplete.empty()) result["incomplete"] = row.incomplete;
  return result;
}

Json traffic_of(const TrafficResult& row) {
  Json result = {{"step", row.step},
                 {"pattern", name(row.phase.pattern)},
                 {"kind", name(row.phase.kind)},
                 {"fidelity", name(row.fidelity)},
                 {"senders", row.phase.senders.size()},
                 {"receivers", row.phase.receivers.size()},
                 {"size_bytes", row.phase.size_bytes},
                 {"messages_sent", row.outcome.messages},
                 {"messages_arrived", row.outcome.arrived},
                 {"time_ps", row.time_ps},
                 {"throughput_bytes_per_s", throughput(row)},
                 {"latency_p50_ps", row.outcome.latency_p50_ps},
                 {"latency_p99_ps", row.outcome.latency_p99_ps}};
  if (!row.incomplete.empty()) result["incomplete"] = row.incomplete;
  return result;
}

Json step_of(const StepResult& step) {
  Json ends = Json::array();
  for (const auto& [phase, end_ps] : step.phase_end_ps)
    ends.push_back(end_ps);
  return {{"name", step.name},
          {"time_ps", step.time_ps},
          {"compute_ps", step.compute_ps},
          {"phase_end_ps", ends},
          {"digest", fmt::format("{:016x}", step.digest)}};
}

}  // namespace

std::string json(const scenarios::Scenario& scenario, const RunResult& result, const Provenance& provenance,
                 bool ports) {
  Json document = {
      {"schema", "cnuas.result/1"}, {"run", run_of(scenario, provenance)}, {"results", Json::array()}};
  for (const CollectiveResult& row : result.collectives)
    document["results"].push_back(row_of(row));
  if (!result.steps.empty()) {
    document["steps"] = Json::array();
    for (const StepResult& step : result.steps)
      document["steps"].push_back(step_of(step));
  }
  if (!result.traffic.empty()) {
    document["traffic"] = Json::array();
    for (const TrafficResult& row : result.traffic)
      document["traffic"].push_back(traffic_of(row));
  }
  if (ports) document["ports"] = ports_json(scenario.fabric, result.switches);
  return document.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace cnuas::sim
