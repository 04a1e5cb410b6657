// What runs in the processes at the ends: the same for everything that is measured, so that what stands
// between them is all that differs.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <span>

namespace cnuas::benchmark {

inline constexpr std::size_t kBatch = 32;
inline constexpr int kSendBuffer = 1 << 20;

// A sender and a receiver write to cache lines of their own.
struct Flow {
  alignas(64) std::atomic<bool> stop_sending{false};
  std::atomic<bool> stop_receiving{false};
  alignas(64) std::atomic<std::uint64_t> sent{0};
  alignas(64) std::atomic<std::uint64_t> received{0};
  std::atomic<std::uint64_t> wrong_length{0};  // of those
};

// What a sender waits between its bursts; without it sends as fast as it can.
struct Pace {
  std::size_t frames = kBatch;
  unsigned pause_us = 0;
};

// All of these take blocking sockets, and return soon after they are told to stop, or when the other side is
// gone.

// Sends `frame` again and again with sendmmsg().
int blast(int fd, std::span<const std::byte> frame, Flow& flow, Pace pace = {});

// Receives with recvmmsg().
int drain(int fd, std::size_t frame_bytes, Flow& flow);

// Sends `reply` for every message.
int echo(int fd, std::span<const std::byte> reply, Flow& flow);

// Sends `frame`, waits for what comes back, and writes how many nanoseconds that took; until `times` is full
// or it is told to stop. What does not come back within a second is not counted in flow.received.
int ping(int fd, std::span<const std::byte> frame, std::span<std::uint32_t> times, Flow& flow);

// Makes the socket fit for these: blocking, a send buffer of kSendBuffer, and waits that end now and then.
bool prepare(int fd);

}  // namespace cnuas::benchmark
