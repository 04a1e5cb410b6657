// How long a frame occupies one direction of a link.
#pragma once

#include "core/engine/time.h"
#include "core/link/link_profile.h"

#include <cstdint>

namespace cnuas {

// Frames of a run have few sizes, so the last one's time is kept: a division of 128 bits a frame would be
// most of the cost of a hop.
class Serialiser {
 public:
  explicit Serialiser(const LinkProfile& profile) : profile_(profile) {}

  // Bytes on the wire for a frame of `frame_bytes`: itself on a pure pipe, with flits and packet headers on
  // NVLink.
  std::uint64_t wire_bytes(std::uint64_t frame_bytes) const {
    return profile_.packets ? profile_.packets->wire_bytes(frame_bytes) : frame_bytes;
  }

  Picoseconds time_ps(std::uint64_t frame_bytes) {
    if (frame_bytes != last_bytes_) {
      last_bytes_ = frame_bytes;
      last_ps_ = transmission_ps(wire_bytes(frame_bytes), profile_.bandwidth_bytes_per_s);
    }
    return last_ps_;
  }

  const LinkProfile& profile() const { return profile_; }
  // Lanes lost or regained: frames from now on take the new time.
  void set_bandwidth(std::uint64_t bytes_per_s) {
    profile_.bandwidth_bytes_per_s = bytes_per_s;
    last_bytes_ = 0;
    last_ps_ = 0;
  }

 private:
  LinkProfile profile_;
  std::uint64_t last_bytes_ = 0;
  Picoseconds last_ps_ = 0;
};

}  // namespace cnuas
