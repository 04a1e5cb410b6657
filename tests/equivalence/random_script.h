// Scripts drawn from a seed.
#pragma once

#include "tests/equivalence/script.h"

#include <cstdint>

namespace cnuas::equivalence {

// The same seed and fabric give the same script. It is one that read_script() takes; readers stop only where
// the fabric's stall timeouts allow it, and what is sent to them at a time does not hold up senders, so that
// what a script does to each port is settled whatever the machine is doing besides.
Script random_script(const Fabric& fabric, const std::string& fabric_path, std::uint64_t seed,
                     std::size_t steps);

}  // namespace cnuas::equivalence
