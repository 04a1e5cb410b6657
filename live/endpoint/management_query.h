// Asks a switch, on its management socket: how two GPUs reach each other, and which GPU it expects at a port.
#pragma once

#include "core/engine/error.h"
#include "core/engine/time.h"
#include "core/topology/gpu_id.h"
#include "live/endpoint/cnuaslink.h"

#include <cstdint>
#include <string>
#include <string_view>

namespace cnuas::live::endpoint {

struct PeerAnswer {
  cnuaslink_transport transport = CNUASLINK_TRANSPORT_NONE;
  std::string reason;
  std::string ivshmem_socket;
  std::uint64_t region_bytes = 0;
};

// Waits for `timeout_ps` at most. Errors: io for a socket that is not there, not open to this user or silent;
// mismatch for an answer that cannot be understood, or an error that the switch reports.
Result<PeerAnswer> query_peer(const std::string& management_path, GpuId self, GpuId peer,
                              Picoseconds timeout_ps);

// kNoGpu: none. As query_peer().
Result<GpuId> query_expected_gpu(const std::string& management_path, std::uint32_t port,
                                 Picoseconds timeout_ps);

// The answers alone: one line, whatever its bytes.
Result<PeerAnswer> parse_peer_answer(std::string_view line);
Result<GpuId> parse_expected_gpu(std::string_view line);

}  // namespace cnuas::live::endpoint
