// A management server on a real socket, and clients of it, all in one thread.
#pragma once

#include "live/management/management_server.h"
#include "live/posix/clock.h"
#include "live/posix/event_loop.h"
#include "live/posix/unix_socket.h"
#include "tests/management/fake_switch.h"

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>
#include <sys/socket.h>

namespace cnuas::live {

constexpr Picoseconds kHang = 60 * kSecond;  // nothing takes so long

class TemporaryFolder {
 public:
  TemporaryFolder() {
    std::string path = "/tmp/cnuas-mgmt-XXXXXX";
    if (::mkdtemp(path.data()) == nullptr) std::abort();
    path_ = path;
  }
  ~TemporaryFolder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  std::string file(const std::string& name) const { return (path_ / name).string(); }

 private:
  std::filesystem::path path_;
};

// A client that never waits.
class Caller {
 public:
  explicit Caller(const std::string& path) : fd_(connect_to(path, SocketKind::stream).value()) {}

  // How many bytes were taken; -1 when the server has gone.
  ssize_t send(std::string_view bytes) {
    const ssize_t sent = ::send(fd_.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
    return sent < 0 && errno == EAGAIN ? 0 : sent;
  }
  void end_sending() { ::shutdown(fd_.get(), SHUT_WR); }
  void hang_up() { fd_.reset(); }

  // Takes what is there.
  void listen() {
    char bytes[4096];
    while (!ended_) {
      const ssize_t got = ::recv(fd_.get(), bytes, sizeof(bytes), MSG_DONTWAIT);
      if (got < 0 && errno == EAGAIN) return;
      if (got <= 0)
        ended_ = true;
      else
        heard_.append(bytes, static_cast<std::size_t>(got));
    }
  }
  bool ended() const { return ended_; }  // the server has closed
  const std::string& heard() const { return heard_; }
  std::size_t lines() const {
    return static_cast<std::size_t>(std::count(heard_.begin(), heard_.end(), '\n'));
  }
  // The first answer, which must be there; it is taken away.
  nlohmann::json take() {
    const std::size_t end = heard_.find('\n');
    if (end == std::string::npos) return {};
    nlohmann::json answer = nlohmann::json::parse(heard_.substr(0, end), nullptr, false);
    heard_.erase(0, end + 1);
    return answer;
  }

 private:
  UniqueFd fd_;
  std::string heard_;
  bool ended_ = false;
};

struct DeskServer {
  explicit DeskServer(ManagementLimits limits = {}, const fabric_switch::SwitchConfig& config = small_rack())
      : managed(config), loop(EventLoop::create().value()) {
    UniqueFd listener = listen_at(path, SocketKind::stream, 0600, 512).value();
    listener_fd = listener.get();
    server = ManagementServer::create(
                 loop, std::move(listener), managed,
                 [this](const PeerCredentials& peer) { return allow(peer); }, limits)
                 .value();
  }

  Caller call() { return Caller(path); }

  // Runs the loop until `done`; false when that takes for ever.
  bool run_until(const std::function<bool()>& done) {
    const Picoseconds limit = monotonic_now() + kHang;
    while (!done()) {
      if (monotonic_now() > limit) return false;
      EXPECT_TRUE(loop.run_once(monotonic_now() + kMillisecond));
    }
    return true;
  }
  bool run_until_clients(std::size_t count) {
    return run_until([&] { return server->clients() == count; });
  }
  // What the server answers to one line.
  nlohmann::json ask(Caller& caller, const std::string& line) {
    EXPECT_EQ(caller.send(line + "\n"), static_cast<ssize_t>(line.size() + 1));
    EXPECT_TRUE(run_until([&] {
      caller.listen();
      return caller.lines() > 0 || caller.ended();
    }));
    return caller.take();
  }

  TemporaryFolder folder;
  std::string path = folder.file("mgmt.sock");
  FakeSwitch managed;
  EventLoop loop;
  std::function<bool(const PeerCredentials&)> allow = [](const PeerCredentials&) { return true; };
  int listener_fd = -1;
  std::unique_ptr<ManagementServer> server;
};

}  // namespace cnuas::live
