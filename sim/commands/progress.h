// A line on the terminal that tells how far a run has come.
#pragma once

#include "sim/simulator.h"

#include <chrono>

namespace cnuas::sim {

// Rewrites one line on standard error, a few times a second, and only when that is a terminal and `quiet` is
// not set. Says nothing about runs that are over before anybody could read it.
class ProgressLine {
 public:
  explicit ProgressLine(bool quiet);
  ~ProgressLine();
  ProgressLine(const ProgressLine&) = delete;
  ProgressLine& operator=(const ProgressLine&) = delete;

  void update(const Progress& progress);

 private:
  using Clock = std::chrono::steady_clock;

  bool enabled_;
  bool shown_ = false;
  Clock::time_point begin_;
  Clock::time_point last_;
  std::uint64_t events_before_ = 0;  // of finished items
  std::uint64_t events_now_ = 0;
  std::size_t item_ = 0;
};

}  // namespace cnuas::sim
