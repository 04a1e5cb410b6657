// The socket to a switch port.
#pragma once

#include "live/endpoint/failure.h"
#include "live/posix/unique_fd.h"

#include <cstddef>
#include <string>

#include <sys/socket.h>
#include <sys/uio.h>

namespace cnuas::live::endpoint {

// Nothing here waits. One thread at a time.
class Connection {
 public:
  Connection() = default;

  // Replaces what was open. AGAIN: the switch has too many to accept just now.
  Failure dial(const std::string& path, int send_buffer_bytes);
  void close() { fd_.reset(); }

  bool is_open() const { return static_cast<bool>(fd_); }
  int fd() const { return fd_.get(); }
  int send_buffer_bytes() const { return send_buffer_bytes_; }  // as granted, the kernel's doubled figure

  // One packet, whole or not at all: 0, or an errno (EAGAIN: not now).
  int send(const iovec* pieces, std::size_t count);
  // Packets in order: how many were sent, and why not more: 0, or an errno.
  std::size_t send_many(mmsghdr* packets, std::size_t count, int& error);

  // Everything sent so far has been read at the other end.
  bool everything_was_read() const;
  // The other end is closed: what is there can be read, and nothing will follow.
  bool other_end_closed() const;

 private:
  UniqueFd fd_;
  int send_buffer_bytes_ = 0;
};

}  // namespace cnuas::live::endpoint
