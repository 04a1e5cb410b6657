// The laws of core/switch/counters.h, checked.
#pragma once

#include "core/switch/switch.h"

#include <numeric>
#include <string>

namespace cnuas::fabric_switch {

// What does not add up, empty when all does.
inline std::string conservation_violation(const Switch& fabric) {
  ByType<std::uint64_t> copies{};
  ByType<std::uint64_t> offered{};
  for (std::size_t i = 0; i < fabric.ports(); ++i) {
    const auto port = static_cast<PortIndex>(i);
    const PortCounters& counters = fabric.counters(port);
    const ByType<std::uint64_t> queued = fabric.queued_by_type(port);
    for (std::size_t type = 0; type < kTypeSlots; ++type) {
      const TypeCounters& count = counters.by_type[type];
      const std::string where = "port " + std::to_string(port) + ", type " + std::to_string(type) + ": ";
      if (count.rx_frames != count.rx_dropped + count.consumed + count.forwarded)
        return where + "received frames";
      if (count.offered + count.carried_over != count.tx_frames + count.tx_dropped + queued[type]) {
        return where + "offered frames";
      }
      std::uint64_t rx_drops = 0;
      std::uint64_t tx_drops = 0;
      for (std::size_t reason = 0; reason < kDropReasons; ++reason) {
        rx_drops += counters.rx_drops[reason][type];
        tx_drops += counters.tx_drops[reason][type];
      }
      if (rx_drops != count.rx_dropped) return where + "reasons of received drops";
      if (tx_drops != count.tx_dropped) return where + "reasons of drops to be sent";
      copies[type] += count.copies + count.own;
      offered[type] += count.offered;
    }
    const TypeCounters total = counters.total();
    if (counters.latency.count() > total.tx_frames) return "port " + std::to_string(port) + ": latencies";
  }
  return copies == offered ? "" : "copies and own frames are not what was offered";
}

}  // namespace cnuas::fabric_switch
