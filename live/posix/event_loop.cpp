#include "live/posix/event_loop.h"

#include "live/posix/clock.h"
#include "live/posix/os_error.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <limits>

#include <sys/epoll.h>

namespace cnuas::live {

namespace {

constexpr std::size_t kEventsARound = 64;

std::uint64_t pack(std::uint32_t index, std::uint32_t generation) {
  return std::uint64_t{generation} << 32 | index;
}

}  // namespace

Result<EventLoop> EventLoop::create() {
  UniqueFd epoll(::epoll_create1(EPOLL_CLOEXEC));
  if (!epoll) return os_error(errno, "cannot make an epoll descriptor");
  return EventLoop(std::move(epoll));
}

Result<EventLoop::Watch> EventLoop::watch(int fd, std::uint32_t events, OnEvents callback) {
  std::uint32_t index = 0;
  if (free_.empty()) {
    index = static_cast<std::uint32_t>(entries_.size());
    entries_.emplace_back();
  } else {
    index = free_.back();
    free_.pop_back();
  }
  Entry& entry = entries_[index];
  epoll_event event{};
  event.events = events;
  event.data.u64 = pack(index, entry.generation);
  if (::epoll_ctl(epoll_.get(), EPOLL_CTL_ADD, fd, &event) != 0) {
    const int error = errno;
    free_.push_back(index);
    return os_error(error, "cannot watch a descriptor");
  }
  entry.fd = fd;
  entry.events = events;
  entry.callback = std::make_shared<OnEvents>(std::move(callback));
  return Watch{index, entry.generation};
}

void EventLoop::change(Watch watch, std::uint32_t events) {
  if (!watch || entries_[watch.index].generation != watch.generation) return;
  Entry& entry = entries_[watch.index];
  if (entry.events == events) return;
  epoll_event event{};
  event.events = events;
  event.data.u64 = pack(watch.index, watch.generation);
  // Changing a descriptor that is being watched takes no memory, so it cannot fail.
  ::epoll_ctl(epoll_.get(), EPOLL_CTL_MOD, entry.fd, &event);
  entry.events = events;
}

void EventLoop::unwatch(Watch& watch) {
  if (watch && entries_[watch.index].generation == watch.generation) {
    Entry& entry = entries_[watch.index];
    ::epoll_ctl(epoll_.get(), EPOLL_CTL_DEL, entry.fd, nullptr);
    entry.callback.reset();
    entry.fd = -1;
    if (++entry.generation == 0) entry.generation = 1;
    free_.push_back(watch.index);
  }
  watch = Watch{};
}

EventLoop::Timer EventLoop::call_at(Picoseconds at_ps, OnTime callback) {
  const Timer timer{at_ps, next_timer_++};
  timers_.emplace(std::pair{timer.at_ps, timer.sequence}, std::move(callback));
  return timer;
}

void EventLoop::cancel(Timer& timer) {
  if (timer) timers_.erase({timer.at_ps, timer.sequence});
  timer = Timer{};
}

// Rounded up, so that a time that has not come does not make it spin.
int EventLoop::wait_ms(Picoseconds until_ps) const {
  if (!timers_.empty()) until_ps = std::min(until_ps, timers_.begin()->first.first);
  if (until_ps == kNever) return -1;
  const Picoseconds left_ps = until_ps - monotonic_now();
  if (left_ps <= 0) return 0;
  const Picoseconds left_ms = (left_ps + kMillisecond - 1) / kMillisecond;
  return static_cast<int>(std::min<Picoseconds>(left_ms, std::numeric_limits<int>::max()));
}

Result<void> EventLoop::run_once(Picoseconds until_ps) {
  std::array<epoll_event, kEventsARound> events;
  const int ready =
      ::epoll_wait(epoll_.get(), events.data(), static_cast<int>(events.size()), wait_ms(until_ps));
  if (ready < 0 && errno != EINTR) return os_error(errno, "cannot wait for events");
  for (int i = 0; i < ready; ++i) {
    const epoll_event& event = events[static_cast<std::size_t>(i)];
    const auto index = static_cast<std::uint32_t>(event.data.u64);
    const auto generation = static_cast<std::uint32_t>(event.data.u64 >> 32);
    if (entries_[index].generation != generation) continue;  // removed by an earlier callback of this round
    const std::shared_ptr<OnEvents> callback = entries_[index].callback;
    (*callback)(event.events);
  }
  call_due_timers();
  return {};
}

void EventLoop::call_due_timers() {
  if (timers_.empty()) return;
  const Picoseconds now = monotonic_now();
  while (!timers_.empty() && timers_.begin()->first.first <= now) {
    const OnTime callback = std::move(timers_.begin()->second);
    timers_.erase(timers_.begin());
    callback();
  }
}

}  // namespace cnuas::live
