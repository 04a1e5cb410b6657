// A run's results as people and programs read them.
#pragma once

#include "scenarios/scenario.h"
#include "sim/report/result.h"

#include <string>

namespace cnuas::sim {

enum class Format { table, json, csv };

// Where a result comes from and how to get it again.
struct Provenance {
  std::string command;  // the command line that repeats the run
};

// The version of this program and the commit it was built from; "unknown" outside a repository.
std::string program_version();
std::string program_commit();

// Whole text, ending with a newline. Deterministic: equal results give equal bytes. With `ports` also what
// the ports of RunResult::switches have counted, but not in CSV, which has a line a result.
std::string report(const scenarios::Scenario& scenario, const RunResult& result, const Provenance& provenance,
                   Format format, bool ports = false);

// algbw = size / time, busbw = algbw * ccl::bus_factor, bytes a second; 0 for a time of 0.
double algorithm_bandwidth(const CollectiveResult& row);
double bus_bandwidth(const CollectiveResult& row);

// Bytes that arrived, a second of the phase; 0 for a time of 0.
double throughput(const TrafficResult& row);

std::string_view name(Fidelity fidelity);
std::string_view name(TrafficPattern pattern);
std::string_view name(TrafficKind kind);

}  // namespace cnuas::sim
