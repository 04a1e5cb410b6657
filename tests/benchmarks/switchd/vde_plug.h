// A plug of a vde_switch (VDE 2), by its own protocol: a control connection over which the two exchange the
// addresses of the datagram sockets that carry Ethernet frames.
#pragma once

#include "core/engine/error.h"
#include "live/posix/unique_fd.h"

#include <string>

namespace cnuas::benchmark {

struct VdePlug {
  live::UniqueFd control;  // the switch takes the plug out when this is closed
  live::UniqueFd frames;   // blocking; sends to the switch and receives from it
};

// `directory`: what vde_switch was given as -sock. `own_path`: where the plug's datagram socket is bound.
// Errors: io.
Result<VdePlug> plug_in(const std::string& directory, const std::string& own_path);

}  // namespace cnuas::benchmark
