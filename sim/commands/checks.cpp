#include "sim/commands/checks.h"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

namespace cnuas::sim {

namespace {

constexpr double kRelativeTolerance = 1e-6;

// Each message on the way is rounded to a whole picosecond once by the simulator; the form rounds elsewhere.
Picoseconds rounding_allowance(const CollectiveResult& row) {
  const auto steps = static_cast<double>(2 * row.call.ranks.size() + problem_of(row.call).chunks);
  return static_cast<Picoseconds>(std::ceil(steps / 2));
}

struct Verdict {
  bool passed;
  std::string text;
};

Verdict against_form(const CollectiveResult& row) {
  const double expected = static_cast<double>(row.model.time_ps);
  const double off = static_cast<double>(row.time_ps) - expected;
  const double allowed =
      std::max(expected * kRelativeTolerance, static_cast<double>(rounding_allowance(row)));
  return {std::abs(off) <= allowed,
          fmt::format("{} ps = {} gives {} ps (off by {:+.3g} ppm)", row.time_ps, row.model.formula,
                      row.model.time_ps, expected == 0 ? off : off / expected * 1e6)};
}

Verdict against_bounds(const CollectiveResult& row) {
  const bool form = row.model_applies;
  const Picoseconds bound = form ? std::max(row.model.time_ps, row.lower_bound_ps) : row.lower_bound_ps;
  const Picoseconds allowed =
      static_cast<Picoseconds>(static_cast<double>(bound) * kRelativeTolerance) + rounding_allowance(row);
  return {row.time_ps >= bound - allowed,
          fmt::format("{} ps, at least {} ps{}", row.time_ps, bound,
                      form ? fmt::format(" by {}", row.model.formula)
                           : " by the bytes a port must carry; no closed form here")};
}

}  // namespace

CheckReport check_model(const RunResult& result) {
  CheckReport report;
  for (const CollectiveResult& row : result.collectives) {
    if (!row.incomplete.empty()) {
      report.text += fmt::format("model: --   {} {} {} B: did not end: {}\n", ccl::name(row.call.collective),
                                 ccl::name(row.call.algorithm), row.call.size_bytes, row.incomplete);
      continue;
    }
    const Verdict verdict = row.model_applies && row.model.exact ? against_form(row) : against_bounds(row);
    report.passed = report.passed && verdict.passed;
    report.text += fmt::format("model: {} {} {} {} B: {}\n", verdict.passed ? "ok  " : "OFF ",
                               ccl::name(row.call.collective), ccl::name(row.call.algorithm),
                               row.call.size_bytes, verdict.text);
  }
  return report;
}

}  // namespace cnuas::sim
