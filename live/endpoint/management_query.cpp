#include "live/endpoint/management_query.h"

#include "live/posix/clock.h"
#include "live/posix/os_error.h"
#include "live/posix/unix_socket.h"

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <limits>

#include <nlohmann/json.hpp>
#include <poll.h>

namespace cnuas::live::endpoint {

namespace {

using nlohmann::json;

constexpr std::size_t kLongestAnswer = 64 * 1024;
constexpr int kDeepest = 16;

// False when the time is over.
bool await(int fd, short events, Picoseconds until_ps) {
  for (;;) {
    const Picoseconds left_ps = until_ps - monotonic_now();
    if (left_ps <= 0) return false;
    const Picoseconds left_ms = (left_ps + kMillisecond - 1) / kMillisecond;
    pollfd query{fd, events, 0};
    if (::poll(&query, 1, static_cast<int>(std::min<Picoseconds>(left_ms, 60'000))) > 0) return true;
  }
}

tl::unexpected<Error> silent(const std::string& path) {
  return fail(ErrorCode::io, "the switch does not answer in time", path);
}

Result<void> send_all(int fd, std::string_view text, const std::string& path, Picoseconds until_ps) {
  while (!text.empty()) {
    const ssize_t sent = ::send(fd, text.data(), text.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
    if (sent >= 0) {
      text.remove_prefix(static_cast<std::size_t>(sent));
    } else if (errno == EAGAIN) {
      if (!await(fd, POLLOUT, until_ps)) return silent(path);
    } else if (errno != EINTR) {
      return os_error(errno, "cannot ask the switch", path);
    }
  }
  return {};
}

Result<std::string> receive_line(int fd, const std::string& path, Picoseconds until_ps) {
  std::string line;
  while (line.size() < kLongestAnswer) {
    char bytes[4096];
    const ssize_t received = ::recv(fd, bytes, sizeof(bytes), MSG_DONTWAIT);
    if (received > 0) {
      line.append(bytes, static_cast<std::size_t>(received));
      const std::size_t end = line.find('\n');
      if (end != std::string::npos) return line.substr(0, end);
    } else if (received == 0) {
      return fail(ErrorCode::io, "the switch has closed the connection without an answer", path);
    } else if (errno == EAGAIN) {
      if (!await(fd, POLLIN, until_ps)) return silent(path);
    } else if (errno != EINTR) {
      return os_error(errno, "cannot read the switch's answer", path);
    }
  }
  return fail(ErrorCode::mismatch, "the switch's answer is too long", path);
}

// Deep nesting would cost the parser's caller its stack when the value is taken apart again.
json parse(std::string_view line) {
  bool too_deep = false;
  const json::parser_callback_t watch_depth = [&](int depth, json::parse_event_t, json&) {
    too_deep = too_deep || depth > kDeepest;
    return !too_deep;
  };
  json value = json::parse(line.begin(), line.end(), watch_depth, false);
  return too_deep ? json(json::value_t::discarded) : value;
}

std::string text_of(const json& object, const char* key) {
  const auto found = object.find(key);
  return found != object.end() && found->is_string() ? found->get<std::string>() : std::string();
}

Result<PeerAnswer> read_result(const json& result) {
  PeerAnswer answer;
  const std::string transport = text_of(result, "transport");
  answer.reason = text_of(result, "reason");
  if (transport == "none") return answer;
  if (transport == "switch") {
    answer.transport = CNUASLINK_TRANSPORT_SWITCH;
    return answer;
  }
  if (transport != "ivshmem")
    return fail(ErrorCode::mismatch, "the switch names no transport that is known here");
  answer.transport = CNUASLINK_TRANSPORT_IVSHMEM;
  answer.ivshmem_socket = text_of(result, "ivshmem_socket");
  const auto bytes = result.find("region_bytes");
  if (bytes != result.end() && bytes->is_number_unsigned()) answer.region_bytes = bytes->get<std::uint64_t>();
  if (answer.ivshmem_socket.empty() || answer.ivshmem_socket.size() > kLongestSocketPath)
    return fail(ErrorCode::mismatch, "the switch names no socket for the shared memory");
  return answer;
}

// What an answer has to say, when the switch has not refused.
Result<json> result_of(std::string_view line) {
  const json answer = parse(line);
  if (!answer.is_object()) return fail(ErrorCode::mismatch, "the switch's answer is no JSON object");
  const auto ok = answer.find("ok");
  if (ok == answer.end() || !ok->is_boolean())
    return fail(ErrorCode::mismatch, "the switch's answer does not say whether it is well");
  if (!ok->get<bool>()) {
    const auto error = answer.find("error");
    const std::string message = error != answer.end() && error->is_object() ? text_of(*error, "message") : "";
    return fail(ErrorCode::mismatch,
                "the switch refuses to answer: " + (message.empty() ? "no reason" : message));
  }
  const auto result = answer.find("result");
  if (result == answer.end() || !result->is_object())
    return fail(ErrorCode::mismatch, "the switch's answer has no result");
  return *result;
}

Result<std::string> ask(const std::string& path, const std::string& request, Picoseconds timeout_ps) {
  const Picoseconds until_ps = monotonic_now() + timeout_ps;
  Result<UniqueFd> fd = connect_to(path, SocketKind::stream);
  if (!fd) return tl::unexpected(fd.error());
  if (const Result<void> sent = send_all(fd->get(), request + "\n", path, until_ps); !sent)
    return tl::unexpected(sent.error());
  return receive_line(fd->get(), path, until_ps);
}

}  // namespace

Result<PeerAnswer> parse_peer_answer(std::string_view line) {
  const Result<json> result = result_of(line);
  if (!result) return tl::unexpected(result.error());
  return read_result(*result);
}

Result<PeerAnswer> query_peer(const std::string& management_path, GpuId self, GpuId peer,
                              Picoseconds timeout_ps) {
  const std::string request = R"({"command":"peer_query","a":)" + std::to_string(self.value) + R"(,"b":)" +
                              std::to_string(peer.value) + ",\"id\":1}";
  const Result<std::string> line = ask(management_path, request, timeout_ps);
  if (!line) return tl::unexpected(line.error());
  return parse_peer_answer(*line);
}

Result<GpuId> parse_expected_gpu(std::string_view line) {
  const Result<json> result = result_of(line);
  if (!result) return tl::unexpected(result.error());
  const auto ports = result->find("ports");
  if (ports == result->end() || !ports->is_array() || ports->size() != 1 || !ports->front().is_object())
    return fail(ErrorCode::mismatch, "the switch's answer tells of no port");
  const auto expected = ports->front().find("expected");
  if (expected == ports->front().end()) return kNoGpu;
  const auto id = expected->is_object() ? expected->find("id") : expected->end();
  if (id == expected->end() || !id->is_number_unsigned() || id->get<std::uint64_t>() > 0xFFFE)
    return fail(ErrorCode::mismatch, "the switch expects something that is no GPU");
  return GpuId{id->get<std::uint16_t>()};
}

Result<GpuId> query_expected_gpu(const std::string& management_path, std::uint32_t port,
                                 Picoseconds timeout_ps) {
  const std::string request = R"({"command":"port_status","port":)" + std::to_string(port) + ",\"id\":1}";
  const Result<std::string> line = ask(management_path, request, timeout_ps);
  if (!line) return tl::unexpected(line.error());
  return parse_expected_gpu(*line);
}

}  // namespace cnuas::live::endpoint
