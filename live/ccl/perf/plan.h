// The rows that are measured, and what their times come to.
#pragma once

#include "live/ccl/perf/options.h"

#include <cstddef>
#include <cstdint>
#include <vector>

namespace cnuas::live::perf {

inline std::size_t size_of(cnuasccl_type_t type) {
  constexpr std::size_t kSizes[] = {1, 1, 4, 4, 8, 8, 4, 8};
  return kSizes[type];
}

inline bool reduces(cnuasccl_collective_t collective) {
  return collective == CNUASCCL_ALL_REDUCE || collective == CNUASCCL_REDUCE_SCATTER;
}

struct Row {
  cnuasccl_collective_t collective = CNUASCCL_ALL_REDUCE;
  cnuasccl_type_t type = CNUASCCL_FLOAT32;
  cnuasccl_op_t op = CNUASCCL_SUM;
  int root = 0;
  std::uint64_t count = 0;  // elements, as the function of the collective counts them
  std::uint64_t bytes = 0;  // of the larger of a rank's two buffers

  std::uint64_t send_elements(int ranks) const;
  std::uint64_t recv_elements(int ranks) const;
};

// Operators only vary for reductions, roots only for broadcasts. All ranks make the same list.
std::vector<Row> plan(const Options& options);

// Bytes a nanosecond, which are GB/s: the buffer's, and those over the busiest link of a ring.
double algorithm_bandwidth(const Row& row, double time_ns);
double bus_bandwidth(const Row& row, int ranks, double time_ns);

}  // namespace cnuas::live::perf
