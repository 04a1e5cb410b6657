// All ranks, as processes or as threads of one process, and what they report.
#pragma once

#include "core/engine/error.h"
#include "live/ccl/perf/options.h"
#include "live/ccl/perf/plan.h"
#include "live/ccl/perf/process.h"
#include "live/posix/unique_fd.h"

#include <span>
#include <string>
#include <vector>

namespace cnuas::live::perf {

class World {
 public:
  // Ranks over the switches in `run_dirs`, filling the ports of the first before those of the next; they meet
  // at a socket in `meeting_dir`. Errors: io.
  static Result<World> over_switches(const Options& options, std::span<const Row> rows,
                                     const std::vector<std::string>& run_dirs,
                                     const std::string& meeting_dir);
  // Threads of a process of their own. Errors: io.
  static Result<World> in_process(const Options& options, std::span<const Row> rows);

  // A pipe of Reports for each rank; it ends when the rank has.
  std::vector<UniqueFd>& reports() { return reports_; }
  // The process of a rank.
  Process& process_of(std::size_t rank) { return processes_[processes_.size() == 1 ? 0 : rank]; }
  void kill();

 private:
  std::vector<Process> processes_;
  std::vector<UniqueFd> reports_;
};

}  // namespace cnuas::live::perf
