// UNIX sockets by path: listening, connecting, and who is at the other end.
#pragma once

#include "core/engine/error.h"
#include "live/posix/unique_fd.h"

#include <cstddef>
#include <string>
#include <vector>

#include <sys/socket.h>
#include <sys/types.h>

namespace cnuas::live {

enum class SocketKind : int {
  seqpacket = SOCK_SEQPACKET,  // a message is a frame
  stream = SOCK_STREAM,
};

inline constexpr std::size_t kLongestSocketPath = 107;  // sun_path holds 108 with its end

// All descriptors are non-blocking and closed on exec. Errors name the path; a path that is empty or too long
// is invalid_argument, everything else io.

// What answers at `path`.
enum class PathState {
  free,      // nothing is there
  stale,     // a socket that nobody listens on
  live,      // somebody listens
  no_socket  // a file of another kind
};
Result<PathState> probe(const std::string& path, SocketKind kind);

// Binds and listens. A stale socket is replaced; over a live one, or a file of another kind, it fails. The
// socket has `mode` from the moment it exists.
Result<UniqueFd> listen_at(const std::string& path, SocketKind kind, mode_t mode, int backlog = 64);

// Never waits: a listener whose backlog is full is an error like any other (EAGAIN).
Result<UniqueFd> connect_to(const std::string& path, SocketKind kind);
// The same for callers that tell reasons apart: an errno, or 0 and the connection in `fd`. A path that is
// empty is ENOENT, one that is too long ENAMETOOLONG.
int connect_errno(const std::string& path, SocketKind kind, UniqueFd& fd);

struct PeerCredentials {
  pid_t pid = 0;
  uid_t uid = 0;
  gid_t gid = 0;
  std::vector<gid_t> groups;  // supplementary ones, as far as the kernel tells
};
// Of the process that connected (or listened), at that time.
Result<PeerCredentials> peer_credentials(int fd);

// Asks for a send buffer of `bytes`, above the system's limit where the process may. Returns what the kernel
// granted (its own, doubled figure). It bounds what a sender may have unread at its receiver.
int set_send_buffer(int fd, int bytes);

}  // namespace cnuas::live
