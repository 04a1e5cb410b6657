#include "sim/report/report.h"

#include "sim/report/formats.h"
#include "sim/report/version.h"

namespace cnuas::sim {

std::string program_version() {
  return kProgramVersion;
}
std::string program_commit() {
  return kProgramCommit;
}

std::string report(const scenarios::Scenario& scenario, const RunResult& result, const Provenance& provenance,
                   Format format, bool ports) {
  switch (format) {
    case Format::table:
      return table(scenario, result, provenance, ports);
    case Format::json:
      return json(scenario, result, provenance, ports);
    case Format::csv:
      return csv(scenario, result);
  }
  return {};
}

double algorithm_bandwidth(const CollectiveResult& row) {
  if (row.time_ps == 0 || !row.incomplete.empty()) return 0;
  return static_cast<double>(row.call.size_bytes) /
         (static_cast<double>(row.time_ps) / static_cast<double>(kSecond));
}

double bus_bandwidth(const CollectiveResult& row) {
  return algorithm_bandwidth(row) *
         ccl::bus_factor(row.call.collective, static_cast<ccl::Rank>(row.call.ranks.size()));
}

double throughput(const TrafficResult& row) {
  if (row.time_ps == 0) return 0;
  return static_cast<double>(row.outcome.bytes) /
         (static_cast<double>(row.time_ps) / static_cast<double>(kSecond));
}

std::string_view name(TrafficPattern pattern) {
  switch (pattern) {
    case TrafficPattern::point_to_point:
      return "point_to_point";
    case TrafficPattern::incast:
      return "incast";
    case TrafficPattern::uniform:
      return "uniform";
    case TrafficPattern::hotspot:
      break;
  }
  return "hotspot";
}

std::string_view name(TrafficKind kind) {
  switch (kind) {
    case TrafficKind::data:
      return "data";
    case TrafficKind::doorbell:
      return "doorbell";
    case TrafficKind::atomic:
      break;
  }
  return "atomic";
}

std::string_view name(Fidelity fidelity) {
  switch (fidelity) {
    case Fidelity::fluid:
      return "fluid";
    case Fidelity::frame:
      return "frame";
    case Fidelity::automatic:
      break;
  }
  return "auto";
}

}  // namespace cnuas::sim
