#include "tests/equivalence/daemon_client.h"

#include "core/wire/frame.h"
#include "live/posix/os_error.h"
#include "live/posix/unix_socket.h"

#include <array>
#include <cerrno>
#include <utility>

#include <poll.h>
#include <sys/socket.h>

namespace cnuas::equivalence {

namespace {

constexpr int kSendBuffer = 1 << 20;
constexpr int kAnswerTimeout_ms = 60'000;
constexpr std::size_t kLongestAnswer = 2 << 20;

}  // namespace

Result<EndpointClient> EndpointClient::connect(const std::string& path) {
  Result<live::UniqueFd> fd = live::connect_to(path, live::SocketKind::seqpacket);
  if (!fd) return tl::unexpected<Error>(fd.error());
  live::set_send_buffer(fd->get(), kSendBuffer);
  return EndpointClient(std::move(*fd));
}

Result<void> EndpointClient::push() {
  while (!outgoing_.empty()) {
    const std::vector<std::byte>& message = outgoing_.front();
    if (::send(fd_.get(), message.data(), message.size(), MSG_DONTWAIT | MSG_NOSIGNAL) < 0) {
      if (errno == EAGAIN || errno == ENOBUFS) return {};
      if (errno != EINTR) return live::os_error(errno, "sending to the daemon");
      continue;
    }
    outgoing_.pop_front();
  }
  return {};
}

Result<void> EndpointClient::pump(const std::function<void(std::span<const std::byte>)>& read) {
  if (Result<void> sent = push(); !sent) return sent;
  std::array<std::byte, wire::kMaxFrameBytes + 1> message;
  while (reading_) {
    const ssize_t bytes = ::recv(fd_.get(), message.data(), message.size(), MSG_DONTWAIT);
    if (bytes < 0 && errno == EAGAIN) return {};
    if (bytes < 0 && errno != EINTR) return live::os_error(errno, "reading from the daemon");
    if (bytes == 0) return fail(ErrorCode::io, "the daemon has closed the connection");
    if (bytes < 0) continue;
    ++read_;
    read(std::span(message).first(static_cast<std::size_t>(bytes)));
  }
  return {};
}

Result<ManagementClient> ManagementClient::connect(const std::string& path) {
  Result<live::UniqueFd> fd = live::connect_to(path, live::SocketKind::stream);
  if (!fd) return tl::unexpected<Error>(fd.error());
  return ManagementClient(std::move(*fd));
}

Result<nlohmann::json> ManagementClient::call(const nlohmann::json& request) {
  const std::string line = request.dump() + "\n";
  if (::send(fd_.get(), line.data(), line.size(), MSG_NOSIGNAL) != static_cast<ssize_t>(line.size()))
    return live::os_error(errno, "asking the daemon");
  for (;;) {
    const std::size_t end = received_.find('\n');
    if (end != std::string::npos) {
      nlohmann::json answer = nlohmann::json::parse(
          received_.begin(), received_.begin() + static_cast<std::ptrdiff_t>(end), nullptr, false);
      received_.erase(0, end + 1);
      if (!answer.is_object())
        return fail(ErrorCode::mismatch, "the daemon's answer to " + line + "is no JSON object");
      return answer;
    }
    if (received_.size() > kLongestAnswer)
      return fail(ErrorCode::mismatch, "the daemon's answer does not end");
    pollfd ready{fd_.get(), POLLIN, 0};
    if (::poll(&ready, 1, kAnswerTimeout_ms) <= 0)
      return fail(ErrorCode::io, "the daemon does not answer " + request.dump());
    std::array<char, 65'536> block;
    const ssize_t bytes = ::recv(fd_.get(), block.data(), block.size(), MSG_DONTWAIT);
    if (bytes == 0) return fail(ErrorCode::io, "the daemon has closed the management connection");
    if (bytes > 0) received_.append(block.data(), static_cast<std::size_t>(bytes));
    if (bytes < 0 && errno != EAGAIN && errno != EINTR) return live::os_error(errno, "asking the daemon");
  }
}

Result<nlohmann::json> ManagementClient::result(const nlohmann::json& request) {
  Result<nlohmann::json> answer = call(request);
  if (!answer) return answer;
  const auto ok = answer->find("ok");
  const auto given = answer->find("result");
  if (ok != answer->end() && *ok == true && given != answer->end()) return *given;
  return fail(ErrorCode::invalid_argument,
              "the daemon answers " + request.dump() + " with " + answer->dump());
}

}  // namespace cnuas::equivalence
