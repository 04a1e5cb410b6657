// The ports that every switch has, and what their sockets are called.
#pragma once

#include "core/switch/frame_ref.h"

#include <string>
#include <string_view>

namespace cnuas::live {

inline constexpr std::size_t kGpuPorts = 8;  // 0 to 7: a GPU each, or a rack's switch each at a spine
inline constexpr fabric_switch::PortIndex kInterSwitchPort = 8;
inline constexpr std::size_t kDataPorts = 9;
inline constexpr unsigned kTelemetryPort = 9;  // carries no frames; its socket is not opened yet
inline constexpr std::string_view kManagementName = "mgmt";

inline std::string port_name(fabric_switch::PortIndex port) {
  return "port_" + std::to_string(port);
}

// "port_0" to "port_8", or "mgmt".
inline bool is_socket_name(std::string_view name) {
  if (name == kManagementName) return true;
  for (fabric_switch::PortIndex port = 0; port < kDataPorts; ++port) {
    if (name == port_name(port)) return true;
  }
  return false;
}

}  // namespace cnuas::live
