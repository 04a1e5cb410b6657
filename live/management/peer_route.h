// How two GPUs reach each other, as far as one switch knows.
#pragma once

#include "core/switch/switch.h"
#include "core/topology/gpu_id.h"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace cnuas::live {

enum class NoRoute : std::uint8_t {
  same_gpu,
  admin_down,
  absent,
  silent,
  not_expected,
  unknown_gpu,
  uplink_down,
  no_uplink,
  same_link,
};
std::string_view name(NoRoute reason);  // "same_gpu", ...

struct PeerPlace {
  GpuId gpu;
  std::optional<fabric_switch::PortIndex> port;  // by which it is reached; none: it is not
  bool remote = false;                           // behind another switch
};

struct PeerRoute {
  PeerPlace a;
  PeerPlace b;
  std::optional<NoRoute> fault;  // none: frames pass
  std::string reason;            // one sentence without a full stop, whatever `fault` is
};

// Preconditions: a.usable(), b.usable().
PeerRoute route_between(const fabric_switch::Switch& fabric_switch, GpuId a, GpuId b);

}  // namespace cnuas::live
