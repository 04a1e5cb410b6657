// Who may connect.
#pragma once

#include "live/posix/unix_socket.h"

#include <string>
#include <vector>

#include <sys/types.h>

namespace cnuas::live {

// The daemon's own user and root always may; so may members of the sockets' group and who is listed.
struct AccessList {
  std::vector<uid_t> users;
  std::vector<gid_t> groups;

  // As the kernel tells: the identity at the time of connecting.
  bool admits(const PeerCredentials& peer) const;
};

// "uid 1000, gid 1000, pid 4711"
std::string to_string(const PeerCredentials& peer);

}  // namespace cnuas::live
