#include "sim/commands/progress.h"

#include <cstdio>

#include <fmt/format.h>
#include <unistd.h>

namespace cnuas::sim {

namespace {

constexpr auto kFirst = std::chrono::milliseconds(500);
constexpr auto kBetween = std::chrono::milliseconds(200);

}  // namespace

ProgressLine::ProgressLine(bool quiet)
    : enabled_(!quiet && isatty(STDERR_FILENO) == 1), begin_(Clock::now()), last_(begin_) {}

ProgressLine::~ProgressLine() {
  if (shown_) fmt::print(stderr, "\r\033[K");
}

void ProgressLine::update(const Progress& progress) {
  if (!enabled_) return;
  if (progress.item != item_) {
    item_ = progress.item;
    events_before_ += events_now_;
  }
  events_now_ = progress.events;
  const Clock::time_point now = Clock::now();
  if (now - begin_ < kFirst || now - last_ < kBetween) return;
  last_ = now;
  shown_ = true;
  const double elapsed = std::chrono::duration<double>(now - begin_).count();
  const double rate = static_cast<double>(events_before_ + events_now_) / elapsed;
  // By finished items only, as nothing is known about the one under way.
  const std::size_t finished = progress.item > 0 ? progress.item - 1 : 0;
  std::string rest;
  if (finished > 0) {
    rest = fmt::format(", about {:.0f} s left", elapsed / static_cast<double>(finished) *
                                                    static_cast<double>(progress.items - finished));
  }
  fmt::print(stderr, "\r\033[K[{}/{}] {}: {:.3f} us, {:.2f} M events/s{}", progress.item, progress.items,
             progress.what, static_cast<double>(progress.time_ps) / 1e6, rate / 1e6, rest);
  std::fflush(stderr);
}

}  // namespace cnuas::sim
