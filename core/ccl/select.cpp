#include "core/ccl/select.h"

#include <algorithm>
#include <optional>
#include <utility>

namespace cnuas::ccl {

Picoseconds expected_time(const Problem& problem, std::uint32_t element_bytes, const PortModel& port) {
  const ClosedForm form = closed_form(problem, element_bytes, port);
  const bool tree = problem.algorithm == Algorithm::tree || problem.algorithm == Algorithm::double_tree;
  if (form.exact || !tree) return form.time_ps;
  const Picoseconds least = std::max(form.time_ps, lower_bound(problem, element_bytes, port));
  return least > kNever / 2 ? kNever : least + least / 2;
}

Result<Algorithm> select(const Problem& problem, std::uint32_t element_bytes, const PortModel& port,
                         bool canonical_only) {
  if (port.rate_bytes_per_s == 0)
    return fail(ErrorCode::invalid_argument, "no algorithm ends at a rate of 0");
  std::optional<Algorithm> best;
  Picoseconds least = kNever;
  for (const Algorithm algorithm : algorithms_of(problem.collective)) {
    Problem candidate = problem;
    candidate.algorithm = algorithm;
    if (problem.chunks == 0)
      candidate.chunks =
          default_chunks(problem.collective, algorithm, problem.ranks, problem.count * element_bytes);
    if (auto schedule = make_schedule(candidate); !schedule)
      return tl::unexpected<Error>(std::move(schedule.error()));
    if (canonical_only && !fold_guarantee(problem.collective, algorithm, problem.ranks).canonical) continue;
    const Picoseconds time = expected_time(candidate, element_bytes, port);
    if (best && time >= least) continue;
    best = algorithm;
    least = time;
  }
  if (best) return *best;
  return fail(ErrorCode::unsupported,
              "no algorithm of " + std::string(name(problem.collective)) + " folds in the order of ranks");
}

}  // namespace cnuas::ccl
