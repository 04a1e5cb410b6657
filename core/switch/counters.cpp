#include "core/switch/counters.h"

#include <numeric>

namespace cnuas::fabric_switch {

static_assert(drop_reason(wire::FrameError::empty) == DropReason::empty);
static_assert(drop_reason(wire::FrameError::bad_destination) == DropReason::bad_destination);
static_assert(static_cast<std::size_t>(DropReason::announcements) + 1 == kDropReasons);

std::string_view name(DropReason reason) {
  if (static_cast<std::size_t>(reason) < wire::kFrameErrors)
    return wire::name(static_cast<wire::FrameError>(reason));
  switch (reason) {
    case DropReason::port_down:
      return "port_down";
    case DropReason::spoofed_source:
      return "spoofed_source";
    case DropReason::duplicate_source:
      return "duplicate_source";
    case DropReason::loop:
      return "loop";
    case DropReason::hairpin:
      return "hairpin";
    case DropReason::no_route:
      return "no_route";
    case DropReason::queue_full:
      return "queue_full";
    case DropReason::stalled:
      return "stalled";
    case DropReason::link_down:
      return "link_down";
    case DropReason::admin_down:
      return "admin_down";
    case DropReason::announcements:
      return "announcements";
    default:
      return "?";
  }
}

TypeCounters& TypeCounters::operator+=(const TypeCounters& other) {
  rx_frames += other.rx_frames;
  rx_bytes += other.rx_bytes;
  rx_dropped += other.rx_dropped;
  consumed += other.consumed;
  forwarded += other.forwarded;
  copies += other.copies;
  own += other.own;
  offered += other.offered;
  carried_over += other.carried_over;
  tx_frames += other.tx_frames;
  tx_bytes += other.tx_bytes;
  tx_dropped += other.tx_dropped;
  return *this;
}

TypeCounters PortCounters::total() const {
  TypeCounters sum;
  for (const TypeCounters& each : by_type)
    sum += each;
  return sum;
}

std::uint64_t PortCounters::rx_dropped(DropReason reason) const {
  const ByType<std::uint64_t>& drops = rx_drops[static_cast<std::size_t>(reason)];
  return std::accumulate(drops.begin(), drops.end(), std::uint64_t{0});
}

std::uint64_t PortCounters::tx_dropped(DropReason reason) const {
  const ByType<std::uint64_t>& drops = tx_drops[static_cast<std::size_t>(reason)];
  return std::accumulate(drops.begin(), drops.end(), std::uint64_t{0});
}

std::uint64_t PortCounters::collective_reduce_count() const {
  return by_type[slot(wire::FrameType::collective_reduce)].forwarded;
}

std::uint64_t PortCounters::collective_gather_count() const {
  return by_type[slot(wire::FrameType::collective_gather)].forwarded;
}

}  // namespace cnuas::fabric_switch
