// The socket of an endpoint and nothing else: it sends any bytes, and shows what comes.
#pragma once

#include "core/engine/error.h"
#include "core/topology/gpu_id.h"
#include "core/wire/frame.h"
#include "live/posix/unique_fd.h"

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace cnuas::test {

using Bytes = std::vector<std::byte>;

// A frame with `payload_bytes` of zeros.
Bytes frame(wire::FrameType type, GpuId source, GpuId destination, std::size_t payload_bytes = 0);
Bytes discovery(GpuId source);

// A DATA frame of `frame_bytes` in all, at least 20, whose payload is its number and a pattern that depends
// on the number; and the number of such a frame, none when a byte of it is not as it was sent.
Bytes numbered_frame(GpuId source, GpuId destination, std::uint64_t number, std::size_t frame_bytes);
std::optional<std::uint64_t> number_of(std::span<const std::byte> frame);

class RawEndpoint {
 public:
  // Errors: io.
  static Result<RawEndpoint> connect(const std::string& path);
  explicit RawEndpoint(live::UniqueFd socket) : socket_(std::move(socket)) {}

  int fd() const { return socket_.get(); }

  // One message, whole; waits while the socket is full. False when the other side has gone, or it is full for
  // the whole guard.
  bool send(std::span<const std::byte> message);
  // False when the socket is full, too.
  bool send_at_once(std::span<const std::byte> message);

  // The next message, however long it takes within the guard. None at the end of the stream, and when nothing
  // came: at_end() tells which.
  std::optional<Bytes> receive(std::chrono::milliseconds guard);
  std::optional<Bytes> receive();
  // What is there now; none when there is nothing.
  std::optional<Bytes> receive_at_once();
  bool at_end() const { return at_end_; }
  // Nothing comes for so long.
  bool silent_for(std::chrono::milliseconds span);

  // Sends nothing more and still receives.
  void half_close();
  void close() { socket_.reset(); }

 private:
  live::UniqueFd socket_;
  bool at_end_ = false;
};

}  // namespace cnuas::test
