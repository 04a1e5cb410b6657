// What a port has counted since it was made or cleared.
#pragma once

#include "core/switch/latency_histogram.h"
#include "core/wire/frame.h"

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace cnuas::fabric_switch {

// Why a frame, or one copy of it, went no further.
enum class DropReason : std::uint8_t {
  // Received, at the port it came in by. The first nine are those of wire::FrameError, in its order.
  empty,
  short_header,
  oversize,
  bad_magic,
  bad_version,
  unknown_type,
  length_mismatch,
  bad_source,
  bad_destination,
  port_down,         // the port does not carry frames
  spoofed_source,    // gpu port: not the GPU that this port is for
  duplicate_source,  // gpu port: the ID belongs to another gpu port
  loop,              // inter_switch port: the GPU is at a gpu port of this switch, or reached by another link
  hairpin,           // the way to the destination is the port it came in by
  no_route,    // the destination is not known and there is no uplink; a broadcast that nobody is there for
  queue_full,  // the port is paused and has brought more than it may since
  // To be sent, at the port it was to leave by.
  stalled,        // flushed because the reader stood still, or arrived while it did
  link_down,      // in the queue when the peer went
  admin_down,     // in the queue when the port was taken down
  announcements,  // of the switch's own frames: too many wait already; repeated once those are sent
};
inline constexpr std::size_t kDropReasons = 20;
std::string_view name(DropReason reason);  // "no_route", ...

constexpr DropReason drop_reason(wire::FrameError error) {
  return static_cast<DropReason>(error);
}

// By type of frame, the index being the type's number on the wire. Index 0: messages that are no frames.
inline constexpr std::size_t kTypeSlots = wire::kFrameTypes + 1;
template <class Count>
using ByType = std::array<Count, kTypeSlots>;

constexpr std::size_t slot(wire::FrameType type) {
  return static_cast<std::size_t>(type);
}

// Nothing is lost without a count. In every moment, for each type:
//   at each port     rx_frames = rx_dropped + consumed + forwarded
//   at each port     offered + carried_over = tx_frames + tx_dropped + (frames in the queue)
//   over all ports   sum of copies + sum of own = sum of offered
struct alignas(64) TypeCounters {  // one cache line for frames that come in, one for those that leave
  std::uint64_t rx_frames = 0;     // messages received, dropped ones included
  std::uint64_t rx_bytes = 0;      // of those, headers included
  std::uint64_t rx_dropped = 0;    // of those, by themselves or for want of a destination
  std::uint64_t consumed = 0;      // of those, meant for the switch: DISCOVERY and LINK_KEEPALIVE
  std::uint64_t forwarded = 0;     // of those, offered to one port or more
  std::uint64_t copies = 0;        // how many ports those were offered to
  std::uint64_t own = 0;           // announcements that the switch made for this port
  std::uint64_t carried_over = 0;  // in the queue when the counters were cleared
  std::uint64_t offered = 0;       // copies and own frames that were to leave by this port
  std::uint64_t tx_frames = 0;     // handed to the driver
  std::uint64_t tx_bytes = 0;      // of those, headers included
  std::uint64_t tx_dropped = 0;    // neither sent nor in the queue any more

  TypeCounters& operator+=(const TypeCounters& other);
  constexpr bool operator==(const TypeCounters&) const = default;
};

struct PortCounters {
  ByType<TypeCounters> by_type{};
  std::array<ByType<std::uint64_t>, kDropReasons> rx_drops{};
  std::array<ByType<std::uint64_t>, kDropReasons> tx_drops{};
  LatencyHistogram latency;  // receive() to pop() of frames sent by this port; own frames do not count

  TypeCounters total() const;
  std::uint64_t rx_dropped(DropReason reason) const;  // of all types
  std::uint64_t tx_dropped(DropReason reason) const;

  // Collective frames that came in by this port and were passed on.
  std::uint64_t collective_reduce_count() const;
  std::uint64_t collective_gather_count() const;
};

}  // namespace cnuas::fabric_switch
