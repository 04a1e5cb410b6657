// One thread's wait for descriptors and times: level-triggered epoll.
#pragma once

#include "core/engine/error.h"
#include "core/engine/time.h"
#include "live/posix/unique_fd.h"

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <utility>
#include <vector>

namespace cnuas::live {

// Not thread-safe, and not to be moved while callbacks refer to it. Callbacks may add, change and remove
// watches and timers, their own included: what is removed is not called again, not even for events that the
// kernel has already reported.
class EventLoop {
 public:
  using OnEvents = std::function<void(std::uint32_t events)>;  // EPOLLIN, EPOLLOUT, EPOLLRDHUP, ...
  using OnTime = std::function<void()>;

  // Errors: io.
  static Result<EventLoop> create();

  // --- descriptors ---
  struct Watch {
    std::uint32_t index = 0;
    std::uint32_t generation = 0;  // 0: none
    explicit operator bool() const { return generation != 0; }
  };
  // The descriptor stays the caller's, and open until unwatch(). EPOLLERR and EPOLLHUP are reported
  // whatever `events` are. Errors: io.
  Result<Watch> watch(int fd, std::uint32_t events, OnEvents callback);
  void change(Watch watch, std::uint32_t events);
  // Sets `watch` to none; nothing when it is none.
  void unwatch(Watch& watch);

  // --- times ---
  struct Timer {
    Picoseconds at_ps = kNever;
    std::uint64_t sequence = 0;  // 0: none
    explicit operator bool() const { return sequence != 0; }
  };
  // Calls back once, at `at_ps` of monotonic_now() or up to a millisecond later; times are kept in order.
  Timer call_at(Picoseconds at_ps, OnTime callback);
  // Sets `timer` to none; nothing when it is none or has been called.
  void cancel(Timer& timer);

  // Waits until something is ready, a time has come or `until_ps` has (kNever: no limit), and calls back for
  // all of it. Returns after one round, or when a signal interrupted the wait. Errors: io.
  Result<void> run_once(Picoseconds until_ps = kNever);

 private:
  struct Entry {
    int fd = -1;
    std::uint32_t generation = 1;
    std::uint32_t events = 0;
    std::shared_ptr<OnEvents> callback;  // shared: it may be removed while it runs
  };
  explicit EventLoop(UniqueFd epoll) : epoll_(std::move(epoll)) {}
  int wait_ms(Picoseconds until_ps) const;
  void call_due_timers();

  UniqueFd epoll_;
  std::vector<Entry> entries_;
  std::vector<std::uint32_t> free_;
  std::map<std::pair<Picoseconds, std::uint64_t>, OnTime> timers_;
  std::uint64_t next_timer_ = 1;
};

}  // namespace cnuas::live
