// One function a format; see report().
#pragma once

#include "sim/report/report.h"

#include <string>

namespace cnuas::sim {

std::string table(const scenarios::Scenario& scenario, const RunResult& result, const Provenance& provenance,
                  bool ports);
std::string json(const scenarios::Scenario& scenario, const RunResult& result, const Provenance& provenance,
                 bool ports);
std::string csv(const scenarios::Scenario& scenario, const RunResult& result);

}  // namespace cnuas::sim
