// Which links a message from one GPU to another crosses.
#pragma once

#include "core/topology/fabric.h"

#include <cstdint>
#include <span>
#include <vector>

namespace cnuas {

// Shortest paths by number of cables; among equals the one whose next switch has the lowest index, then the
// lowest cable index. So the path depends on the fabric alone, and every GPU of a switch uses the same path
// to another switch.
class RouteTable {
 public:
  // Precondition: validate(fabric) holds. Keeps a reference: the fabric must outlive the table.
  explicit RouteTable(const Fabric& fabric);

  // The cable links from one switch to another, in order; empty when they are the same.
  std::span<const LinkIndex> between_switches(SwitchIndex from, SwitchIndex to) const;

  // All links from src to dst, in order: src's uplink, the cables, dst's downlink. Precondition: src != dst.
  // Overwrites `out`, so that a caller's buffer is reused.
  void links(GpuIndex src, GpuIndex dst, std::vector<LinkIndex>& out) const;

  // Sum of the latencies of all links and of every switch between src and dst.
  Picoseconds latency_ps(GpuIndex src, GpuIndex dst) const;

  // The least payload rate along the way, bytes a second.
  std::uint64_t bottleneck_bytes_per_s(GpuIndex src, GpuIndex dst) const;

  const Fabric& fabric() const { return fabric_; }

 private:
  struct Path {
    std::uint32_t first = 0;  // into hops_
    std::uint32_t length = 0;
    Picoseconds latency_ps = 0;                // cables and all switches on the way, both ends included
    std::uint64_t bottleneck_bytes_per_s = 0;  // of the cables
  };
  const Path& path(SwitchIndex from, SwitchIndex to) const { return paths_[from * switches_ + to]; }

  const Fabric& fabric_;
  std::size_t switches_;
  std::vector<Path> paths_;  // from * switches + to
  std::vector<LinkIndex> hops_;
};

}  // namespace cnuas
