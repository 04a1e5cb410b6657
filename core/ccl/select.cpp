#include "core/ccl/select.h"

#include <algorithm>
#include <optional>
#include <string>
#include <utility>
#include <vector>

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
  struct Candidate {
    Algorithm algorithm;
    Picoseconds time;
    std::uint64_t scratch;
  };
  std::vector<Candidate> candidates;
  Picoseconds least = kNever;
  for (const Algorithm algorithm : algorithms_of(problem.collective)) {
    Problem candidate = problem;
    candidate.algorithm = algorithm;
    if (problem.chunks == 0)
      candidate.chunks =
          default_chunks(problem.collective, algorithm, problem.ranks, problem.count * element_bytes);
    auto schedule = make_schedule(candidate);
    if (!schedule) return tl::unexpected<Error>(std::move(schedule.error()));
    if (canonical_only && !fold_guarantee(problem.collective, algorithm, problem.ranks).canonical) continue;
    std::uint64_t scratch = 0;
    for (Rank rank = 0; rank < problem.ranks; ++rank)
      scratch = std::max(scratch, (*schedule)->scratch_elements(rank));
    candidates.push_back({algorithm, expected_time(candidate, element_bytes, port), scratch});
    least = std::min(least, candidates.back().time);
  }
  const Picoseconds close = least > kNever / 2 ? kNever : least + least / 20;
  const Candidate* best = nullptr;
  for (const Candidate& each : candidates) {
    if (each.time > close) continue;
    if (best != nullptr && std::pair(each.scratch, each.time) >= std::pair(best->scratch, best->time))
      continue;
    best = &each;
  }
  if (best != nullptr) return best->algorithm;
  return fail(ErrorCode::unsupported,
              "no algorithm of " + std::string(name(problem.collective)) + " folds in the order of ranks");
}

}  // namespace cnuas::ccl
