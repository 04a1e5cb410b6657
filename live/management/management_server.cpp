#include "live/management/management_server.h"

#include "live/posix/clock.h"
#include "live/posix/os_error.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <utility>
#include <vector>

#include <fcntl.h>
#include <poll.h>
#include <sys/epoll.h>
#include <sys/socket.h>

namespace cnuas::live {

namespace {

constexpr std::size_t kReadBytes = 16 * 1024;
constexpr int kAcceptsARound = 16;
constexpr Picoseconds kAcceptPause = 100 * kMillisecond;

UniqueFd spare_descriptor() {
  return UniqueFd(::open("/dev/null", O_RDONLY | O_CLOEXEC));
}

UniqueFd accept_from(const UniqueFd& listener) {
  return UniqueFd(::accept4(listener.get(), nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC));
}

// The buffer of a new connection is empty, so a line fits. The connection is closed on return.
void turn_away(UniqueFd fd, RefusalCode code, std::string message) {
  const std::string line = refusal_line({code, std::move(message), {}});
  [[maybe_unused]] const ssize_t sent =
      ::send(fd.get(), line.data(), line.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
}

bool would_block(int error) {
  return error == EAGAIN || error == EWOULDBLOCK || error == EINTR;
}

}  // namespace

ManagementServer::ManagementServer(EventLoop& loop, UniqueFd listener, ManagedSwitch& managed, Allow allow,
                                   ManagementLimits limits)
    : loop_(loop),
      listener_(std::move(listener)),
      reserve_(spare_descriptor()),
      api_(managed),
      allow_(std::move(allow)),
      limits_(limits) {}

Result<std::unique_ptr<ManagementServer>> ManagementServer::create(EventLoop& loop, UniqueFd listener,
                                                                   ManagedSwitch& managed, Allow allow,
                                                                   ManagementLimits limits) {
  std::unique_ptr<ManagementServer> server(
      new ManagementServer(loop, std::move(listener), managed, std::move(allow), limits));
  ManagementServer* self = server.get();
  Result<EventLoop::Watch> listening =
      loop.watch(self->listener_.get(), EPOLLIN, [self](std::uint32_t) { self->accept_clients(); });
  if (!listening) return tl::unexpected(std::move(listening.error()));
  self->listening_ = *listening;
  return server;
}

ManagementServer::~ManagementServer() {
  while (!clients_.empty())
    close(clients_.begin()->first);
  loop_.unwatch(listening_);
  loop_.cancel(resume_accepting_);
  loop_.cancel(turn_timer_);
}

// --- Connections -------------------------------------------------------------------------------------

void ManagementServer::accept_clients() {
  for (int i = 0; i < kAcceptsARound; ++i) {
    // Those who have gone are about to be closed. Nobody is turned away, or loses a place, on their account.
    if (full() && somebody_has_gone()) return;
    if (!accept_client()) return;
  }
}

bool ManagementServer::somebody_has_gone() const {
  std::vector<pollfd> fds;
  fds.reserve(clients_.size());
  for (const auto& [id, client] : clients_)
    fds.push_back({client.fd.get(), 0, 0});
  return ::poll(fds.data(), fds.size(), 0) > 0;  // no events asked for: only hang-ups and errors are reported
}

// False when there is nobody left to accept for now.
bool ManagementServer::accept_client() {
  UniqueFd fd = accept_from(listener_);
  if (fd) {
    ++counts_.connections;
    admit(std::move(fd));
    return true;
  }
  switch (errno) {
    case EINTR:
    case ECONNABORTED:  // it has gone already
      return true;
    case EAGAIN:
      return false;
    case EMFILE:
    case ENFILE:
      if (turn_away_without_descriptor()) return true;
      [[fallthrough]];
    default:
      pause_accepting();
      return false;
  }
}

void ManagementServer::admit(UniqueFd fd) {
  const Result<PeerCredentials> peer = peer_credentials(fd.get());
  if (!peer || !allow_(*peer)) {
    ++counts_.denied;
    turn_away(
        std::move(fd), RefusalCode::denied,
        peer ? "user " + std::to_string(peer->uid) + " may not manage this switch" : to_string(peer.error()));
    return;
  }
  if (full() && !make_room()) {
    ++counts_.busy;
    turn_away(std::move(fd), RefusalCode::busy,
              std::to_string(clients_.size()) + " clients are connected and none of them is idle; try again");
    return;
  }
  const ClientId id = next_id_++;
  Client& client = clients_[id];
  client.fd = std::move(fd);
  client.active_ps = monotonic_now();
  want(id, client, EPOLLIN);
}

// Closes the client that has been idle longest, if for long enough.
bool ManagementServer::make_room() {
  const Picoseconds latest = monotonic_now() - limits_.idle_ps;
  auto idlest = clients_.end();
  for (auto each = clients_.begin(); each != clients_.end(); ++each) {
    const Client& client = each->second;
    if (!client.answer.empty() || client.lines.ready() || client.active_ps > latest) continue;
    if (idlest == clients_.end() || client.active_ps < idlest->second.active_ps) idlest = each;
  }
  if (idlest == clients_.end()) return false;
  ++counts_.displaced;
  close(idlest->first);
  return true;
}

// Without this a level-triggered listener would be reported for ever. False when it did not help.
bool ManagementServer::turn_away_without_descriptor() {
  if (!reserve_) {
    reserve_ = spare_descriptor();
    if (!reserve_) return false;
  }
  reserve_.reset();
  UniqueFd fd = accept_from(listener_);
  const bool accepted = static_cast<bool>(fd);
  if (accepted) {
    ++counts_.connections;
    ++counts_.busy;
    turn_away(std::move(fd), RefusalCode::busy, "the switch has no descriptors left; try again");
  }
  reserve_ = spare_descriptor();
  return accepted;
}

void ManagementServer::pause_accepting() {
  loop_.change(listening_, 0);
  loop_.cancel(resume_accepting_);
  resume_accepting_ =
      loop_.call_at(monotonic_now() + kAcceptPause, [this] { loop_.change(listening_, EPOLLIN); });
}

// --- One client --------------------------------------------------------------------------------------

void ManagementServer::on_events(ClientId id, std::uint32_t events) {
  const auto found = clients_.find(id);
  if (found == clients_.end()) return;
  Client& client = found->second;
  if (!client.answer.empty()) {  // then it waits for EPOLLOUT, or the peer has gone and sending says so
    if (!send_answer(id, client)) return;
  } else if (client.lines.ready() || client.ended) {
    loop_.unwatch(client.watch);  // EPOLLHUP alone; want() watches it again if it comes to that
    return;
  } else if (events != 0 && !read(id, client)) {
    return;
  }
  settle(id, client);
}

bool ManagementServer::read(ClientId id, Client& client) {
  std::array<char, kReadBytes> bytes;
  const ssize_t got = ::recv(client.fd.get(), bytes.data(), bytes.size(), MSG_DONTWAIT);
  if (got < 0) {
    if (would_block(errno)) return true;
    close(id);
    return false;
  }
  if (got == 0) {
    client.ended = true;
    client.lines.end();
    return true;
  }
  client.active_ps = monotonic_now();
  client.lines.append({bytes.data(), static_cast<std::size_t>(got)});
  return true;
}

bool ManagementServer::send_answer(ClientId id, Client& client) {
  const ssize_t sent = ::send(client.fd.get(), client.answer.data() + client.sent,
                              client.answer.size() - client.sent, MSG_NOSIGNAL | MSG_DONTWAIT);
  if (sent < 0 && !would_block(errno)) {
    close(id);
    return false;
  }
  if (sent > 0) {
    client.sent += static_cast<std::size_t>(sent);
    client.active_ps = monotonic_now();
  }
  if (client.sent < client.answer.size()) {
    wait_for_reader(id, client, sent > 0);
    return true;
  }
  loop_.cancel(client.stuck);
  client.answer = std::string();  // its memory goes too
  client.sent = 0;
  return true;
}

void ManagementServer::wait_for_reader(ClientId id, Client& client, bool moved) {
  if (client.stuck && !moved) return;
  loop_.cancel(client.stuck);
  client.stuck = loop_.call_at(monotonic_now() + limits_.stuck_ps, [this, id] { close_if_stuck(id); });
}

// The kernel reports room only when most of the buffer is empty, so a slow reader is asked once more.
void ManagementServer::close_if_stuck(ClientId id) {
  const auto found = clients_.find(id);
  if (found == clients_.end()) return;
  Client& client = found->second;
  client.stuck = {};
  const std::size_t before = client.sent;
  if (!send_answer(id, client)) return;
  if (!client.answer.empty() && client.sent == before) {
    ++counts_.stuck;
    close(id);
    return;
  }
  settle(id, client);
}

// Goes on with whatever is next: the answer, a request, or reading.
void ManagementServer::settle(ClientId id, Client& client) {
  if (!client.answer.empty()) {
    want(id, client, EPOLLOUT);
  } else if (client.lines.ready()) {
    if (client.watch) want(id, client, 0);
    take_turn(id, client);
  } else if (client.ended) {
    close(id);
  } else {
    want(id, client, EPOLLIN);
  }
}

bool ManagementServer::want(ClientId id, Client& client, std::uint32_t events) {
  if (client.watch) {
    loop_.change(client.watch, events);
    return true;
  }
  const Result<EventLoop::Watch> watch =
      loop_.watch(client.fd.get(), events, [this, id](std::uint32_t reported) { on_events(id, reported); });
  if (!watch) {
    close(id);
    return false;
  }
  client.watch = *watch;
  return true;
}

void ManagementServer::close(ClientId id) {
  const auto found = clients_.find(id);
  if (found == clients_.end()) return;
  loop_.unwatch(found->second.watch);
  loop_.cancel(found->second.stuck);
  clients_.erase(found);
}

// --- Requests ----------------------------------------------------------------------------------------

void ManagementServer::take_turn(ClientId id, Client& client) {
  if (client.in_turn) return;
  client.in_turn = true;
  turns_.push_back(id);
  call_turns();
}

void ManagementServer::answer_in_turn() {
  const Picoseconds until = monotonic_now() + limits_.slice_ps;
  while (!turns_.empty()) {
    const ClientId id = turns_.front();
    turns_.pop_front();
    answer_one(id);
    if (monotonic_now() >= until) break;
  }
  turn_timer_ = {};
  if (!turns_.empty()) call_turns();  // in the next round of the loop: frames come first
}

void ManagementServer::call_turns() {
  if (!turn_timer_) turn_timer_ = loop_.call_at(monotonic_now(), [this] { answer_in_turn(); });
}

void ManagementServer::answer_one(ClientId id) {
  const auto found = clients_.find(id);
  if (found == clients_.end()) return;
  Client& client = found->second;
  client.in_turn = false;
  const std::optional<RequestLines::Line> line = client.lines.next();
  if (line) {
    ++counts_.requests;
    client.answer = line->too_long ? too_long_line() : api_.answer(line->text, monotonic_now());
    if (!client.answer.empty() && !send_answer(id, client)) return;
  }
  settle(id, client);
}

}  // namespace cnuas::live
