// How the threads of one link wait for its socket: one sleeps in the kernel, the others on it.
#pragma once

#include "core/engine/error.h"
#include "core/engine/time.h"
#include "live/posix/unique_fd.h"

#include <condition_variable>
#include <cstdint>
#include <mutex>

namespace cnuas::live::endpoint {

// Every function is called with the link's lock held.
class Waiting {
 public:
  // Errors: io.
  Result<void> open();

  // --- What ends a sleep ---
  // The socket: readable while reading() is wanted, writable while somebody wants it. -1: none.
  void set_socket(int socket);
  void set_reading(bool wanted);
  void want_writable() { ++writers_, update_socket(); }
  void unwant_writable() { --writers_, update_socket(); }
  // A time of monotonic_now(); kNever: none.
  void set_timer(Picoseconds at_ps);
  // Something has changed that other threads may wait for.
  void wake_others();

  // Waits, without the lock, until one of these or `until_ps`; may return early.
  void sleep(std::unique_lock<std::mutex>& lock, Picoseconds until_ps);

  // --- For event loops ---
  // Readable when a sleep would end, or while ready is shown. Errors: io.
  Result<int> pollable();
  bool is_polled() const { return static_cast<bool>(outer_); }
  void show_ready(bool ready);

 private:
  std::uint32_t wanted_events() const;
  void update_socket();
  void sleep_in_kernel(Picoseconds until_ps) const;

  UniqueFd inner_;  // epoll: the socket, the timer, `wake_`
  UniqueFd timer_;  // timerfd
  UniqueFd wake_;   // eventfd
  UniqueFd outer_;  // epoll: `inner_` and `ready_`
  UniqueFd ready_;  // eventfd

  int socket_ = -1;
  bool reading_ = true;
  unsigned writers_ = 0;
  std::uint32_t watched_events_ = 0;  // of the socket
  Picoseconds timer_at_ps_ = kNever;
  bool shown_ready_ = false;

  bool sleeping_ = false;  // a thread is in the kernel
  bool woken_ = false;     // ... and `wake_` is readable
  unsigned followers_ = 0;
  std::condition_variable followers_may_go_;
};

}  // namespace cnuas::live::endpoint
