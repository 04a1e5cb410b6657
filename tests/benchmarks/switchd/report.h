// The measurements of a plan as JSON.
#pragma once

#include "core/engine/error.h"
#include "tests/benchmarks/switchd/plan.h"

#include <nlohmann/json.hpp>

namespace cnuas::benchmark {

// Measures everything, round by round, each round in another order. `met` of the report says whether all bars
// were. Says on standard error what it is at. Errors: of the first measurement that failed.
Result<nlohmann::ordered_json> run(const Plan& plan);

}  // namespace cnuas::benchmark
