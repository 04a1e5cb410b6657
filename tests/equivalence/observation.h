// What there is to see of a fabric at rest, of either side.
#pragma once

#include "core/switch/counters.h"
#include "core/switch/fdb.h"
#include "core/switch/group_table.h"
#include "core/switch/switch.h"
#include "core/topology/fabric.h"
#include "core/wire/frame.h"

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace cnuas::equivalence {

// A frame that a GPU has read. Its payload is kept as a digest.
struct Delivery {
  GpuIndex to = 0;
  wire::FrameHeader header;
  std::uint64_t digest = 0;
  bool operator==(const Delivery&) const = default;
};
// Of a whole message; one that is no frame has an empty header.
Delivery delivery(GpuIndex to, std::span<const std::byte> message);

struct PortObservation {
  fabric_switch::PortRole role = fabric_switch::PortRole::gpu;
  bool admin_up = true;
  bool link_up = false;
  bool stalled = false;
  bool ingress_paused = false;
  wire::ByteOrder order = wire::ByteOrder::big;
  GpuId gpu;  // that is bound to the port or expected there; kNoGpu
  std::uint64_t queued_bytes = 0;
  fabric_switch::ByType<fabric_switch::TypeCounters> by_type{};
  fabric_switch::ByType<std::uint64_t> queued{};
  std::array<fabric_switch::ByType<std::uint64_t>, fabric_switch::kDropReasons> rx_drops{};
  std::array<fabric_switch::ByType<std::uint64_t>, fabric_switch::kDropReasons> tx_drops{};
};

// Ports are the daemon's: see daemon_port().
struct SwitchObservation {
  std::vector<PortObservation> ports;
  std::vector<fabric_switch::FdbEntry> fdb;  // in order of IDs
  std::vector<fabric_switch::Group> groups;  // likewise
};

struct StepObservation {
  std::string unrest;                // what did not come to rest in time; empty when all did
  bool refused = false;              // what the step asked for was not done
  std::vector<Delivery> deliveries;  // for each GPU in the order in which it read them
  std::vector<SwitchObservation> switches;
};

}  // namespace cnuas::equivalence
