// The forwarding database: which port a GPU is reached by.
#pragma once

#include "core/switch/frame_ref.h"
#include "core/topology/gpu_id.h"

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

namespace cnuas::fabric_switch {

enum class FdbOrigin : std::uint8_t {
  learned,     // from the source of a frame
  configured,  // from PortConfig::expected: there while the port's link is up, whether the GPU has spoken or
               // not
};

struct FdbEntry {
  GpuId gpu;
  PortIndex port = 0;
  FdbOrigin origin = FdbOrigin::learned;
  constexpr bool operator==(const FdbEntry&) const = default;
};

// Two levels, a table of 256 racks that point to tables of 256 slots: a switch that knows few racks stays in
// the processor's cache, and there is nothing to hash. At most 65,534 entries, 256 KiB; a rack's table is
// made with its first entry and kept.
class Fdb {
 public:
  static constexpr PortIndex kNoPort = 0xFFFF;

  // kNoPort for an ID that is not known, the two reserved ones included.
  PortIndex port_of(GpuId gpu) const {
    const Rack* rack = racks_[gpu.rack()].get();
    return rack == nullptr ? kNoPort : rack->slots[gpu.slot()].port;
  }

  // Makes or changes an entry. Precondition: gpu.usable(), port < kMaxPorts.
  void set(GpuId gpu, PortIndex port, FdbOrigin origin);
  void erase(GpuId gpu);  // nothing when it is not known
  // Every entry that leads to `port`.
  void erase_port(PortIndex port);

  std::size_t size() const { return size_; }

  // Calls visit(const FdbEntry&) for each entry in order of ID. The table must not change meanwhile.
  template <class Visitor>
  void for_each(Visitor visit) const {
    for (unsigned rack = 0; rack < racks_.size(); ++rack) {
      if (!racks_[rack]) continue;
      for (unsigned slot = 0; slot < kSlotsPerRack; ++slot) {
        const Slot& entry = racks_[rack]->slots[slot];
        const GpuId gpu{static_cast<std::uint16_t>(rack << 8 | slot)};
        if (entry.port != kNoPort) visit(FdbEntry{gpu, entry.port, entry.origin});
      }
    }
  }
  std::vector<FdbEntry> entries() const;  // in order of ID

 private:
  struct Slot {
    PortIndex port = kNoPort;
    FdbOrigin origin = FdbOrigin::learned;
  };
  struct Rack {
    std::array<Slot, kSlotsPerRack> slots;
  };

  std::array<std::unique_ptr<Rack>, kMaxRack + 1> racks_;
  std::size_t size_ = 0;
};

}  // namespace cnuas::fabric_switch
