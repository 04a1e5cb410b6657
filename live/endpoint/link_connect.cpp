#include "live/endpoint/link.h"
#include "live/posix/all_signals_blocked.h"
#include "live/posix/os_error.h"

#include <algorithm>
#include <cerrno>

namespace cnuas::live::endpoint {

namespace {

constexpr Picoseconds kFirstLook = 50 * kMicrosecond;  // at whether the switch has read the announcement
constexpr Picoseconds kLongestLook = 2 * kMillisecond;
constexpr Picoseconds kBetweenAttempts = 5 * kMillisecond;
constexpr Picoseconds kFirstRedial = 10 * kMillisecond;
constexpr Picoseconds kLongestRedial = kSecond;

bool may_pass(cnuaslink_result result) {
  return result == CNUASLINK_NO_SWITCH || result == CNUASLINK_BUSY || result == CNUASLINK_NOT_CONNECTED;
}

}  // namespace

Failure Link::open(const LinkOptions& options, std::unique_ptr<Link>& out) {
  std::unique_ptr<Link> link(new Link(options));
  if (const Result<void> opened = link->waiting_.open(); !opened)
    return {CNUASLINK_SYSTEM, errno, to_string(opened.error())};
  if (!link->batch_.allocate()) return {CNUASLINK_NO_MEMORY, ENOMEM, ""};
  {
    Lock lock(link->mutex_);
    const Picoseconds until_ps = monotonic_now() + options.connect_timeout_ps;
    Failure failure = link->connect(lock, until_ps, options.connect_timeout_ps > 0, false);
    if (failure.result != CNUASLINK_OK) return failure;
    link->publish();
  }
  if (options.progress_thread) {
    const AllSignalsBlocked blocked;
    link->progress_thread_ = std::thread([&self = *link] { self.run_progress_thread(); });
  }
  out = std::move(link);
  return {};
}

cnuaslink_result Link::reconnect(std::int64_t timeout_ns) {
  Lock lock(mutex_);
  const Picoseconds until_ps = until(monotonic_now(), timeout_ns);
  if (connecting_) {  // another thread does it
    while (connecting_ && monotonic_now() < until_ps)
      waiting_.sleep(lock, until_ps);
    return state_ == CNUASLINK_UP ? CNUASLINK_OK : CNUASLINK_TIMEOUT;
  }
  connecting_ = true;
  const Failure failure = connect(lock, until_ps, timeout_ns != 0, true);
  connecting_ = false;
  changed_ = true;
  publish();
  return failure.result;
}

Failure Link::dial() {
  waiting_.set_socket(-1);
  state_ = CNUASLINK_DOWN;
  protocol_.link_down();
  give_up_operations();
  refusal_ = {};
  receive_stopped_ = false;
  Failure failure = connection_.dial(options_.socket_path, options_.send_buffer_bytes);
  if (failure.result != CNUASLINK_OK) return failure;
  ++counters_.connects;
  waiting_.set_socket(connection_.fd());
  state_ = CNUASLINK_CONNECTING;
  redial_at_ps_ = kNever;
  look_at_room();
  protocol_.link_up(monotonic_now());
  if (options_.silent) protocol_.next(monotonic_now());  // the announcement is not sent
  send_link_frames();
  return {};
}

Failure Link::connect(Lock& lock, Picoseconds until_ps, bool waits, bool persistent) {
  for (;;) {
    Failure failure = dial();
    if (failure.result == CNUASLINK_OK && !waits) return failure;
    if (failure.result == CNUASLINK_OK) failure = await_welcome(lock, until_ps);
    if (failure.result == CNUASLINK_OK) return failure;
    const bool again = failure.result == CNUASLINK_AGAIN || (persistent && may_pass(failure.result));
    const Picoseconds now = monotonic_now();
    if (!waits || !again || now >= until_ps) {
      if (waits && failure.result == CNUASLINK_AGAIN) failure.result = CNUASLINK_TIMEOUT;
      went_down(failure);
      return failure;
    }
    waiting_.sleep(lock, std::min(until_ps, now + kBetweenAttempts));
  }
}

// The switch says nothing to an endpoint that it takes in. That it reads is the sign.
Failure Link::await_welcome(Lock& lock, Picoseconds until_ps) {
  for (Picoseconds look = kFirstLook;; look = std::min(2 * look, kLongestLook)) {
    read();
    if (state_ == CNUASLINK_DOWN && !connection_.is_open()) return failure_;
    confirm();
    if (state_ == CNUASLINK_UP) return {};
    const Picoseconds now = monotonic_now();
    if (now >= until_ps)
      return {CNUASLINK_TIMEOUT, 0, options_.socket_path + ": the switch does not read what it is sent"};
    waiting_.sleep(lock, std::min(until_ps, now + look));
  }
}

void Link::confirm() {
  if (state_ != CNUASLINK_CONNECTING || !connection_.everything_was_read()) return;
  // A switch that has turned this endpoint away has thrown away what it was sent, too.
  if (!connection_.other_end_closed()) welcomed();
}

void Link::welcomed() {
  if (state_ != CNUASLINK_CONNECTING) return;
  state_ = CNUASLINK_UP;
  redial_wait_ps_ = 0;
  changed_ = true;
}

void Link::went_down(Failure failure) {
  waiting_.set_socket(-1);
  connection_.close();
  protocol_.link_down();
  state_ = CNUASLINK_DOWN;
  failure_ = std::move(failure);
  give_up_operations();
  if (!options_.auto_reconnect) return;
  redial_wait_ps_ = redial_wait_ps_ == 0 ? kFirstRedial : std::min(2 * redial_wait_ps_, kLongestRedial);
  redial_at_ps_ = monotonic_now() + redial_wait_ps_;
}

// The switch has gone, but what it sent before can still be read.
void Link::stop_sending(int error) {
  if (state_ == CNUASLINK_DOWN) return;
  state_ = CNUASLINK_DOWN;
  protocol_.link_down();
  failure_ = {CNUASLINK_NOT_CONNECTED, error, options_.socket_path + ": " + reason_of(error)};
  give_up_operations();
}

// Nobody answers any more, nor waits for answers.
void Link::give_up_operations() {
  operations_.fail_all(CNUASLINK_NOT_CONNECTED);
  drop_replies();
  changed_ = true;
}

void Link::redial_when_due(Picoseconds now) {
  if (now < redial_at_ps_ || connecting_) return;
  redial_at_ps_ = kNever;
  Failure failure = dial();
  if (failure.result != CNUASLINK_OK) went_down(std::move(failure));
  changed_ = true;
}

}  // namespace cnuas::live::endpoint
