// Holds two observations of one moment against each other.
#pragma once

#include "tests/equivalence/observation.h"
#include "tests/equivalence/script.h"

#include <cstddef>
#include <set>
#include <string>
#include <vector>

namespace cnuas::equivalence {

// Where the two sides are not the same. Fields that do not apply are empty.
struct Difference {
  std::string place;  // a switch: "rack1"; or a GPU: "1/3"
  int port = -1;      // of the daemon
  std::string type;   // of frames: "DATA"; "INVALID" for what is none
  std::string what;   // "tx_frames", "rx_drops no_route", "forwarding database", "frames read"
  std::string simulator;
  std::string daemon;
};

// "rack1 port 3, DATA, tx_frames: 5 in the simulator, 4 in the daemon"
std::string to_text(const Difference& difference);

struct Comparison {
  std::vector<Difference> differences;
  std::size_t values = 0;              // compared
  std::size_t not_zero = 0;            // of those that are counters
  std::set<std::string> drop_reasons;  // that something was dropped for: "no_route"
};

// Of one step. Ports of the daemon that the simulator does not have must be as if they were not there.
Comparison compare(const Fabric& fabric, const StepObservation& simulator, const StepObservation& daemon);

}  // namespace cnuas::equivalence
