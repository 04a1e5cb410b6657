#include "live/ccl/perf/supervise.h"

#include "live/ccl/perf/report.h"

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <optional>

#include <poll.h>
#include <sys/signalfd.h>
#include <unistd.h>

namespace cnuas::live::perf {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::chrono::milliseconds kGrace{1'000};        // for the others to say what they make of it
constexpr std::chrono::milliseconds kFlightGrace{5'000};  // beyond the deadline of their waits

sigset_t ending_signals() {
  sigset_t signals;
  sigemptyset(&signals);
  for (const int each : {SIGINT, SIGTERM, SIGHUP})
    sigaddset(&signals, each);
  return signals;
}

class Supervisor {
 public:
  Supervisor(World& world, const Options& options, Results& results)
      : world_(world), options_(options), results_(results), done_(world.reports().size()) {}

  int run() {
    const sigset_t signals = ending_signals();
    const UniqueFd signal_fd(::signalfd(-1, &signals, SFD_CLOEXEC));
    std::vector<pollfd> entries;
    while (running() > 0) {
      entries.clear();
      for (const UniqueFd& each : world_.reports())
        entries.push_back({each ? each.get() : -1, POLLIN, 0});
      entries.push_back({signal_fd ? signal_fd.get() : -1, POLLIN, 0});
      const int ready = ::poll(entries.data(), entries.size(), patience_ms());
      if (ready < 0 && errno != EINTR) return kInternal;
      if (ready == 0 && deadline_) break;
      if (ready > 0 && entries.back().revents != 0) return interrupted(signal_fd.get());
      for (std::size_t rank = 0; ready > 0 && rank < world_.reports().size(); ++rank)
        if (entries[rank].revents != 0) read(rank);
    }
    world_.kill();
    return exit_code_ != kSuccess ? exit_code_ : results_.wrong() > 0 ? kWrongData : kSuccess;
  }

 private:
  std::size_t running() const {
    return static_cast<std::size_t>(std::count_if(world_.reports().begin(), world_.reports().end(),
                                                  [](const UniqueFd& fd) { return bool{fd}; }));
  }

  int patience_ms() const {
    if (!deadline_) return -1;
    const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(*deadline_ - Clock::now());
    return static_cast<int>(std::clamp<std::int64_t>(left.count() + 1, 0, 1'000'000));
  }

  int interrupted(int fd) {
    signalfd_siginfo info{};
    const bool known = ::read(fd, &info, sizeof info) == static_cast<ssize_t>(sizeof info);
    world_.kill();
    std::fprintf(stderr, "interrupted%s\n", known && info.ssi_signo == SIGTERM ? " by SIGTERM" : "");
    return kInputOutput;
  }

  void read(std::size_t rank) {
    UniqueFd& fd = world_.reports()[rank];
    Report report;
    const ssize_t got = ::read(fd.get(), &report, sizeof report);
    if (got < 0 && errno == EINTR) return;
    if (got == static_cast<ssize_t>(sizeof report)) return take(rank, report);
    fd.reset();
    if (done_[rank]) return;
    Process& process = world_.process_of(rank);
    for (int i = 0; process.running() && i < 100; ++i)
      ::usleep(1'000);  // its descriptors go before it does
    const std::optional<int> status = process.wait_status();
    std::fprintf(stderr, "error: rank %zu %s\n", rank,
                 status ? describe_end(*status).c_str() : "has closed its pipe");
    failed(kInputOutput);
  }

  void take(std::size_t rank, const Report& report) {
    switch (report.kind) {
      case Report::Kind::measured:
        return results_.take(rank, report);
      case Report::Kind::done:
        done_[rank] = true;
        return;
      case Report::Kind::failed:
        break;
    }
    done_[rank] = true;
    // What every rank says alike is said once.
    if (report.exit_code != kUsage || exit_code_ == kSuccess)
      std::fprintf(stderr, "error: rank %zu: %.*s\n", rank, static_cast<int>(sizeof report.text),
                   report.text);
    failed(static_cast<int>(report.exit_code));
  }

  void failed(int exit_code) {
    if (exit_code_ == kSuccess || exit_code == kInternal) exit_code_ = exit_code;
    if (deadline_) return;
    const auto timeout = std::chrono::nanoseconds(options_.timeout_ns);
    deadline_ = Clock::now() + (options_.flight.empty() ? std::chrono::nanoseconds(kGrace)
                                                        : timeout + std::chrono::nanoseconds(kFlightGrace));
  }

  World& world_;
  const Options& options_;
  Results& results_;
  std::vector<bool> done_;
  int exit_code_ = kSuccess;
  std::optional<Clock::time_point> deadline_;  // for the ranks that are left
};

}  // namespace

void hold_signals() {
  const sigset_t signals = ending_signals();
  ::sigprocmask(SIG_BLOCK, &signals, nullptr);
  ::signal(SIGPIPE, SIG_IGN);
}

int supervise(World& world, const Options& options, Results& results) {
  const int exit_code = Supervisor(world, options, results).run();
  world.kill();
  return exit_code;
}

}  // namespace cnuas::live::perf
