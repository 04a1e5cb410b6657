#include "core/ccl/select.h"

#include <algorithm>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace cnuas::ccl {
namespace {

struct Candidate {
  std::unique_ptr<Schedule> schedule;
  Picoseconds time = 0;  // first without, then with what crosses from rack to rack
  std::uint64_t scratch = 0;

  Algorithm algorithm() const { return schedule->problem().algorithm; }
};

// Within a twentieth of it.
Picoseconds close_to(Picoseconds time) {
  return time > kNever / 2 ? kNever : time + time / 20;
}

Picoseconds within_a_rack(const Problem& problem, std::uint32_t element_bytes, const PortModel& port) {
  const ClosedForm form = closed_form(problem, element_bytes, port);
  const bool tree = problem.algorithm == Algorithm::tree || problem.algorithm == Algorithm::double_tree;
  if (form.exact || !tree) return form.time_ps;
  const Picoseconds least = std::max(form.time_ps, lower_bound(problem, element_bytes, port));
  return least > kNever / 2 ? kNever : least + least / 2;
}

Picoseconds between_racks(const Schedule& schedule, std::uint32_t element_bytes, const PortModel& port,
                          const Racks& racks) {
  const Picoseconds uplinks = uplink_time(schedule, element_bytes, racks);
  return uplinks > kNever - port.latency_ps ? kNever : uplinks + port.latency_ps;
}

bool weighs(const Problem& problem, const Racks& racks) {
  return racks.several() && problem.ranks <= kMostRanksWeighed;
}

std::uint64_t most_scratch(const Schedule& schedule) {
  std::uint64_t most = 0;
  for (Rank rank = 0; rank < schedule.problem().ranks; ++rank)
    most = std::max(most, schedule.scratch_elements(rank));
  return most;
}

}  // namespace

Picoseconds expected_time(const Problem& problem, std::uint32_t element_bytes, const PortModel& port,
                          const Racks& racks) {
  const Picoseconds time = within_a_rack(problem, element_bytes, port);
  if (!weighs(problem, racks)) return time;
  const auto schedule = make_schedule(problem);
  return schedule ? std::max(time, between_racks(**schedule, element_bytes, port, racks)) : kNever;
}

Result<Algorithm> select(const Problem& problem, std::uint32_t element_bytes, const PortModel& port,
                         const Racks& racks, bool canonical_only) {
  if (port.rate_bytes_per_s == 0)
    return fail(ErrorCode::invalid_argument, "no algorithm ends at a rate of 0");
  std::vector<Candidate> candidates;
  for (const Algorithm algorithm : algorithms_of(problem.collective)) {
    Problem candidate = problem;
    candidate.algorithm = algorithm;
    if (problem.chunks == 0)
      candidate.chunks =
          default_chunks(problem.collective, algorithm, problem.ranks, problem.count * element_bytes);
    auto schedule = make_schedule(candidate);
    if (!schedule) return tl::unexpected<Error>(std::move(schedule.error()));
    if (canonical_only && !fold_guarantee(problem.collective, algorithm, problem.ranks).canonical) continue;
    const Picoseconds time = within_a_rack(candidate, element_bytes, port);
    const std::uint64_t scratch = most_scratch(**schedule);
    candidates.push_back({std::move(*schedule), time, scratch});
  }
  // What crosses takes long to add up, and can only make a candidate slower: those that are too slow already
  // are not looked at.
  if (weighs(problem, racks)) {
    std::stable_sort(candidates.begin(), candidates.end(),
                     [](const Candidate& a, const Candidate& b) { return a.time < b.time; });
    Picoseconds least = kNever;
    for (Candidate& each : candidates) {
      if (each.time > close_to(least)) break;
      each.time = std::max(each.time, between_racks(*each.schedule, element_bytes, port, racks));
      least = std::min(least, each.time);
    }
  }
  Picoseconds least = kNever;
  for (const Candidate& each : candidates)
    least = std::min(least, each.time);
  const Candidate* best = nullptr;
  for (const Candidate& each : candidates) {
    if (each.time > close_to(least)) continue;
    if (best == nullptr || std::pair(each.scratch, each.time) < std::pair(best->scratch, best->time))
      best = &each;
  }
  if (best != nullptr) return best->algorithm();
  return fail(ErrorCode::unsupported,
              "no algorithm of " + std::string(name(problem.collective)) + " folds in the order of ranks");
}

}  // namespace cnuas::ccl
