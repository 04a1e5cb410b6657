// A scenario file: what it says, as data.
#pragma once

#include "core/topology/fabric.h"
#include "core/workload/workload.h"

#include <cstdint>
#include <string>
#include <vector>

namespace cnuas::scenarios {

// For the switch daemons that bring the fabric up.
struct LiveSettings {
  std::vector<std::uint32_t> allow_users;   // numbers of users that may connect, beside root and the daemon's
  std::vector<std::uint32_t> allow_groups;  // numbers of groups whose members may connect
  Picoseconds keepalive_timeout_ps = 0;     // 0: never
};

struct Scenario {
  std::string name;
  std::string path;    // as given to load_file; "<text>" for load_text
  std::string sha256;  // of the file's bytes, lower-case hex
  Fabric fabric;
  Workload workload;
  Fidelity fidelity = Fidelity::automatic;  // as asked for
  std::uint64_t seed = 1;
  LiveSettings live;
};

// The fidelity that it runs in.
inline Fidelity fidelity_of(const Scenario& scenario) {
  return chosen_fidelity(scenario.fidelity, !scenario.workload.faults.empty());
}

}  // namespace cnuas::scenarios
