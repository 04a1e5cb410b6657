// The schedules that ship, and the problems they are tested with.
#pragma once

#include "core/ccl/schedule.h"

#include <cstdint>
#include <memory>
#include <ostream>
#include <string>
#include <vector>

namespace cnuas::ccl {

struct Shipped {
  Collective collective;
  Algorithm algorithm;

  bool pipelined() const {
    return algorithm == Algorithm::chain || algorithm == Algorithm::double_tree ||
           (algorithm == Algorithm::tree && collective == Collective::all_reduce);
  }
};

inline std::string label(const Shipped& shipped) {
  return std::string(name(shipped.collective)) + "_" + std::string(name(shipped.algorithm));
}
inline std::ostream& operator<<(std::ostream& out, const Shipped& shipped) {
  return out << label(shipped);
}

inline std::vector<Shipped> all_shipped() {
  std::vector<Shipped> all;
  for (const Collective collective : {Collective::all_reduce, Collective::broadcast, Collective::all_gather,
                                      Collective::reduce_scatter, Collective::all_to_all})
    for (const Algorithm algorithm : algorithms_of(collective))
      all.push_back({collective, algorithm});
  return all;
}

inline std::string describe(const Problem& problem) {
  return std::string(name(problem.collective)) + " " + std::string(name(problem.algorithm)) + " of " +
         std::to_string(problem.ranks) + " ranks, " + std::to_string(problem.count) + " elements, root " +
         std::to_string(problem.root) + ", " + std::to_string(problem.chunks) + " chunks";
}

inline Problem problem_of(const Shipped& shipped, Rank ranks, std::uint64_t count, Rank root = 0,
                          std::uint64_t chunks = 1) {
  return Problem{shipped.collective, shipped.algorithm, ranks, count, root, chunks};
}

// The schedules of a problem that is known to be good; null, and a failed test, if it is not.
inline std::unique_ptr<Schedule> schedule_of(const Problem& problem) {
  auto schedule = make_schedule(problem);
  return schedule ? std::move(*schedule) : nullptr;
}

// Chunk counts worth trying: one for algorithms that ignore them.
inline std::vector<std::uint64_t> chunk_counts(const Shipped& shipped) {
  return shipped.pipelined() ? std::vector<std::uint64_t>{1, 2, 5} : std::vector<std::uint64_t>{1};
}

}  // namespace cnuas::ccl
