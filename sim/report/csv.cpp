#include "sim/report/formats.h"

#include <fmt/format.h>

namespace cnuas::sim {

namespace {

// RFC 4180: quotes around what contains a comma, a quote or a line break.
std::string field(const std::string& text) {
  if (text.find_first_of(",\"\r\n") == std::string::npos) return text;
  std::string quoted = "\"";
  for (const char c : text) {
    if (c == '"') quoted += '"';
    quoted += c;
  }
  return quoted + "\"";
}

}  // namespace

std::string csv(const scenarios::Scenario& scenario, const RunResult& result) {
  std::string out =
      "scenario,collective,algorithm,canonical,fidelity,ranks,size_bytes,type,operator,time_ps,algbw_bytes_"
      "per_s,"
      "busbw_bytes_per_s,wire_bytes,lower_bound_ps,busiest_link,utilisation,frames,events,digest\n";
  for (const CollectiveResult& row : result.collectives) {
    out += fmt::format("{},{},{},{},{},{},{},{},{},{},{:.6g},{:.6g},{},{},{},{:.6g},{},{},{:016x}\n",
                       field(scenario.name), ccl::name(row.call.collective), ccl::name(row.call.algorithm),
                       row.canonical, name(row.fidelity), row.call.ranks.size(), row.call.size_bytes,
                       ccl::name(row.call.type), ccl::name(row.call.op),
                       row.incomplete.empty() ? fmt::to_string(row.time_ps) : "", algorithm_bandwidth(row),
                       bus_bandwidth(row), row.wire_bytes, row.lower_bound_ps, field(row.busiest_link),
                       row.utilisation, row.frames, row.events, row.digest);
  }
  return out;
}

}  // namespace cnuas::sim
