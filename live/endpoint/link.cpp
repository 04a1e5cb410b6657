#include "live/endpoint/link.h"

#include "live/abi/growing_struct.h"

#include <algorithm>
#include <cstring>

#include <sys/random.h>

namespace cnuas::live::endpoint {

namespace {

std::uint32_t drawn_by_chance() {
  std::uint32_t value = 0;
  // Without chance the clock has to do: it only has to differ from what an earlier process drew.
  if (::getrandom(&value, sizeof(value), GRND_NONBLOCK) != sizeof(value))
    value = static_cast<std::uint32_t>(monotonic_now() / kNanosecond);
  return value;
}

}  // namespace

Link::Link(const LinkOptions& options)
    : options_(options),
      protocol_({options.id, options.frame_bytes, options.keepalive_ps}),
      inbox_(options.inbox, frames_),
      combiner_(max_message() - wire::kWindowHeadBytes, frames_),
      operations_(drawn_by_chance()),
      next_epoch_(drawn_by_chance()) {
  wire::encode(wire::WrappedMessage{}, wrapped_head_);
}

Link::~Link() {
  stop_progress_thread();
  waiting_.set_socket(-1);
}

void Link::make_progress() {
  read();
  if (!replies_.empty() || replies_wait_) answer();
  if (state_ == CNUASLINK_CONNECTING) confirm();
  if (timer_at_ps_ == kNever) return;
  const Picoseconds now = monotonic_now();
  if (now < timer_at_ps_) return;
  timer_at_ps_ = kNever;
  on_time(now);
  waiting_.set_timer(kNever);
}

void Link::on_time(Picoseconds now) {
  protocol_.on_deadline(now);
  send_link_frames();
  redial_when_due(now);
}

// Only ever forwards: a keepalive's time moves with every frame, and a timer that comes too early does no
// harm.
void Link::set_timer() {
  const Picoseconds next = std::min(protocol_.next_deadline(), redial_at_ps_);
  if (next >= timer_at_ps_) return;
  timer_at_ps_ = next;
  waiting_.set_timer(next);
}

void Link::publish() {
  set_timer();
  if (changed_) waiting_.wake_others();
  changed_ = false;
  if (waiting_.is_polled()) waiting_.show_ready(inbox_.messages() + inbox_.doorbells() > 0);
}

cnuaslink_result Link::progress() {
  const Lock lock(mutex_);
  make_progress();
  publish();
  return connection_.is_open() ? CNUASLINK_OK : CNUASLINK_NOT_CONNECTED;
}

int Link::pollable() {
  const Lock lock(mutex_);
  const Result<int> fd = waiting_.pollable();
  publish();
  return fd ? *fd : -1;
}

void Link::status(cnuaslink_state& out) {
  const Lock lock(mutex_);
  cnuaslink_state state{};
  state.link = state_;
  state.receive_stopped = receive_stopped_ ? 1 : 0;
  state.held_messages = inbox_.messages();
  state.held_bytes = inbox_.bytes();
  state.held_doorbells = inbox_.doorbells();
  state.send_buffer_bytes = connection_.send_buffer_bytes();
  state.receive_policy = options_.inbox.drops ? CNUASLINK_RECEIVE_DROPS : CNUASLINK_RECEIVE_STOPS;
  state.receive_bytes = options_.inbox.bytes;
  state.receive_bytes_per_source = options_.inbox.bytes_per_source;
  write(failure_, state.error);
  state.counters = counters_;
  growing::fill_in(state, out);
}

cnuaslink_result Link::later() const {
  return connection_.is_open() || connecting_ || options_.auto_reconnect ? CNUASLINK_AGAIN
                                                                         : CNUASLINK_NOT_CONNECTED;
}

// --- The thread that makes progress ----------------------------------------------------------------------

void Link::run_progress_thread() {
  Lock lock(mutex_);
  while (!closing_) {
    make_progress();
    publish();
    waiting_.sleep(lock, kNever);
  }
}

void Link::stop_progress_thread() {
  if (!progress_thread_.joinable()) return;
  {
    const Lock lock(mutex_);
    closing_ = true;
    waiting_.wake_others();
  }
  progress_thread_.join();
}

}  // namespace cnuas::live::endpoint
