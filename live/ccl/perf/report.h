// What a rank tells the program that started it, over a pipe: each report in one write that is never torn.
#pragma once

#include "live/ccl/cnuasccl.h"

#include <climits>
#include <cstdint>

namespace cnuas::live::perf {

struct Report {
  enum class Kind : std::uint32_t { measured, done, failed };

  Kind kind = Kind::measured;
  std::uint32_t row = 0;
  std::uint32_t in_place = 0;
  std::uint32_t algorithm = 0;  // of cnuasccl_algorithm_t
  double time_ns = 0;           // of one call
  std::uint64_t wrong = 0;      // elements; 0 when they are not checked
  std::uint32_t exit_code = 0;  // of a failure
  std::uint32_t status = 0;     // of cnuasccl_status_t, of a failure
  char text[768] = {};          // of a failure; ends with 0
};
static_assert(sizeof(Report) <= PIPE_BUF);

}  // namespace cnuas::live::perf
