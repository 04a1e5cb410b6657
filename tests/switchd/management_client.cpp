#include "tests/switchd/management_client.h"

#include "live/posix/os_error.h"
#include "live/posix/unix_socket.h"
#include "tests/switchd/child_process.h"

#include <array>
#include <cerrno>

#include <poll.h>
#include <sys/socket.h>

namespace cnuas::test {

namespace {

bool wait_for(int fd, short events) {
  pollfd entry{fd, events, 0};
  const int guard_ms = static_cast<int>(std::chrono::milliseconds(kGuard).count());
  return ::poll(&entry, 1, guard_ms) == 1;
}

}  // namespace

Result<ManagementClient> ManagementClient::connect(const std::string& path) {
  Result<live::UniqueFd> socket = live::connect_to(path, live::SocketKind::stream);
  if (!socket) return tl::unexpected(socket.error());
  return ManagementClient(std::move(*socket));
}

bool ManagementClient::write(std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t sent = ::send(fd(), bytes.data(), bytes.size(), MSG_NOSIGNAL);
    if (sent >= 0) {
      bytes.remove_prefix(static_cast<std::size_t>(sent));
    } else if (errno != EAGAIN || !wait_for(fd(), POLLOUT)) {
      return false;
    }
  }
  return true;
}

std::optional<std::string> ManagementClient::read_line() {
  std::array<char, 64 * 1024> chunk;
  std::size_t end = received_.find('\n');
  while (end == std::string::npos) {
    const ssize_t got = ::recv(fd(), chunk.data(), chunk.size(), 0);
    if (got > 0) {
      const std::size_t from = received_.size();
      received_.append(chunk.data(), static_cast<std::size_t>(got));
      end = received_.find('\n', from);
    } else if (got == 0 || errno != EAGAIN || !wait_for(fd(), POLLIN)) {
      return std::nullopt;
    }
  }
  std::string line = received_.substr(0, end);
  received_.erase(0, end + 1);
  return line;
}

Result<nlohmann::json> ManagementClient::request(const nlohmann::json& request) {
  const std::string text = request.dump();
  const bool sent = write(text + "\n");
  // A daemon that turns somebody away says why and closes, without waiting for what he wants.
  const std::optional<std::string> line = read_line();
  if (!line) return fail(ErrorCode::io, sent ? "the daemon has not answered" : "the daemon has closed", text);
  const nlohmann::json answer = nlohmann::json::parse(*line, nullptr, false);
  if (!answer.is_object() || !answer.contains("ok")) return fail(ErrorCode::io, "no answer: " + *line, text);
  if (answer["ok"] != true)
    return fail(ErrorCode::mismatch, answer.value("error", nlohmann::json()).dump(), text);
  return answer.value("result", nlohmann::json());
}

}  // namespace cnuas::test
