#include "tests/switchd/raw_endpoint.h"

#include "live/posix/unix_socket.h"
#include "tests/switchd/child_process.h"

#include <algorithm>
#include <cerrno>
#include <cstring>

#include <poll.h>
#include <sys/socket.h>

namespace cnuas::test {

namespace {

// Room for more than the longest frame, so that one that is too long shows.
constexpr std::size_t kRoom = 2 * wire::kMaxFrameBytes;
constexpr std::size_t kNumberEnd = wire::kHeaderBytes + sizeof(std::uint64_t);

std::byte pattern(std::uint64_t number, std::size_t offset) {
  return static_cast<std::byte>((number * 31 + offset * 7) & 0xFF);
}

// What is reported at once when nothing more can come, besides `events`.
constexpr short kEnd = POLLHUP | POLLERR;

short wait_for(int fd, short events, std::chrono::milliseconds guard) {
  pollfd entry{fd, events, 0};
  return ::poll(&entry, 1, static_cast<int>(guard.count())) == 1 ? entry.revents : short{0};
}

}  // namespace

Bytes frame(wire::FrameType type, GpuId source, GpuId destination, std::size_t payload_bytes) {
  Bytes bytes(wire::kHeaderBytes + payload_bytes);
  const wire::FrameHeader header{type, wire::ByteOrder::big, source, destination,
                                 static_cast<std::uint32_t>(payload_bytes)};
  wire::encode(header, std::span(bytes).first<wire::kHeaderBytes>());
  return bytes;
}

Bytes discovery(GpuId source) {
  return frame(wire::FrameType::discovery, source, kBroadcast);
}

Bytes numbered_frame(GpuId source, GpuId destination, std::uint64_t number, std::size_t frame_bytes) {
  Bytes bytes = frame(wire::FrameType::data, source, destination,
                      std::max(frame_bytes, kNumberEnd) - wire::kHeaderBytes);
  std::memcpy(bytes.data() + wire::kHeaderBytes, &number, sizeof(number));
  for (std::size_t i = kNumberEnd; i < bytes.size(); ++i)
    bytes[i] = pattern(number, i);
  return bytes;
}

std::optional<std::uint64_t> number_of(std::span<const std::byte> frame) {
  if (!wire::decode(frame) || frame.size() < kNumberEnd) return std::nullopt;
  std::uint64_t number = 0;
  std::memcpy(&number, frame.data() + wire::kHeaderBytes, sizeof(number));
  for (std::size_t i = kNumberEnd; i < frame.size(); ++i)
    if (frame[i] != pattern(number, i)) return std::nullopt;
  return number;
}

Result<RawEndpoint> RawEndpoint::connect(const std::string& path) {
  Result<live::UniqueFd> socket = live::connect_to(path, live::SocketKind::seqpacket);
  if (!socket) return tl::unexpected(socket.error());
  return RawEndpoint(std::move(*socket));
}

bool RawEndpoint::send_at_once(std::span<const std::byte> message) {
  return ::send(fd(), message.data(), message.size(), MSG_NOSIGNAL | MSG_DONTWAIT) >= 0;
}

bool RawEndpoint::send(std::span<const std::byte> message) {
  while (!send_at_once(message)) {
    if (errno != EAGAIN) return false;
    if (wait_for(fd(), POLLOUT, kGuard) == 0) return false;
  }
  return true;
}

std::optional<Bytes> RawEndpoint::receive_at_once() {
  Bytes bytes(kRoom);
  const ssize_t got = ::recv(fd(), bytes.data(), bytes.size(), MSG_DONTWAIT);
  if (got < 0) {
    // A peer that closed with unread messages of ours: what it sent before can still be read.
    if (errno == ECONNRESET) return receive_at_once();
    return std::nullopt;
  }
  // No frame is empty, and nobody sends us anything else.
  if (got == 0) {
    at_end_ = true;
    return std::nullopt;
  }
  bytes.resize(static_cast<std::size_t>(got));
  return bytes;
}

std::optional<Bytes> RawEndpoint::receive(std::chrono::milliseconds guard) {
  if (at_end_ || wait_for(fd(), POLLIN, guard) == 0) return std::nullopt;
  return receive_at_once();
}

std::optional<Bytes> RawEndpoint::receive() {
  return receive(kGuard);
}

bool RawEndpoint::silent_for(std::chrono::milliseconds span) {
  return (wait_for(fd(), POLLIN, span) & (POLLIN | kEnd)) == 0;
}

void RawEndpoint::half_close() {
  ::shutdown(fd(), SHUT_WR);
}

}  // namespace cnuas::test
