// From the management interface's answers to observations. docs/management.md says what they look like.
#pragma once

#include "core/engine/error.h"
#include "tests/equivalence/observation.h"

#include <vector>

#include <nlohmann/json.hpp>

namespace cnuas::equivalence {

// What the three answers say together. A field that is missing, of the wrong type, or that names a type or
// reason nobody knows is an error (mismatch) that says which.
Result<SwitchObservation> read_switch(const nlohmann::json& port_status, const nlohmann::json& telemetry,
                                      const nlohmann::json& fdb, const nlohmann::json& groups);

// What tells whether a port is at rest; from port_status alone.
struct PortActivity {
  bool link_up = false;
  bool stalled = false;
  std::uint64_t queued_frames = 0;
  std::uint64_t rx_frames = 0;
  std::uint64_t tx_frames = 0;
  bool operator==(const PortActivity&) const = default;
};
Result<std::vector<PortActivity>> read_activity(const nlohmann::json& port_status);

}  // namespace cnuas::equivalence
