// What `run` can hold its own results against.
#pragma once

#include "sim/report/result.h"

#include <string>

namespace cnuas::sim {

struct CheckReport {
  bool passed = true;
  std::string text;  // a line a result, ending with a newline
};

// Each result against its closed form where that is exact (one part in a million, or half a picosecond a
// message on the critical path), otherwise against the lower bounds. Nothing is passed over in silence: a
// result that no form covers says so.
CheckReport check_model(const RunResult& result);

}  // namespace cnuas::sim
