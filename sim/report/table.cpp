#include "sim/report/formats.h"
#include "sim/report/ports.h"
#include "sim/simgrid/kernel.h"

#include <algorithm>
#include <array>
#include <set>
#include <vector>

#include <fmt/format.h>

namespace cnuas::sim {

namespace {

constexpr double kGiga = 1e9;
constexpr double kPicosecondsPerMicrosecond = 1e6;

double microseconds(Picoseconds time_ps) {
  return static_cast<double>(time_ps) / kPicosecondsPerMicrosecond;
}

std::string heading(const scenarios::Scenario& scenario, Fidelity fidelity) {
  const KernelInfo kernel = kernel_info();
  std::set<unsigned> racks;
  for (const Gpu& gpu : scenario.fabric.gpus)
    racks.insert(gpu.id.rack());
  std::string options;
  for (const auto& [option, value] : kernel.options)
    options += fmt::format(" {}={}", option, value);
  return fmt::format(
      "# {}: {} GPUs in {} rack{}, {} switch{}; {} fidelity{}\n# cnuas-sim {} ({}), seed {}, SimGrid "
      "{}:{}\n# scenario "
      "sha256 {}\n",
      scenario.name, scenario.fabric.gpus.size(), racks.size(), racks.size() == 1 ? "" : "s",
      scenario.fabric.switches.size(), scenario.fabric.switches.size() == 1 ? "" : "es", name(fidelity),
      scenario.fidelity == Fidelity::automatic ? " (auto)" : "", program_version(), program_commit(),
      scenario.seed, kernel.version, options, scenario.sha256);
}

// A heading, its unit, and a cell a row; wide enough for the widest of them.
struct Column {
  std::string_view heading;
  std::string_view unit;
  bool left = false;
};

constexpr std::array<Column, 13> kColumns = {{
    {"size", "(B)"},
    {"count", "(elements)"},
    {"type", ""},
    {"redop", ""},
    {"ranks", ""},
    {"collective", "", true},
    {"algorithm", "", true},
    {"time", "(us)"},
    {"algbw", "(GB/s)"},
    {"busbw", "(GB/s)"},
    {"wire", "(B)"},
    {"lower bound", "(us, %)"},
    {"busiest link", "(% used)", true},
}};
using Cells = std::array<std::string, kColumns.size()>;

Cells cells_of(const CollectiveResult& row) {
  const double bound =
      row.time_ps == 0 ? 100.0
                       : 100.0 * static_cast<double>(row.lower_bound_ps) / static_cast<double>(row.time_ps);
  const bool folds = reduces(row.call.collective);
  return {
      fmt::to_string(row.call.size_bytes), fmt::to_string(row.call.size_bytes / size_of(row.call.type)),
      std::string(ccl::name(row.call.type)), std::string(folds ? ccl::name(row.call.op) : "none"),
      fmt::to_string(row.call.ranks.size()), std::string(ccl::name(row.call.collective)),
      // A star marks results that are the left fold in rank order.
      std::string(ccl::name(row.call.algorithm)) + (folds && row.canonical ? "*" : ""),
      row.incomplete.empty() ? fmt::format("{:.3f}", microseconds(row.time_ps)) : "incomplete",
      fmt::format("{:.2f}", algorithm_bandwidth(row) / kGiga),
      fmt::format("{:.2f}", bus_bandwidth(row) / kGiga), fmt::to_string(row.wire_bytes),
      row.incomplete.empty() ? fmt::format("{:.3f} {:>5.1f}", microseconds(row.lower_bound_ps), bound)
                             : fmt::format("{:.3f}     -", microseconds(row.lower_bound_ps)),
      row.busiest_link.empty() ? "-" : fmt::format("{} ({:.1f})", row.busiest_link, 100.0 * row.utilisation)};
}

std::string line(std::string_view start, const Cells& cells,
                 const std::array<std::size_t, kColumns.size()>& widths) {
  std::string out(start);
  for (std::size_t i = 0; i < kColumns.size(); ++i) {
    out += kColumns[i].left ? fmt::format("  {:<{}}", cells[i], widths[i])
                            : fmt::format("  {:>{}}", cells[i], widths[i]);
  }
  out.erase(out.find_last_not_of(' ') + 1);
  return out + "\n";
}

std::string rows(const std::vector<CollectiveResult>& results) {
  Cells headings;
  Cells units;
  std::array<std::size_t, kColumns.size()> widths{};
  for (std::size_t i = 0; i < kColumns.size(); ++i) {
    headings[i] = kColumns[i].heading;
    units[i] = kColumns[i].unit;
    widths[i] = std::max(headings[i].size(), units[i].size());
  }
  std::vector<Cells> body;
  for (const CollectiveResult& row : results) {
    body.push_back(cells_of(row));
    for (std::size_t i = 0; i < kColumns.size(); ++i)
      widths[i] = std::max(widths[i], body.back()[i].size());
  }
  std::string out = "#\n" + line("#", headings, widths) + line("#", units, widths);
  for (const Cells& cells : body)
    out += line(" ", cells, widths);
  return out;
}

std::string traffic_lines(const TrafficResult& row) {
  std::string out = fmt::format(
      "# {} {} {}: {} of {} messages arrived in {:.3f} us: {:.2f} GB/s; latency p50 {:.3f} us, p99 {:.3f} "
      "us\n",
      row.step, name(row.phase.pattern), name(row.phase.kind), row.outcome.arrived, row.outcome.messages,
      microseconds(row.time_ps), throughput(row) / kGiga, microseconds(row.outcome.latency_p50_ps),
      microseconds(row.outcome.latency_p99_ps));
  return out;
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

std::string table(const scenarios::Scenario& scenario, const RunResult& result, const Provenance& provenance,
                  bool ports) {
  std::string out = heading(scenario, result.fidelity);
  const auto fold = [](const CollectiveResult& row) { return reduces(row.call.collective); };
  if (!result.collectives.empty()) {
    out += rows(result.collectives);
    if (std::any_of(result.collectives.begin(), result.collectives.end(), fold)) {
      out += "# * the result is the left fold in rank order, bit by bit, on every rank\n";
    }
  }
  for (const CollectiveResult& row : result.collectives) {
    if (row.incomplete.empty()) continue;
    out += fmt::format("# incomplete: {} {} {} B: {}\n", ccl::name(row.call.collective),
                       ccl::name(row.call.algorithm), row.call.size_bytes, row.incomplete);
  }
  for (const StepResult& step : result.steps)
    out += step_lines(step);
  for (const TrafficResult& row : result.traffic)
    out += traffic_lines(row);
  out +=
      "# busbw = algbw x factor: all_reduce 2(n-1)/n; all_gather, reduce_scatter, all_to_all (n-1)/n; "
      "broadcast 1\n";
  if (ports) {
    out += "# ports as the last run left them\n" + ports_table(scenario.fabric, result.switches);
  }
  return out + "# again: " + provenance.command + "\n";
}

}  // namespace cnuas::sim
