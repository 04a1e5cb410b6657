// The command line of cnuas-endpoint.
#pragma once

#include "core/engine/time.h"
#include "core/topology/gpu_id.h"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace cnuas::live::endpoint {

enum ExitCode : int {
  kSuccess = 0,
  kCheckFailed = 1,
  kUsage = 2,
  kInputOutput = 4,
  kInternal = 70,
};

enum class Mode : std::uint8_t { echo, blast, sink, pattern, one_slot, ping };

struct Options {
  Mode mode = Mode::echo;
  // --- the link ---
  std::string run_dir = "/var/run/cnuaslink";
  unsigned port = 0;
  std::string socket_path;  // instead of the two; empty: none
  GpuId gpu;
  bool little_endian = false;
  bool reconnect = false;
  bool silent = false;
  Picoseconds wait_ps = 5 * kSecond;  // for the switch to know `to`
  // --- what it does ---
  GpuId to;                        // blast, ping, pattern; kNoGpu: none
  GpuId from;                      // pattern; kNoGpu: any
  bool verify = false;             // pattern: receives
  std::vector<std::size_t> bytes;  // payloads, in turn
  std::uint64_t count = 0;         // 0: no limit
  Picoseconds duration_ps = 0;     // 0: no limit
  Picoseconds idle_ps = 0;         // ends after so long without a message; 0: never
  double rate_per_s = 0;           // 0: as fast as it goes
  unsigned batch = 32;
  Picoseconds hold_ps = 0;           // one_slot
  Picoseconds interval_ps = 0;       // ping
  Picoseconds reply_timeout_ps = 0;  // ping
  // --- how it talks ---
  bool json = false;
  bool quiet = false;
};

// Nothing when the program is to end now, with `status`: help was asked for, or the usage is wrong.
std::optional<Options> parse_options(int argc, char** argv, int& status);

}  // namespace cnuas::live::endpoint
