// One request of the management socket in, its answer out: docs/management.md. No sockets.
#pragma once

#include "core/engine/time.h"
#include "live/management/managed_switch.h"
#include "live/management/refusal.h"

#include <cstddef>
#include <string>
#include <string_view>

namespace cnuas::live {

inline constexpr std::size_t kLongestRequest = 65'536;      // without its newline
inline constexpr std::size_t kLongestAnswer = 1024 * 1024;  // with its newline

// One thread: that of the switch, which must live longer.
class ManagementApi {
 public:
  // The counters are taken to have been zero when the daemon started.
  explicit ManagementApi(ManagedSwitch& managed);

  // The answer to `line`, whatever its bytes; `line` has no newline, and the answer ends with its only one.
  // Empty for a line of blanks alone, which asks for nothing. `now` is monotonic_now(). Does not throw.
  std::string answer(std::string_view line, Picoseconds now);

 private:
  ManagedSwitch& managed_;
  Picoseconds counting_since_;
};

// Answers to no request in particular, with their newline.
std::string refusal_line(const Refusal& refusal);
std::string too_long_line();

}  // namespace cnuas::live
