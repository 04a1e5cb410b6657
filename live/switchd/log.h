// Where the daemon's messages go, and how many of a kind.
#pragma once

#include "core/engine/error.h"
#include "core/engine/time.h"

#include <cstdint>
#include <optional>
#include <string>

namespace cnuas::live {

enum class LogTarget : std::uint8_t {
  automatic,  // the journal if it is what standard error is connected to
  standard_error,
  journal,
};

// Sets up spdlog's default logger. `level` is one of spdlog's names ("debug", "info", "warning", "error").
Result<void> set_up_log(LogTarget target, const std::string& program, const std::string& level);

// Lets through so many messages of one kind in a period, and says how many it held back: a peer must not be
// able to fill the disk.
class LogLimit {
 public:
  static constexpr unsigned kMostAPeriod = 10;
  static constexpr Picoseconds kPeriod = 10 * kSecond;

  // No value: keep quiet. Otherwise how many were held back since the last one that was let through.
  std::optional<std::uint64_t> admit(Picoseconds now);

 private:
  std::optional<Picoseconds> period_ps_;  // when it began
  unsigned in_period_ = 0;
  std::uint64_t held_back_ = 0;
};

// " (12 more like it were not logged)", or nothing for 0.
std::string held_back(std::uint64_t count);

}  // namespace cnuas::live
