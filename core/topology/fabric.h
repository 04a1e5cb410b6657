// A fabric as plain data: switches, GPUs, the cables between them.
#pragma once

#include "core/engine/error.h"
#include "core/engine/time.h"
#include "core/link/link_profile.h"
#include "core/topology/gpu_id.h"

#include <cstdint>
#include <string>
#include <vector>

namespace cnuas {

using SwitchIndex = std::uint32_t;  // position in Fabric::switches
using GpuIndex = std::uint32_t;     // position in Fabric::gpus
using CableIndex = std::uint32_t;   // position in Fabric::cables

struct Switch {
  std::string name;            // unique: "rack1", "spine", or the scenario's own
  unsigned rack = 0;           // rack whose GPUs it serves; 0 also for a switch without GPUs (a spine)
  Picoseconds latency_ps = 0;  // from the last bit in to the first bit out
  std::uint64_t port_buffer_bytes = 0;  // egress queue of each port; no effect where only flows are simulated
  bool cut_through = true;  // forward once the header is in; else the whole frame first. Frames only
  Picoseconds stall_timeout_ps =
      50 * kMillisecond;  // a queue that has not moved this long is dropped. Frames only
};

struct Gpu {
  GpuId id;
  SwitchIndex attached = 0;
  std::uint32_t host = 0;  // GPUs of one rack with the same number share a host
  LinkProfile link;        // to its switch, and back
};

// A full-duplex cable between two switches; `link` describes each direction.
struct Cable {
  SwitchIndex a = 0;
  SwitchIndex b = 0;
  LinkProfile link;
};

struct Fabric {
  std::vector<Switch> switches;
  std::vector<Gpu> gpus;  // ascending by ID: rack, then slot
  std::vector<Cable> cables;
  std::uint64_t frame_bytes =
      65'536;  // largest frame, header included; 0: a message is one frame. Frames only
};

// One direction of a wire, numbered densely: 2g is GPU g to its switch, 2g+1 the switch to GPU g; after all
// GPUs, cable c has 2*gpus+2c for a to b and the next number for b to a.
using LinkIndex = std::uint32_t;

constexpr LinkIndex gpu_uplink(GpuIndex gpu) {
  return 2 * gpu;
}
constexpr LinkIndex gpu_downlink(GpuIndex gpu) {
  return 2 * gpu + 1;
}
LinkIndex cable_link(const Fabric& fabric, CableIndex cable, bool a_to_b);
std::uint32_t link_count(const Fabric& fabric);
const LinkProfile& link_profile(const Fabric& fabric, LinkIndex link);
// "1/3 -> rack1", "rack1 -> 1/3", "rack1 -> spine"; parallel cables get "#2", "#3" after the name.
std::string link_name(const Fabric& fabric, LinkIndex link);

// Position of a GPU by its ID. Errors: not_found.
Result<GpuIndex> find_gpu(const Fabric& fabric, GpuId id);

// --- Builders for the named topologies
// -------------------------------------------------------------------------------

// What the regular topologies have in common.
struct RackParameters {
  std::vector<unsigned> gpus_per_rack;  // one entry a rack, each 1..256
  unsigned first_rack = 1;              // rack numbers ascend from here
  unsigned hosts_per_rack = 1;          // GPUs are dealt to hosts in slot order, as evenly as they go
  LinkProfile gpu_link;
  Picoseconds switch_latency_ps = 0;
  std::uint64_t port_buffer_bytes = 256 * 1024;
  LinkProfile inter_switch;  // rack to rack (pair) or rack to spine; unused with one rack
};

// One rack per entry; one entry: no cable; two: a cable between them. Errors: invalid_argument for 0 or more
// than two racks, a reserved or impossible GPU ID, a rate of 0.
Result<Fabric> build_rack(const RackParameters& parameters);
Result<Fabric> build_pair(const RackParameters& parameters);
// Every rack has one cable to one spine switch. 1 to 255 racks.
Result<Fabric> build_spine(const RackParameters& parameters);

// What every fabric must satisfy, however it was made: at least one GPU; IDs usable, unique and ascending;
// indices in range; no cable from a switch to itself; rates above 0; every GPU reachable from every other.
// The first violation is the error; Error::where names the switch, GPU or cable.
Result<void> validate(const Fabric& fabric);

}  // namespace cnuas
