#include "tests/benchmarks/switchd/traffic.h"

#include "live/posix/unix_socket.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <new>
#include <thread>

#include <fcntl.h>
#include <sys/socket.h>
#include <sys/time.h>

namespace cnuas::benchmark {

namespace {

constexpr auto kRelaxed = std::memory_order_relaxed;
constexpr suseconds_t kLookUpUs = 20'000;  // how often one that waits looks whether it is to stop

bool only_waited_long() {
  return errno == EAGAIN || errno == EINTR;
}

// Bytes on pages of their own. Where a buffer begins within its page decides how fast the kernel copies to
// it, by a factor of three on some processors; left to chance, it would differ from run to run.
class PageAligned {
 public:
  explicit PageAligned(std::size_t bytes)
      : bytes_(static_cast<std::byte*>(::operator new(bytes, kPage))), size_(bytes) {}
  ~PageAligned() { ::operator delete(bytes_, kPage); }
  PageAligned(const PageAligned&) = delete;
  PageAligned& operator=(const PageAligned&) = delete;
  std::byte* data() { return bytes_; }
  std::size_t size() const { return size_; }

 private:
  static constexpr std::align_val_t kPage{4096};
  std::byte* bytes_;
  std::size_t size_;
};

// Messages that all have the same bytes, or each a buffer of its own.
class Batch {
 public:
  explicit Batch(std::span<const std::byte> frame) : buffers_(frame.size()) {
    std::copy(frame.begin(), frame.end(), buffers_.data());
    for (std::size_t i = 0; i < kBatch; ++i)
      point(i, buffers_.data(), frame.size());
  }
  explicit Batch(std::size_t frame_bytes) : buffers_(kBatch * stride_of(frame_bytes)) {
    for (std::size_t i = 0; i < kBatch; ++i)
      point(i, buffers_.data() + i * stride_of(frame_bytes), frame_bytes);
  }
  mmsghdr* data() { return messages_.data(); }
  const mmsghdr& operator[](std::size_t index) const { return messages_[index]; }

 private:
  static std::size_t stride_of(std::size_t frame_bytes) { return (frame_bytes + 63) / 64 * 64; }
  void point(std::size_t index, std::byte* bytes, std::size_t size) {
    vectors_[index] = {bytes, size};
    messages_[index].msg_hdr.msg_iov = &vectors_[index];
    messages_[index].msg_hdr.msg_iovlen = 1;
  }

  PageAligned buffers_;
  std::array<iovec, kBatch> vectors_{};
  std::array<mmsghdr, kBatch> messages_{};
};

// False when the socket is no use any more.
bool send_burst(int fd, Batch& batch, std::size_t frames, Flow& flow) {
  while (frames > 0 && !flow.stop_sending.load(kRelaxed)) {
    const unsigned most = static_cast<unsigned>(std::min(frames, kBatch));
    const int sent = ::sendmmsg(fd, batch.data(), most, MSG_NOSIGNAL);
    if (sent > 0) {
      flow.sent.fetch_add(static_cast<std::uint64_t>(sent), kRelaxed);
      frames -= static_cast<std::size_t>(sent);
    } else if (!only_waited_long() && errno != ENOBUFS) {
      return false;
    }
  }
  return true;
}

}  // namespace

bool prepare(int fd) {
  const int flags = ::fcntl(fd, F_GETFL);
  if (flags < 0 || ::fcntl(fd, F_SETFL, flags & ~O_NONBLOCK) != 0) return false;
  const timeval wait{0, kLookUpUs};
  return live::set_send_buffer(fd, kSendBuffer) >= kSendBuffer &&
         ::setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &wait, sizeof(wait)) == 0 &&
         ::setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &wait, sizeof(wait)) == 0;
}

int blast(int fd, std::span<const std::byte> frame, Flow& flow, Pace pace) {
  Batch batch(frame);
  while (!flow.stop_sending.load(kRelaxed)) {
    if (!send_burst(fd, batch, pace.frames, flow)) return 1;
    if (pace.pause_us > 0) std::this_thread::sleep_for(std::chrono::microseconds(pace.pause_us));
  }
  return 0;
}

int drain(int fd, std::size_t frame_bytes, Flow& flow) {
  Batch batch(frame_bytes);
  while (!flow.stop_receiving.load(kRelaxed)) {
    const int got = ::recvmmsg(fd, batch.data(), kBatch, MSG_WAITFORONE, nullptr);
    if (got < 0) {
      if (only_waited_long()) continue;
      return 1;
    }
    if (batch[0].msg_len == 0) return 1;  // the other side is gone
    std::uint64_t wrong = 0;
    for (std::size_t i = 0; i < static_cast<std::size_t>(got); ++i)
      wrong += batch[i].msg_len != frame_bytes ? 1 : 0;
    if (wrong > 0) flow.wrong_length.fetch_add(wrong, kRelaxed);
    flow.received.fetch_add(static_cast<std::uint64_t>(got), kRelaxed);
  }
  return 0;
}

int echo(int fd, std::span<const std::byte> reply, Flow& flow) {
  PageAligned buffer(reply.size());
  PageAligned answer(reply.size());
  std::copy(reply.begin(), reply.end(), answer.data());
  while (!flow.stop_receiving.load(kRelaxed)) {
    const ssize_t got = ::recv(fd, buffer.data(), buffer.size(), 0);
    if (got == 0) return 1;
    if (got > 0) {
      if (::send(fd, answer.data(), answer.size(), MSG_NOSIGNAL) < 0 && !only_waited_long()) return 1;
    } else if (!only_waited_long()) {
      return 1;
    }
  }
  return 0;
}

int ping(int fd, std::span<const std::byte> frame, std::span<std::uint32_t> times, Flow& flow) {
  using Clock = std::chrono::steady_clock;
  PageAligned buffer(frame.size());
  PageAligned question(frame.size());
  std::copy(frame.begin(), frame.end(), question.data());
  for (std::size_t done = 0; done < times.size() && !flow.stop_sending.load(kRelaxed);) {
    const Clock::time_point begin = Clock::now();
    if (::send(fd, question.data(), question.size(), MSG_NOSIGNAL) < 0) return 1;
    flow.sent.fetch_add(1, kRelaxed);
    ssize_t got = -1;
    while ((got = ::recv(fd, buffer.data(), buffer.size(), 0)) < 0 && only_waited_long()) {
      if (Clock::now() - begin > std::chrono::seconds(1)) break;
    }
    if (got == 0) return 1;
    if (got < 0) continue;
    times[done++] = static_cast<std::uint32_t>(
        std::min<std::int64_t>(std::chrono::nanoseconds(Clock::now() - begin).count(), UINT32_MAX));
    flow.received.fetch_add(1, kRelaxed);
  }
  return 0;
}

}  // namespace cnuas::benchmark
