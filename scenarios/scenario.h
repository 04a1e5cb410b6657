// A scenario file: what it says, as data.
#pragma once

#include "core/topology/fabric.h"
#include "core/workload/workload.h"

#include <cstdint>
#include <string>
#include <vector>

namespace cnuas::scenarios {

struct Scenario {
  std::string name;
  std::string path;    // as given to load_file; "<text>" for load_text
  std::string sha256;  // of the file's bytes, lower-case hex
  Fabric fabric;
  Workload workload;
  Fidelity fidelity = Fidelity::automatic;  // as asked for
  std::uint64_t seed = 1;
};

// The fidelity that it runs in.
inline Fidelity fidelity_of(const Scenario& scenario) {
  return chosen_fidelity(scenario.fidelity, !scenario.workload.faults.empty());
}

}  // namespace cnuas::scenarios
