// One script, both sides, step by step.
#pragma once

#include "core/engine/error.h"
#include "tests/equivalence/difference.h"
#include "tests/equivalence/live_side.h"
#include "tests/equivalence/script.h"

#include <cstddef>
#include <set>
#include <string>
#include <vector>

namespace cnuas::equivalence {

struct Verdict {
  bool same() const { return differences.empty() && unrest.empty(); }

  // Of the first step after which there is one: what follows from it is not told again.
  std::vector<Difference> differences;
  std::string unrest;        // what the daemons were still about when patience with that step was over
  std::size_t step = 0;      // which, from 1; 0: none
  std::size_t steps = 0;     // done
  std::size_t messages = 0;  // sent by GPUs
  std::size_t deliveries = 0;
  std::size_t values = 0;    // compared
  std::size_t not_zero = 0;  // of those that are counters
  std::set<std::string> drop_reasons;
};

// Errors: of what keeps a side from starting, its own; of a side that fails later, mismatch, with the step.
Result<Verdict> compare_sides(const Script& script, const LiveOptions& options);

// The simulator does another script than the daemons, one of the same fabric: how a difference is provoked.
Result<Verdict> compare_sides(const Script& simulated, const Script& live, const LiveOptions& options);

}  // namespace cnuas::equivalence
