// Whether a switch is well, and what is not.
#pragma once

#include "core/switch/switch.h"
#include "live/management/managed_switch.h"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace cnuas::live {

enum class Severity : std::uint8_t { note, warning, error };
std::string_view name(Severity severity);

struct Finding {
  Severity severity = Severity::note;
  std::string_view code;                         // as in docs/management.md
  std::string message;                           // one sentence without a full stop
  std::optional<fabric_switch::PortIndex> port;  // when it is about one
  GpuId gpu;                                     // kNoGpu: it is about none
  std::string_view reason;                       // of drops; empty: it is about none
  std::uint64_t frames = 0;                      // of drops
};

// Most severe first, else in order of ports.
std::vector<Finding> find_faults(const ManagedSwitch& managed);

// "failed" with an error among them, else "degraded" with a warning, else "ok".
std::string_view overall(const std::vector<Finding>& findings);

}  // namespace cnuas::live
