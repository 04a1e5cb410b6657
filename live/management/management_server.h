// The management socket: many clients, each of whom sends requests and reads answers at its own pace.
#pragma once

#include "core/engine/error.h"
#include "core/engine/time.h"
#include "live/management/management_api.h"
#include "live/management/request_lines.h"
#include "live/posix/event_loop.h"
#include "live/posix/unique_fd.h"
#include "live/posix/unix_socket.h"

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <string>

namespace cnuas::live {

struct ManagementLimits {
  std::size_t clients = 64;
  Picoseconds idle_ps = kSecond;        // idle for so long, a client may lose its place to a new one
  Picoseconds stuck_ps = 10 * kSecond;  // an answer of which nothing is taken for so long closes the client
  Picoseconds slice_ps = kMillisecond / 10;  // begin no request after so long in one round of the loop
};

// Answers at least one request a round of the loop and then as many as `slice_ps` allows, one of each client
// in turn. Keeps of each client at most one request, what one read brought with it, and one answer. Does not
// block and raises no signal. One thread: that of the loop, which must live longer.
class ManagementServer {
 public:
  // Whether a process may use the socket.
  using Allow = std::function<bool(const PeerCredentials&)>;

  // `listener`: a stream socket that listens and does not block. Errors: io.
  static Result<std::unique_ptr<ManagementServer>> create(EventLoop& loop, UniqueFd listener,
                                                          ManagedSwitch& managed, Allow allow,
                                                          ManagementLimits limits = {});
  ~ManagementServer();
  ManagementServer(const ManagementServer&) = delete;
  ManagementServer& operator=(const ManagementServer&) = delete;

  std::size_t clients() const { return clients_.size(); }

  struct Counts {
    std::uint64_t connections = 0;  // those below included
    std::uint64_t denied = 0;
    std::uint64_t busy = 0;
    std::uint64_t displaced = 0;  // idle ones, by new ones
    std::uint64_t stuck = 0;      // closed because they did not take an answer
    std::uint64_t requests = 0;
  };
  const Counts& counts() const { return counts_; }

 private:
  using ClientId = std::uint64_t;
  struct Client {
    UniqueFd fd;
    EventLoop::Watch watch;
    RequestLines lines{kLongestRequest};
    std::string answer;  // what the kernel has not taken yet, from `sent` on
    std::size_t sent = 0;
    EventLoop::Timer stuck;
    Picoseconds active_ps = 0;  // when bytes last went either way
    bool ended = false;         // it sends no more
    bool in_turn = false;       // stands in turns_
  };

  ManagementServer(EventLoop& loop, UniqueFd listener, ManagedSwitch& managed, Allow allow,
                   ManagementLimits limits);

  // Connections.
  void accept_clients();
  bool accept_client();
  void admit(UniqueFd fd);
  bool full() const { return clients_.size() >= limits_.clients; }
  bool somebody_has_gone() const;
  bool make_room();
  bool turn_away_without_descriptor();
  void pause_accepting();

  // One client. Those that return bool say whether it is still there.
  void on_events(ClientId id, std::uint32_t events);
  bool read(ClientId id, Client& client);
  bool send_answer(ClientId id, Client& client);
  void wait_for_reader(ClientId id, Client& client, bool moved);
  void close_if_stuck(ClientId id);
  void settle(ClientId id, Client& client);
  bool want(ClientId id, Client& client, std::uint32_t events);
  void close(ClientId id);

  // Requests.
  void take_turn(ClientId id, Client& client);
  void call_turns();
  void answer_in_turn();
  void answer_one(ClientId id);

  EventLoop& loop_;
  UniqueFd listener_;
  UniqueFd reserve_;  // given up to accept, and turn away, a client when there are no descriptors left
  ManagementApi api_;
  Allow allow_;
  ManagementLimits limits_;
  Counts counts_;

  EventLoop::Watch listening_;
  EventLoop::Timer resume_accepting_;
  EventLoop::Timer turn_timer_;
  ClientId next_id_ = 1;
  std::map<ClientId, Client> clients_;
  std::deque<ClientId> turns_;  // with a request to answer; those that have gone are passed over
};

}  // namespace cnuas::live
