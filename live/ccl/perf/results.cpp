#include "live/ccl/perf/results.h"

#include "live/posix/os_error.h"

#include <algorithm>
#include <cerrno>
#include <numeric>

#include <nlohmann/json.hpp>

namespace cnuas::live::perf {
namespace {

using Json = nlohmann::ordered_json;

constexpr double kNsPerUs = 1e3;

int root_of(const Row& row) {
  return row.collective == CNUASCCL_BROADCAST ? row.root : -1;
}

const char* operator_of(const Row& row) {
  return reduces(row.collective) ? name_of(row.op) : "none";
}

}  // namespace

Results::Results(const Options& options, std::span<const Row> rows)
    : options_(options), rows_(rows), outcomes_(rows.size()) {
  for (Outcome& outcome : outcomes_)
    for (Side& side : outcome.sides)
      side.times_ns.resize(static_cast<std::size_t>(options.ranks));
}

bool Results::complete(const Outcome& outcome) const {
  const auto ranks = static_cast<std::size_t>(options_.ranks);
  return outcome.sides[0].reports == ranks && outcome.sides[1].reports == ranks;
}

double Results::time_ns(const Side& side) const {
  const std::vector<double>& times = side.times_ns;
  switch (options_.average) {
    case Average::rank_0:
      return times.front();
    case Average::least:
      return *std::min_element(times.begin(), times.end());
    case Average::most:
      return *std::max_element(times.begin(), times.end());
    case Average::mean:
      break;
  }
  return std::accumulate(times.begin(), times.end(), 0.0) / static_cast<double>(times.size());
}

void Results::take(std::size_t rank, const Report& report) {
  if (report.row >= outcomes_.size() || report.in_place > 1) return;
  Outcome& outcome = outcomes_[report.row];
  Side& side = outcome.sides[report.in_place];
  side.times_ns[rank] = report.time_ns;
  side.wrong += report.wrong;
  ++side.reports;
  wrong_ += report.wrong;
  outcome.algorithm = static_cast<cnuasccl_algorithm_t>(report.algorithm);
  while (printed_ < rows_.size() && complete(outcomes_[printed_]))
    print(printed_++);
}

void Results::print_head() const {
  std::printf("# cnuasccl-perf %s: %d ranks, transport %s, %d calls after %d, %s\n", cnuasccl_version(),
              options_.ranks, name_of(options_.transport), options_.iterations, options_.warm_up,
              options_.checks > 0 ? "results checked" : "results not checked");
  std::printf("#\n# %83s %37s\n", "out-of-place", "in-place");
  std::printf("# %10s %12s %7s %6s %6s", "size", "count", "type", "redop", "root");
  for (int side = 0; side < 2; ++side)
    std::printf(" %10s %8s %8s %8s", "time", "algbw", "busbw", "#wrong");
  std::printf("  algorithm\n# %10s %12s %7s %6s %6s", "(B)", "(elements)", "", "", "");
  for (int side = 0; side < 2; ++side)
    std::printf(" %10s %8s %8s %8s", "(us)", "(GB/s)", "(GB/s)", "");
  std::printf("\n");
  std::fflush(stdout);
}

void Results::print(std::size_t number) const {
  const Row& row = rows_[number];
  const Outcome& outcome = outcomes_[number];
  if (number == 0 || rows_[number - 1].collective != row.collective)
    std::printf("# %s\n", name_of(row.collective));
  std::printf("  %10llu %12llu %7s %6s %6d", static_cast<unsigned long long>(row.bytes),
              static_cast<unsigned long long>(row.count), name_of(row.type), operator_of(row), root_of(row));
  for (const Side& side : outcome.sides)
    print_side(row, side);
  std::printf("  %s\n", cnuasccl_algorithm_name(outcome.algorithm));
  std::fflush(stdout);
}

void Results::print_side(const Row& row, const Side& side) const {
  const double time = time_ns(side);
  std::printf(" %10.2f %8.3f %8.3f", time / kNsPerUs, algorithm_bandwidth(row, time),
              bus_bandwidth(row, options_.ranks, time));
  if (options_.checks > 0) {
    std::printf(" %8llu", static_cast<unsigned long long>(side.wrong));
  } else {
    std::printf(" %8s", "N/A");
  }
}

double Results::average_bandwidth() const {
  double sum = 0;
  std::size_t values = 0;
  for (std::size_t i = 0; i < rows_.size(); ++i) {
    if (!complete(outcomes_[i])) continue;
    for (const Side& side : outcomes_[i].sides) {
      sum += bus_bandwidth(rows_[i], options_.ranks, time_ns(side));
      ++values;
    }
  }
  return values == 0 ? 0 : sum / static_cast<double>(values);
}

void Results::print_foot() const {
  if (options_.checks > 0)
    std::printf("# Out of bounds values : %llu %s\n", static_cast<unsigned long long>(wrong_),
                wrong_ == 0 ? "OK" : "FAILED");
  std::printf("# Avg bus bandwidth    : %g\n", average_bandwidth());
  std::fflush(stdout);
}

Result<void> Results::write_json(const std::string& path) const {
  const auto side_of = [&](const Row& row, const Side& side) {
    const double time = time_ns(side);
    return Json{{"time", time / kNsPerUs},
                {"alg_bw", algorithm_bandwidth(row, time)},
                {"bus_bw", bus_bandwidth(row, options_.ranks, time)},
                {"nwrong", options_.checks > 0 ? Json(side.wrong) : Json(nullptr)}};
  };
  Json results = Json::array();
  for (std::size_t i = 0; i < rows_.size(); ++i) {
    const Row& row = rows_[i];
    const Outcome& outcome = outcomes_[i];
    if (!complete(outcome)) continue;
    results.push_back({{"collective", name_of(row.collective)},
                       {"size", row.bytes},
                       {"count", row.count},
                       {"type", name_of(row.type)},
                       {"redop", operator_of(row)},
                       {"root", root_of(row)},
                       {"algorithm", cnuasccl_algorithm_name(outcome.algorithm)},
                       {"transport", name_of(options_.transport)},
                       {"out_of_place", side_of(row, outcome.sides[0])},
                       {"in_place", side_of(row, outcome.sides[1])}});
  }
  const Json json = {{"schema", "cnuasccl.perf/1"}, {"version", cnuasccl_version()},
                     {"ranks", options_.ranks},     {"iterations", options_.iterations},
                     {"warm_up", options_.warm_up}, {"average_bus_bw", average_bandwidth()},
                     {"results", results}};
  const std::string text = json.dump(1, ' ', false, Json::error_handler_t::replace) + "\n";
  std::FILE* file = std::fopen(path.c_str(), "w");
  if (file == nullptr) return os_error(errno, "cannot be written", path);
  const bool written = std::fwrite(text.data(), 1, text.size(), file) == text.size();
  const int error = errno;
  if (std::fclose(file) != 0 || !written) return os_error(written ? errno : error, "cannot be written", path);
  return {};
}

}  // namespace cnuas::live::perf
