// One rank: measures all rows and reports them.
#pragma once

#include "live/ccl/cnuasccl.h"
#include "live/ccl/perf/options.h"
#include "live/ccl/perf/plan.h"

#include <cstdint>
#include <span>

namespace cnuas::live::perf {

struct RankPlace {
  int rank = 0;
  int report_fd = -1;
  std::uint16_t gpu_id = 0;
  cnuasccl_bootstrap bootstrap{};
  cnuasccl_link_transport transport{};
  cnuasccl_link_extension extension{};
};

// Returns the rank's exit code. What goes wrong is reported as well.
int run_rank(const Options& options, std::span<const Row> rows, const RankPlace& place);

// Reports a failure before there is a communicator, with what the library has to say to it. Returns the exit
// code.
int report_failure(int report_fd, cnuasccl_status_t status, const char* what, const char* text);

}  // namespace cnuas::live::perf
