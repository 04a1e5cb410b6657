#include "live/posix/unix_socket.h"

#include "live/posix/os_error.h"

#include <cerrno>
#include <cstring>
#include <optional>

#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>

namespace cnuas::live {

namespace {

Result<sockaddr_un> address_of(const std::string& path) {
  if (path.empty()) return fail(ErrorCode::invalid_argument, "the path of a socket is empty");
  if (path.size() > kLongestSocketPath) {
    return fail(ErrorCode::invalid_argument,
                "the path of a socket has " + std::to_string(path.size()) + " bytes, at most " +
                    std::to_string(kLongestSocketPath) + " are possible: use a shorter directory",
                path);
  }
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  std::memcpy(address.sun_path, path.data(), path.size());
  return address;
}

const sockaddr* generic(const sockaddr_un& address) {
  return reinterpret_cast<const sockaddr*>(&address);
}

Result<UniqueFd> make_socket(SocketKind kind, const std::string& path) {
  UniqueFd fd(::socket(AF_UNIX, static_cast<int>(kind) | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
  if (!fd) return os_error(errno, "cannot make a socket", path);
  return fd;
}

// The file gets the mode that the socket has, less the umask, so nobody can connect who may not; then what
// the umask has taken is added. The umask is the whole process's and stays as it is.
int bind_with_mode(int fd, const sockaddr_un& address, mode_t mode) {
  if (::fchmod(fd, mode) != 0 || ::bind(fd, generic(address), sizeof(address)) != 0) return -1;
  return ::chmod(address.sun_path, mode);
}

}  // namespace

Result<PathState> probe(const std::string& path, SocketKind kind) {
  const Result<sockaddr_un> address = address_of(path);
  if (!address) return tl::unexpected(address.error());
  struct stat status {};
  if (::lstat(path.c_str(), &status) != 0) {
    if (errno == ENOENT) return PathState::free;
    return os_error(errno, "cannot look at the socket", path);
  }
  if (!S_ISSOCK(status.st_mode)) return PathState::no_socket;
  const Result<UniqueFd> fd = make_socket(kind, path);
  if (!fd) return tl::unexpected(fd.error());
  if (::connect(fd->get(), generic(*address), sizeof(*address)) == 0) return PathState::live;
  switch (errno) {
    case ECONNREFUSED:
      return PathState::stale;
    case ENOENT:
      return PathState::free;
    case EAGAIN:      // its backlog is full
    case EPROTOTYPE:  // a socket of the other kind, but somebody has it
      return PathState::live;
    default:
      return os_error(errno, "cannot tell whether anybody listens", path);
  }
}

Result<UniqueFd> listen_at(const std::string& path, SocketKind kind, mode_t mode, int backlog) {
  const Result<sockaddr_un> address = address_of(path);
  if (!address) return tl::unexpected(address.error());
  const Result<PathState> state = probe(path, kind);
  if (!state) return tl::unexpected(state.error());
  if (*state == PathState::live) return fail(ErrorCode::io, "another process listens here already", path);
  if (*state == PathState::no_socket)
    return fail(ErrorCode::io, "a file that is no socket stands here; move it away", path);
  if (*state == PathState::stale && ::unlink(path.c_str()) != 0 && errno != ENOENT)
    return os_error(errno, "cannot remove the stale socket", path);
  Result<UniqueFd> fd = make_socket(kind, path);
  if (!fd) return fd;
  if (bind_with_mode(fd->get(), *address, mode) != 0) return os_error(errno, "cannot bind the socket", path);
  if (::listen(fd->get(), backlog) != 0) return os_error(errno, "cannot listen", path);
  return fd;
}

int connect_errno(const std::string& path, SocketKind kind, UniqueFd& fd) {
  const Result<sockaddr_un> address = address_of(path);
  if (!address) return path.empty() ? ENOENT : ENAMETOOLONG;
  UniqueFd made(::socket(AF_UNIX, static_cast<int>(kind) | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
  if (!made || ::connect(made.get(), generic(*address), sizeof(*address)) != 0) return errno;
  fd = std::move(made);
  return 0;
}

Result<UniqueFd> connect_to(const std::string& path, SocketKind kind) {
  const Result<sockaddr_un> address = address_of(path);
  if (!address) return tl::unexpected(address.error());
  UniqueFd fd;
  if (const int error = connect_errno(path, kind, fd)) return os_error(error, "cannot connect", path);
  return fd;
}

Result<PeerCredentials> peer_credentials(int fd) {
  ucred credentials{};
  socklen_t length = sizeof(credentials);
  if (::getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &credentials, &length) != 0)
    return os_error(errno, "the kernel does not say who the peer is");
  PeerCredentials peer{credentials.pid, credentials.uid, credentials.gid, {}};
  length = 0;
  ::getsockopt(fd, SOL_SOCKET, SO_PEERGROUPS, nullptr, &length);  // says ERANGE and how long
  peer.groups.resize(length / sizeof(gid_t));
  if (length > 0 && ::getsockopt(fd, SOL_SOCKET, SO_PEERGROUPS, peer.groups.data(), &length) != 0)
    peer.groups.clear();
  return peer;
}

int set_send_buffer(int fd, int bytes) {
  if (::setsockopt(fd, SOL_SOCKET, SO_SNDBUFFORCE, &bytes, sizeof(bytes)) != 0)
    ::setsockopt(fd, SOL_SOCKET, SO_SNDBUF, &bytes, sizeof(bytes));
  int granted = 0;
  socklen_t length = sizeof(granted);
  ::getsockopt(fd, SOL_SOCKET, SO_SNDBUF, &granted, &length);
  return granted;
}

}  // namespace cnuas::live
