// Bit errors on a link and what recovering from them costs.
#pragma once

#include "core/engine/random.h"
#include "core/link/serialiser.h"

#include <cmath>
#include <cstdint>

namespace cnuas {

// NVLink checks each packet by a CRC and sends it again from a replay buffer when the acknowledgement does
// not come (published for generation 1; timeout and depth are not). Nothing is lost; a corrupted packet costs
// the time until its sender knows, and the packet once more, which may be hit again.
class BitErrors {
 public:
  // `rate`: probability that a bit is received wrong, above 0 and below 1.
  BitErrors(double rate, Random random) : rate_(rate), random_(random) {}

  struct Replays {
    std::uint64_t count = 0;
    Picoseconds time_ps = 0;  // what they add to the sending of the frame
  };
  // Drawn packet by packet, but at the cost of the errors alone: what is drawn is how many packets come
  // through until the next that does not (geometric). The last, shorter packet of a frame counts as a full
  // one.
  Replays hit(std::uint64_t frame_bytes, const Serialiser& link) {
    const LinkProfile& profile = link.profile();
    const std::uint64_t packet = profile.packets ? profile.packets->max_payload_bytes() : kPacketBytes;
    const std::uint64_t wire = link.wire_bytes(packet);
    const double log_right =
        std::log1p(-rate_) * 8.0 * static_cast<double>(wire);  // of a packet coming through
    if (!drawn_) draw(log_right);
    Replays result;
    std::uint64_t packets = (frame_bytes + packet - 1) / packet;
    while (good_packets_ < packets) {
      packets -= good_packets_;  // the packet that was hit is sent again: it is still to come
      ++result.count;
      draw(log_right);
      if (result.count >= kMaxReplays) break;
    }
    good_packets_ = good_packets_ > packets ? good_packets_ - packets : 0;
    const Picoseconds each = 2 * profile.latency_ps + transmission_ps(wire, profile.bandwidth_bytes_per_s);
    result.time_ps = static_cast<Picoseconds>(result.count) * each;
    return result;
  }

 private:
  static constexpr std::uint64_t kPacketBytes = 256;     // of a pure pipe, which has no packets of its own
  static constexpr std::uint64_t kMaxReplays = 1 << 20;  // a link on which nothing gets through still ends

  void draw(double log_right) {
    const double skipped = std::floor(std::log1p(-random_.unit()) / log_right);
    good_packets_ = skipped < 1e18 ? static_cast<std::uint64_t>(skipped) : std::uint64_t{1} << 60;
    drawn_ = true;
  }

  double rate_;
  Random random_;
  std::uint64_t good_packets_ = 0;  // until the next one that is hit
  bool drawn_ = false;
};

}  // namespace cnuas
