#include "live/endpoint/connection.h"

#include "live/posix/os_error.h"
#include "live/posix/unix_socket.h"

#include <cerrno>

#include <linux/sockios.h>
#include <poll.h>
#include <sys/ioctl.h>

namespace cnuas::live::endpoint {

Failure Connection::dial(const std::string& path, int send_buffer_bytes) {
  fd_.reset();
  if (const int error = connect_errno(path, SocketKind::seqpacket, fd_)) {
    std::string text = path + ": cannot connect: " + reason_of(error);
    if (error == ENAMETOOLONG) {
      text = "the path of the socket has " + std::to_string(path.size()) + " bytes, at most " +
             std::to_string(kLongestSocketPath) + " are possible: " + path;
    }
    return {result_of_errno(error), error, text};
  }
  send_buffer_bytes_ = set_send_buffer(fd_.get(), send_buffer_bytes);
  return {};
}

int Connection::send(const iovec* pieces, std::size_t count) {
  msghdr message{};
  message.msg_iov = const_cast<iovec*>(pieces);
  message.msg_iovlen = count;
  while (::sendmsg(fd_.get(), &message, MSG_DONTWAIT | MSG_NOSIGNAL) < 0) {
    if (errno != EINTR) return errno;
  }
  return 0;
}

std::size_t Connection::send_many(mmsghdr* packets, std::size_t count, int& error) {
  std::size_t done = 0;
  error = 0;
  while (done < count) {
    const int sent = ::sendmmsg(fd_.get(), packets + done, static_cast<unsigned>(count - done),
                                MSG_DONTWAIT | MSG_NOSIGNAL);
    if (sent > 0) {
      done += static_cast<std::size_t>(sent);
    } else if (errno != EINTR) {
      error = errno;
      break;
    }
  }
  return done;
}

bool Connection::everything_was_read() const {
  int unread = 0;  // of a UNIX socket: bytes that are still in the receiver's queue
  return ::ioctl(fd_.get(), SIOCOUTQ, &unread) == 0 && unread == 0;
}

bool Connection::other_end_closed() const {
  pollfd query{fd_.get(), POLLRDHUP, 0};
  return ::poll(&query, 1, 0) > 0 && (query.revents & (POLLRDHUP | POLLHUP | POLLERR)) != 0;
}

}  // namespace cnuas::live::endpoint
