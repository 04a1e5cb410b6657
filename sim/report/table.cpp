#include "sim/report/formats.h"
#include "sim/simgrid/kernel.h"

#include <algorithm>
#include <set>

#include <fmt/format.h>

namespace cnuas::sim {

namespace {

constexpr double kGiga = 1e9;
constexpr double kPicosecondsPerMicrosecond = 1e6;

double microseconds(Picoseconds time_ps) {
  return static_cast<double>(time_ps) / kPicosecondsPerMicrosecond;
}

std::string heading(const scenarios::Scenario& scenario) {
  const KernelInfo kernel = kernel_info();
  std::set<unsigned> racks;
  for (const Gpu& gpu : scenario.fabric.gpus)
    racks.insert(gpu.id.rack());
  std::string options;
  for (const auto& [option, value] : kernel.options)
    options += fmt::format(" {}={}", option, value);
  return fmt::format(
      "# {}: {} GPUs in {} rack{}, {} switch{}\n# cnuas-sim {} ({}), seed {}, SimGrid {}:{}\n# scenario "
      "sha256 {}\n",
      scenario.name, scenario.fabric.gpus.size(), racks.size(), racks.size() == 1 ? "" : "s",
      scenario.fabric.switches.size(), scenario.fabric.switches.size() == 1 ? "" : "es", program_version(),
      program_commit(), scenario.seed, kernel.version, options, scenario.sha256);
}

std::string columns() {
  return fmt::format(
      "#\n# {:>13} {:>12} {:>8} {:>7} {:>6}  {:<14} {:<18} {:>14} {:>9} {:>9} {:>14} {:>14} {:>7}  {}\n"
      "# {:>13} {:>12} {:>8} {:>7} {:>6}  {:<14} {:<18} {:>14} {:>9} {:>9} {:>14} {:>14} {:>7}  {}\n",
      "size", "count", "type", "redop", "ranks", "collective", "algorithm", "time", "algbw", "busbw", "wire",
      "lower bound", "of time", "busiest link", "(B)", "(elements)", "", "", "", "", "", "(us)", "(GB/s)",
      "(GB/s)", "(B)", "(us)", "(%)", "(% used)");
}

std::string line(const CollectiveResult& row) {
  const double bound =
      row.time_ps == 0 ? 100.0
                       : 100.0 * static_cast<double>(row.lower_bound_ps) / static_cast<double>(row.time_ps);
  const std::string busiest =
      row.busiest_link.empty() ? "-" : fmt::format("{} ({:.1f})", row.busiest_link, 100.0 * row.utilisation);
  // A star marks results that are the left fold in rank order.
  const std::string algorithm =
      std::string(ccl::name(row.call.algorithm)) + (reduces(row.call.collective) && row.canonical ? "*" : "");
  return fmt::format(
      "  {:>13} {:>12} {:>8} {:>7} {:>6}  {:<14} {:<18} {:>14.3f} {:>9.2f} {:>9.2f} {:>14} {:>14.3f} "
      "{:>7.1f}  {}\n",
      row.call.size_bytes, row.call.size_bytes / size_of(row.call.type), ccl::name(row.call.type),
      reduces(row.call.collective) ? ccl::name(row.call.op) : "none", row.call.ranks.size(),
      ccl::name(row.call.collective), algorithm, microseconds(row.time_ps), algorithm_bandwidth(row) / kGiga,
      bus_bandwidth(row) / kGiga, row.wire_bytes, microseconds(row.lower_bound_ps), bound, busiest);
}

std::string step_lines(const StepResult& step) {
  std::string out = fmt::format(
      "# step {}: {:.3f} us, of which computing {:.3f} us ({:.1f} %)\n", step.name,
      microseconds(step.time_ps), microseconds(step.compute_ps),
      step.time_ps == 0 ? 100.0
                        : 100.0 * static_cast<double>(step.compute_ps) / static_cast<double>(step.time_ps));
  for (const auto& [phase, end_ps] : step.phase_end_ps) {
    out += fmt::format("#   phase {} ends at {:.3f} us\n", phase + 1, microseconds(end_ps));
  }
  return out;
}

}  // namespace

std::string table(const scenarios::Scenario& scenario, const RunResult& result,
                  const Provenance& provenance) {
  std::string out = heading(scenario);
  const auto fold = [](const CollectiveResult& row) { return reduces(row.call.collective); };
  if (!result.collectives.empty()) {
    out += columns();
    for (const CollectiveResult& row : result.collectives)
      out += line(row);
    if (std::any_of(result.collectives.begin(), result.collectives.end(), fold)) {
      out += "# * the result is the left fold in rank order, bit by bit, on every rank\n";
    }
  }
  for (const StepResult& step : result.steps)
    out += step_lines(step);
  out +=
      "# busbw = algbw x factor: all_reduce 2(n-1)/n; all_gather, reduce_scatter, all_to_all (n-1)/n; "
      "broadcast 1\n";
  return out + "# again: " + provenance.command + "\n";
}

}  // namespace cnuas::sim
