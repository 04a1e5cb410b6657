#include "live/switchd/data_path.h"

#include "live/posix/clock.h"
#include "live/posix/os_error.h"
#include "live/posix/unix_socket.h"

#include <cerrno>
#include <utility>

#include <linux/sockios.h>
#include <poll.h>
#include <sys/epoll.h>
#include <sys/ioctl.h>

namespace cnuas::live {

namespace {

// A port that has much to say lets the others have their turn after so many calls.
constexpr int kCallsARound = 2;
// More than a peer's send buffer can hold.
constexpr int kMostRoundsToTheEnd = 4096;
// How often a stalled port's peer is looked at: it may have read something, which no event tells.
constexpr Picoseconds kStallPoll = 5 * kMillisecond;

// Bytes that the peer has not read, the kernel's overhead included.
int unread_by_peer(int fd) {
  int bytes = 0;
  return ::ioctl(fd, SIOCOUTQ, &bytes) == 0 ? bytes : 0;
}

bool hung_up(int fd) {
  pollfd state{fd, 0, 0};
  return ::poll(&state, 1, 0) == 1 && (state.revents & (POLLHUP | POLLERR)) != 0;
}

}  // namespace

DataPath::DataPath(EventLoop& loop, fabric_switch::Switch fabric, int send_buffer, OnGone gone)
    : loop_(loop),
      fabric_(std::move(fabric)),
      send_buffer_(send_buffer),
      gone_(std::move(gone)),
      receive_batch_(pool_),
      send_batch_(pool_),
      ports_(fabric_.ports()) {}

DataPath::~DataPath() {
  for (Port& port : ports_)
    loop_.unwatch(port.watch);
  loop_.cancel(stall_timer_);
}

// --- Links ------------------------------------------------------------------------------------------------

Result<void> DataPath::attach(PortIndex index, UniqueFd connection) {
  Port& port = ports_[index];
  set_send_buffer(connection.get(), send_buffer_);
  port = Port{};
  port.connection = std::move(connection);
  port.receiving = true;
  if (Result<void> watched = watch(index); !watched) {
    port = Port{};
    return watched;
  }
  fabric_.link_up(index, monotonic_now(), actions_);
  settle();
  return {};
}

void DataPath::detach(PortIndex index, const std::string& why) {
  Port& port = ports_[index];
  loop_.unwatch(port.watch);
  port = Port{};
  fabric_.link_down(index, monotonic_now(), actions_);
  settle();
  gone_(index, why);
}

bool DataPath::still_attached(PortIndex index) {
  Port& port = ports_[index];
  if (!port.connection || !hung_up(port.connection.get())) return attached(index);
  for (int round = 0; round < kMostRoundsToTheEnd && port.connection && port.receiving && !port.paused;
       ++round)
    receive_from(index);
  if (port.connection && !port.receiving) detach(index, "the peer has closed");
  return attached(index);
}

void DataPath::set_admin_state(PortIndex index, bool up) {
  ports_[index].unread_at_stall.reset();  // a port that is taken down is not stalled any more
  fabric_.set_admin_state(index, up, monotonic_now(), actions_);
  settle();
}

Result<void> DataPath::reconfigure(fabric_switch::SwitchConfig config) {
  Result<void> done = fabric_.reconfigure(std::move(config), monotonic_now(), actions_);
  settle();
  return done;
}

// --- Receiving --------------------------------------------------------------------------------------------

void DataPath::on_events(PortIndex index, std::uint32_t events) {
  Port& port = ports_[index];
  const bool readable = port.receiving && !port.paused;
  if ((events & EPOLLOUT) != 0) {
    unstall(index);
    to_send_.push_back(index);
    settle();
  }
  if (!port.connection) return;
  if (readable && (events & (EPOLLIN | EPOLLRDHUP | EPOLLHUP | EPOLLERR)) != 0) return receive_from(index);
  if ((events & (EPOLLHUP | EPOLLERR)) == 0) return;
  if (!port.receiving) return detach(index, "the peer has closed");
  // It has gone, and what it sent has to wait until the port may be read again. Hanging up is reported for as
  // long as it is watched.
  loop_.unwatch(port.watch);
}

void DataPath::receive_from(PortIndex index) {
  Port& port = ports_[index];
  for (int call = 0; call < kCallsARound && port.receiving && !port.paused; ++call) {
    const ReceiveBatch::Received received = receive_batch_.receive(port.connection.get());
    const Picoseconds now = monotonic_now();
    for (const ReceiveBatch::Message& message : received.messages) {
      if (message.bytes > FramePool::kBlockBytes) {
        fabric_.refuse(index, wire::FrameError::oversize, message.bytes, message.buffer, actions_);
      } else {
        const std::span<const std::byte> bytes(pool_.data(message.buffer),
                                               static_cast<std::size_t>(message.bytes));
        fabric_.receive(index, bytes, message.buffer, now, actions_);
      }
    }
    settle();
    keep(received.messages);
    if (received.end == ReceiveBatch::End::closed) return end_of_stream(index);
    if (received.end == ReceiveBatch::End::drained) return;
  }
}

// Frames that have to wait give back what they do not need.
void DataPath::keep(std::span<const ReceiveBatch::Message> messages) {
  for (const ReceiveBatch::Message& message : messages) {
    if (pool_.in_use(message.buffer)) pool_.shrink(message.buffer, static_cast<std::size_t>(message.bytes));
  }
}

void DataPath::end_of_stream(PortIndex index) {
  Port& port = ports_[index];
  port.receiving = false;
  if (hung_up(port.connection.get())) return detach(index, "the peer has closed");
  set_events(index);
}

// --- Sending ----------------------------------------------------------------------------------------------

void DataPath::send_to(PortIndex index) {
  Port& port = ports_[index];
  while (port.connection && !port.blocked && !port.deaf && fabric_.queued(index) > 0) {
    const SendBatch::Sent sent = send_batch_.send(port.connection.get(), fabric_, index);
    const Picoseconds now = monotonic_now();
    for (std::size_t i = 0; i < sent.frames; ++i)
      fabric_.pop(index, now, actions_);
    if (sent.end == SendBatch::End::sent) continue;
    // Whether a deaf peer has gone is for its stream to say, which is read to the end first. What waits for
    // it until then is the watchdog's.
    if (sent.end == SendBatch::End::closed) port.deaf = true;
    if (sent.end == SendBatch::End::blocked) port.blocked = true;
    set_events(index);
  }
}

// Does what the switch has asked for, and what it asks for then.
void DataPath::settle() {
  for (;;) {
    for (const fabric_switch::BufferId buffer : actions_.released)
      pool_.give_back(buffer);
    for (const PortIndex index : actions_.paused)
      ports_[index].paused = true;
    for (const PortIndex index : actions_.paused)
      set_events(index);
    for (const PortIndex index : actions_.resumed)
      ports_[index].paused = false;
    for (const PortIndex index : actions_.resumed)
      set_events(index);
    to_send_.insert(to_send_.end(), actions_.ready.begin(), actions_.ready.end());
    actions_.clear();
    if (to_send_.empty()) return;
    const PortIndex index = to_send_.back();
    to_send_.pop_back();
    send_to(index);
  }
}

std::uint32_t DataPath::events_of(const Port& port) {
  std::uint32_t events = 0;
  if (port.receiving && !port.paused) events |= EPOLLIN | EPOLLRDHUP;
  if (port.blocked) events |= EPOLLOUT;
  return events;
}

void DataPath::set_events(PortIndex index) {
  const Port& port = ports_[index];
  if (!port.connection) return;
  if (port.watch) return loop_.change(port.watch, events_of(port));
  // It had hung up while it was paused.
  if (!port.paused) watch(index);
}

Result<void> DataPath::watch(PortIndex index) {
  Port& port = ports_[index];
  Result<EventLoop::Watch> watched =
      loop_.watch(port.connection.get(), events_of(port),
                  [this, index](std::uint32_t events) { on_events(index, events); });
  if (!watched) return tl::unexpected(watched.error());
  port.watch = *watched;
  return {};
}

// --- Time -------------------------------------------------------------------------------------------------

void DataPath::on_time() {
  if (monotonic_now() < fabric_.next_deadline()) return;
  retry_blocked();
  fabric_.on_deadline(monotonic_now(), actions_);
  settle();
  watch_stalled();
}

// EPOLLOUT comes when most of the peer's queue has been read; a slow reader may have made room for a frame
// long before, and must not be taken for one that stands still.
void DataPath::retry_blocked() {
  for (std::size_t i = 0; i < ports_.size(); ++i) {
    const auto index = static_cast<PortIndex>(i);
    if (!ports_[i].blocked || fabric_.queued(index) == 0) continue;
    ports_[i].blocked = false;
    to_send_.push_back(index);
  }
  settle();
}

// The peer reads again.
void DataPath::unstall(PortIndex index) {
  Port& port = ports_[index];
  port.blocked = false;
  port.unread_at_stall.reset();
  set_events(index);
  fabric_.unstall(index, monotonic_now(), actions_);
}

// Each port is measured against what was unread when it stalled itself.
void DataPath::watch_stalled() {
  bool any = false;
  for (std::size_t i = 0; i < ports_.size(); ++i) {
    Port& port = ports_[i];
    if (!port.connection || port.deaf || !fabric_.status(static_cast<PortIndex>(i)).stalled) {
      port.unread_at_stall.reset();
      continue;
    }
    if (!port.unread_at_stall) port.unread_at_stall = unread_by_peer(port.connection.get());
    any = true;
  }
  if (!any || stall_timer_) return;
  stall_timer_ = loop_.call_at(monotonic_now() + kStallPoll, [this] {
    stall_timer_ = EventLoop::Timer{};
    poll_stalled();
  });
}

void DataPath::poll_stalled() {
  for (std::size_t i = 0; i < ports_.size(); ++i) {
    Port& port = ports_[i];
    if (!port.connection || !port.unread_at_stall) continue;
    if (unread_by_peer(port.connection.get()) < *port.unread_at_stall) unstall(static_cast<PortIndex>(i));
  }
  settle();
  watch_stalled();
}

// --- The end ----------------------------------------------------------------------------------------------

void DataPath::begin_drain() {
  for (Port& port : ports_) {
    if (port.connection) ::shutdown(port.connection.get(), SHUT_RD);
  }
}

bool DataPath::drained() const {
  for (std::size_t i = 0; i < ports_.size(); ++i) {
    if (ports_[i].receiving || fabric_.queued(static_cast<PortIndex>(i)) > 0) return false;
  }
  return true;
}

}  // namespace cnuas::live
