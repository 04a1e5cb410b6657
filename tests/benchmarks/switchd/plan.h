// What is measured, and what of it must hold.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

namespace cnuas::benchmark {

struct Plan {
  std::vector<std::size_t> sizes{64, 1500, 4096, 9216, 61440};  // of whole frames, in bytes
  unsigned rounds = 7;
  double seconds = 0.4;   // of each measurement
  double patience_s = 2;  // how long each measurement waits for a quiet machine
  std::string scheduling = "normal";
  std::string daemon;
  std::string vde_switch;  // empty: not to be measured
};

inline constexpr std::size_t kLongestEthernet = 1500;  // vde_switch cuts longer frames short

// Frames a second against the relay.
constexpr double throughput_bar(std::size_t frame_bytes) {
  return frame_bytes <= 9216 ? 1.6 : 1.25;
}
inline constexpr double kVdeBar = 2.0;   // frames a second against vde_switch
inline constexpr double kP50Bar = 1.05;  // round trip against the relay: at most
inline constexpr double kP99Bar = 1.2;
inline constexpr double kStalledNeighbourBar = 0.9;  // against a neighbour that reads

// Rounds that differ by more than this, in parts of their median, are warned of.
inline constexpr double kWideSpread = 0.25;
// So is other work on the machine, in processors.
inline constexpr double kMuchOtherWork = 0.2;

}  // namespace cnuas::benchmark
