#include "live/endpoint/waiting.h"

#include "live/posix/clock.h"
#include "live/posix/os_error.h"

#include <algorithm>
#include <cerrno>
#include <chrono>

#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/timerfd.h>

namespace cnuas::live::endpoint {

namespace {

bool add(int epoll, int fd, std::uint32_t events) {
  epoll_event event{};
  event.events = events;
  event.data.fd = fd;
  return ::epoll_ctl(epoll, EPOLL_CTL_ADD, fd, &event) == 0;
}

void set_readable(const UniqueFd& event, bool readable) {
  // Neither can fail: the counter goes from 0 to 1 and back.
  if (readable) {
    ::eventfd_write(event.get(), 1);
  } else {
    eventfd_t count = 0;
    ::eventfd_read(event.get(), &count);
  }
}

timespec to_timespec(Picoseconds span_ps) {
  const Picoseconds ns = (span_ps + kNanosecond - 1) / kNanosecond;
  timespec time{};
  time.tv_sec = static_cast<time_t>(ns / 1'000'000'000);
  time.tv_nsec = static_cast<long>(ns % 1'000'000'000);
  return time;
}

}  // namespace

Result<void> Waiting::open() {
  inner_.reset(::epoll_create1(EPOLL_CLOEXEC));
  timer_.reset(::timerfd_create(CLOCK_MONOTONIC, TFD_NONBLOCK | TFD_CLOEXEC));
  wake_.reset(::eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC));
  if (!inner_ || !timer_ || !wake_) return os_error(errno, "cannot make a descriptor to wait on");
  if (!add(inner_.get(), timer_.get(), EPOLLIN) || !add(inner_.get(), wake_.get(), EPOLLIN))
    return os_error(errno, "cannot watch a descriptor");
  return {};
}

void Waiting::set_socket(int socket) {
  if (socket_ >= 0 && watched_events_ != 0) ::epoll_ctl(inner_.get(), EPOLL_CTL_DEL, socket_, nullptr);
  watched_events_ = 0;
  socket_ = socket;
  reading_ = true;
  update_socket();
}

void Waiting::set_reading(bool wanted) {
  reading_ = wanted;
  update_socket();
}

std::uint32_t Waiting::wanted_events() const {
  if (socket_ < 0) return 0;
  return (reading_ ? EPOLLIN : 0u) | (writers_ > 0 ? EPOLLOUT : 0u);
}

// With nothing wanted the socket is not watched at all: epoll would go on reporting that its other end is
// gone.
void Waiting::update_socket() {
  const std::uint32_t events = wanted_events();
  if (events == watched_events_) return;
  epoll_event event{};
  event.events = events;
  event.data.fd = socket_;
  const int operation = events == 0 ? EPOLL_CTL_DEL : watched_events_ == 0 ? EPOLL_CTL_ADD : EPOLL_CTL_MOD;
  if (::epoll_ctl(inner_.get(), operation, socket_, &event) == 0) watched_events_ = events;
}

void Waiting::set_timer(Picoseconds at_ps) {
  if (at_ps == timer_at_ps_) return;
  timer_at_ps_ = at_ps;
  itimerspec setting{};  // all zero: off
  if (at_ps != kNever)
    setting.it_value = to_timespec(std::max<Picoseconds>(at_ps - monotonic_now(), kNanosecond));
  ::timerfd_settime(timer_.get(), 0, &setting, nullptr);  // also makes it unreadable
}

void Waiting::wake_others() {
  if (sleeping_ && !woken_) {
    set_readable(wake_, true);
    woken_ = true;
  }
  if (followers_ > 0) followers_may_go_.notify_all();
}

void Waiting::sleep(std::unique_lock<std::mutex>& lock, Picoseconds until_ps) {
  if (sleeping_) {
    ++followers_;
    if (until_ps == kNever) {
      followers_may_go_.wait(lock);
    } else {
      const std::chrono::nanoseconds left(
          std::max<Picoseconds>((until_ps - monotonic_now()) / kNanosecond + 1, 0));
      followers_may_go_.wait_until(lock, std::chrono::steady_clock::now() + left);
    }
    --followers_;
    return;
  }
  // A socket that the kernel had no memory to watch is looked at by the clock.
  if (watched_events_ != wanted_events()) until_ps = std::min(until_ps, monotonic_now() + kMillisecond);
  sleeping_ = true;
  lock.unlock();
  sleep_in_kernel(until_ps);
  lock.lock();
  sleeping_ = false;
  if (woken_) {
    set_readable(wake_, false);
    woken_ = false;
  }
  // One of them sleeps in the kernel next, should this thread have what it wants.
  if (followers_ > 0) followers_may_go_.notify_all();
}

void Waiting::sleep_in_kernel(Picoseconds until_ps) const {
  epoll_event event{};
  if (until_ps == kNever) {
    ::epoll_wait(inner_.get(), &event, 1, -1);
    return;
  }
  const Picoseconds left_ps = std::max<Picoseconds>(until_ps - monotonic_now(), 0);
  const timespec left = to_timespec(left_ps);
  if (::epoll_pwait2(inner_.get(), &event, 1, &left, nullptr) >= 0 || errno != ENOSYS) return;
  const Picoseconds left_ms = (left_ps + kMillisecond - 1) / kMillisecond;
  ::epoll_wait(inner_.get(), &event, 1, static_cast<int>(std::min<Picoseconds>(left_ms, 60'000)));
}

Result<int> Waiting::pollable() {
  if (outer_) return outer_.get();
  UniqueFd outer(::epoll_create1(EPOLL_CLOEXEC));
  UniqueFd ready(::eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC));
  if (!outer || !ready) return os_error(errno, "cannot make a descriptor to poll");
  if (!add(outer.get(), inner_.get(), EPOLLIN) || !add(outer.get(), ready.get(), EPOLLIN))
    return os_error(errno, "cannot watch a descriptor");
  outer_ = std::move(outer);
  ready_ = std::move(ready);
  return outer_.get();
}

void Waiting::show_ready(bool ready) {
  if (!outer_ || ready == shown_ready_) return;
  set_readable(ready_, ready);
  shown_ready_ = ready;
}

}  // namespace cnuas::live::endpoint
