#include "core/switch/fdb.h"

#include <cassert>

namespace cnuas::fabric_switch {

void Fdb::set(GpuId gpu, PortIndex port, FdbOrigin origin) {
  assert(gpu.usable() && port < kMaxPorts);
  std::unique_ptr<Rack>& rack = racks_[gpu.rack()];
  if (!rack) rack = std::make_unique<Rack>();
  Slot& slot = rack->slots[gpu.slot()];
  if (slot.port == kNoPort) ++size_;
  slot = Slot{port, origin};
}

void Fdb::erase(GpuId gpu) {
  Rack* rack = racks_[gpu.rack()].get();
  if (rack == nullptr || rack->slots[gpu.slot()].port == kNoPort) return;
  rack->slots[gpu.slot()] = Slot{};
  --size_;
}

void Fdb::erase_port(PortIndex port) {
  for (const std::unique_ptr<Rack>& rack : racks_) {
    if (!rack) continue;
    for (Slot& slot : rack->slots) {
      if (slot.port != port) continue;
      slot = Slot{};
      --size_;
    }
  }
}

std::vector<FdbEntry> Fdb::entries() const {
  std::vector<FdbEntry> all;
  all.reserve(size_);
  for_each([&all](const FdbEntry& entry) { all.push_back(entry); });
  return all;
}

}  // namespace cnuas::fabric_switch
