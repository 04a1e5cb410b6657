// Diagnoses for people and for programs.
#pragma once

#include "live/ccl/flight/diagnosis.h"

#include <string>
#include <vector>

namespace cnuas::live::flight {

std::string to_text(const std::vector<Diagnosis>& diagnoses);
// "schema": "cnuasccl.flight-report/1". `problems`: sentences about dumps that could not be used.
std::string to_json(const std::vector<Diagnosis>& diagnoses, const std::vector<std::string>& problems);

}  // namespace cnuas::live::flight
