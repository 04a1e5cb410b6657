// The daemon's command line.
#pragma once

#include "core/engine/error.h"
#include "live/switchd/log.h"
#include "live/switchd/switch_config.h"
#include "live/switchd/switch_server.h"

#include <optional>
#include <string>

#include <sys/types.h>

namespace cnuas::live {

enum ExitCode : int {
  kSuccess = 0,
  kUsage = 2,
  kBadFabric = 3,
  kInputOutput = 4,
  kInternal = 70,
};

struct Options {
  ServerOptions server;
  std::string run_dir;
  std::string config;  // path of a fabric's YAML; empty: none
  Place place;
  AccessList access;           // beside the fabric's
  std::optional<gid_t> group;  // of the sockets
  Picoseconds keepalive_timeout_ps = 0;
  LogTarget log = LogTarget::automatic;
  std::string log_level = "info";
  bool check_only = false;  // --check: say what the configuration means, and end
};

// Prints help, versions and what is wrong with the words. No value: `status` is what to exit with.
std::optional<Options> parse_options(int argc, char** argv, int& status);

}  // namespace cnuas::live
