#include "live/ccl/perf/plan.h"

#include <algorithm>

namespace cnuas::live::perf {
namespace {

// Those with a block for each rank.
bool has_blocks(cnuasccl_collective_t collective) {
  return collective != CNUASCCL_ALL_REDUCE && collective != CNUASCCL_BROADCAST;
}

std::vector<std::uint64_t> sizes(const Options& options) {
  std::vector<std::uint64_t> all;
  for (std::uint64_t bytes = options.least_bytes; bytes <= options.most_bytes;) {
    all.push_back(bytes);
    if (bytes == options.most_bytes) break;
    bytes = options.step_factor > 1 ? bytes * options.step_factor : bytes + options.step_bytes;
  }
  return all;
}

Row row_of(cnuasccl_collective_t collective, cnuasccl_type_t type, std::uint64_t bytes, int ranks) {
  Row row;
  row.collective = collective;
  row.type = type;
  row.count = bytes / size_of(type);
  if (has_blocks(collective)) row.count /= static_cast<std::uint64_t>(ranks);
  row.bytes = std::max(row.send_elements(ranks), row.recv_elements(ranks)) * size_of(type);
  return row;
}

}  // namespace

std::uint64_t Row::send_elements(int ranks) const {
  const bool all = collective == CNUASCCL_REDUCE_SCATTER || collective == CNUASCCL_ALL_TO_ALL;
  return all ? count * static_cast<std::uint64_t>(ranks) : count;
}

std::uint64_t Row::recv_elements(int ranks) const {
  const bool all = collective == CNUASCCL_ALL_GATHER || collective == CNUASCCL_ALL_TO_ALL;
  return all ? count * static_cast<std::uint64_t>(ranks) : count;
}

std::vector<Row> plan(const Options& options) {
  std::vector<Row> rows;
  const std::vector<std::uint64_t> all_sizes = sizes(options);
  for (const cnuasccl_collective_t collective : options.collectives) {
    const std::size_t operators = reduces(collective) ? options.operators.size() : 1;
    const std::size_t roots = collective == CNUASCCL_BROADCAST ? options.roots.size() : 1;
    for (const cnuasccl_type_t type : options.types) {
      for (std::size_t op = 0; op < operators; ++op) {
        for (std::size_t root = 0; root < roots; ++root) {
          for (const std::uint64_t bytes : all_sizes) {
            Row row = row_of(collective, type, bytes, options.ranks);
            row.op = options.operators[op];
            row.root = options.roots[root];
            rows.push_back(row);
          }
        }
      }
    }
  }
  const std::vector<Row> cycle = rows;
  for (int i = 1; i < options.cycles; ++i)
    rows.insert(rows.end(), cycle.begin(), cycle.end());
  return rows;
}

double algorithm_bandwidth(const Row& row, double time_ns) {
  return time_ns > 0 ? static_cast<double>(row.bytes) / time_ns : 0;
}

double bus_bandwidth(const Row& row, int ranks, double time_ns) {
  const double n = ranks;
  double factor = (n - 1) / n;
  if (row.collective == CNUASCCL_ALL_REDUCE) factor = 2 * (n - 1) / n;
  if (row.collective == CNUASCCL_BROADCAST) factor = 1;
  return algorithm_bandwidth(row, time_ns) * factor;
}

}  // namespace cnuas::live::perf
