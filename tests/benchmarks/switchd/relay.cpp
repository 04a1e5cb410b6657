#include "tests/benchmarks/switchd/relay.h"

#include "core/wire/frame.h"

#include <array>
#include <cstddef>
#include <cstdint>

#include <sys/epoll.h>
#include <sys/socket.h>

namespace cnuas::benchmark {

namespace {

class Relay {
 public:
  explicit Relay(std::vector<live::UniqueFd> listeners)
      : epoll_(::epoll_create1(EPOLL_CLOEXEC)), listeners_(std::move(listeners)), peers_(listeners_.size()) {}

  bool run() {
    for (std::uint32_t port = 0; port < listeners_.size(); ++port)
      if (!watch(listeners_[port].get(), port | kListener)) return false;
    std::array<epoll_event, 16> events;
    for (;;) {
      const int ready = ::epoll_wait(epoll_.get(), events.data(), static_cast<int>(events.size()), -1);
      for (int i = 0; i < ready; ++i) {
        const std::uint32_t what = events[static_cast<std::size_t>(i)].data.u32;
        if ((what & kListener) != 0) {
          accept(what & ~kListener);
        } else {
          relay(what);
        }
      }
    }
  }

 private:
  static constexpr std::uint32_t kListener = 0x80000000;

  bool watch(int fd, std::uint32_t what) {
    epoll_event event{};
    event.events = EPOLLIN;
    event.data.u32 = what;
    return ::epoll_ctl(epoll_.get(), EPOLL_CTL_ADD, fd, &event) == 0;
  }

  void accept(std::uint32_t port) {
    live::UniqueFd peer(::accept4(listeners_[port].get(), nullptr, nullptr, SOCK_CLOEXEC));
    if (peer && watch(peer.get(), port)) peers_[port] = std::move(peer);
  }

  void relay(std::uint32_t port) {
    const ssize_t got = ::recv(peers_[port].get(), buffer_.data(), buffer_.size(), 0);
    if (got <= 0) {
      peers_[port].reset();
      return;
    }
    const live::UniqueFd& other = peers_[port ^ 1U];
    if (other) ::send(other.get(), buffer_.data(), static_cast<std::size_t>(got), MSG_NOSIGNAL);
  }

  live::UniqueFd epoll_;
  std::vector<live::UniqueFd> listeners_;
  std::vector<live::UniqueFd> peers_;                                 // by port
  alignas(4096) std::array<std::byte, wire::kMaxFrameBytes> buffer_;  // as the system copies fastest
};

}  // namespace

int run_relay(std::vector<live::UniqueFd> listeners) {
  return Relay(std::move(listeners)).run() ? 0 : 1;
}

}  // namespace cnuas::benchmark
