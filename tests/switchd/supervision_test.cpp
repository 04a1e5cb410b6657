// What a service manager sees and hands over: sd_notify(3), sd_listen_fds(3).
#include "live/posix/unix_socket.h"
#include "tests/switchd/switch_test.h"

#include <csignal>
#include <cstring>
#include <filesystem>

#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>

namespace cnuas::test {
namespace {

class Supervision : public SwitchTest {
 protected:
  // The socket that NOTIFY_SOCKET names.
  void SetUp() override {
    notify_.reset(::socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0));
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    std::memcpy(address.sun_path, notify_path().data(), notify_path().size());
    ASSERT_EQ(::bind(notify_.get(), reinterpret_cast<const sockaddr*>(&address), sizeof(address)), 0);
  }
  std::string notify_path() const { return directory().file("notify"); }

  // Waits for a message with this line, and returns it whole.
  std::string expect_notice(const std::string& line) {
    for (;;) {
      pollfd entry{notify_.get(), POLLIN, 0};
      const int guard_ms = static_cast<int>(std::chrono::milliseconds(kGuard).count());
      if (::poll(&entry, 1, guard_ms) != 1) {
        ADD_FAILURE() << "no message with " << line;
        return {};
      }
      std::string text(4096, '\0');
      const ssize_t got = ::recv(notify_.get(), text.data(), text.size(), 0);
      text.resize(got < 0 ? 0 : static_cast<std::size_t>(got));
      if (("\n" + text + "\n").find("\n" + line) != std::string::npos) return text;
    }
  }

  DaemonSettings settings() const {
    DaemonSettings settings;
    settings.environment = {"NOTIFY_SOCKET=" + notify_path()};
    return settings;
  }

 private:
  live::UniqueFd notify_;
};

TEST_F(Supervision, IsToldOfStartReloadAndEnd) {
  start_plain(settings());
  EXPECT_NE(expect_notice("READY=1").find("STATUS="), std::string::npos);
  daemon().process().signal(SIGHUP);
  EXPECT_NE(expect_notice("RELOADING=1").find("MONOTONIC_USEC="), std::string::npos);
  expect_notice("READY=1");
  // The status follows what happens.
  RawEndpoint endpoint = gpu(2);
  EXPECT_NE(expect_notice("STATUS="), "");
  EXPECT_EQ(stop(SIGTERM), 0);
  expect_notice("STOPPING=1");
}

TEST_F(Supervision, HearsThatItIsAlive) {
  DaemonSettings watched = settings();
  watched.environment.push_back("WATCHDOG_USEC=200000");
  start_plain(watched);
  for (int i = 0; i < 5; ++i)
    expect_notice("WATCHDOG=1");
}

TEST_F(Supervision, PassesSocketsThatListenAlready) {
  const std::string run_dir = directory().file("run");
  std::filesystem::create_directory(run_dir);
  std::vector<live::UniqueFd> listeners;
  DaemonSettings passing = settings();
  passing.run_dir = run_dir;
  for (std::size_t port = 0; port <= kDataPorts; ++port) {
    const bool data = port < kDataPorts;
    const std::string name = data ? "port_" + std::to_string(port) : "mgmt";
    listeners.push_back(
        value_of(live::listen_at(run_dir + "/" + name + ".sock",
                                 data ? live::SocketKind::seqpacket : live::SocketKind::stream, 0660)));
    passing.passed.push_back(listeners.back().get());
  }
  // Who connects before the daemon runs waits for it.
  RawEndpoint early = value_of(RawEndpoint::connect(run_dir + "/port_0.sock"));
  ASSERT_TRUE(early.send(discovery(gpu_at(0))));
  start_plain(passing);
  RawEndpoint late = gpu(1);
  wait_for_received(0, 1);
  exchange(early, gpu_at(0), late, gpu_at(1));
  // They stay when it ends, with whoever comes meanwhile, for the next one.
  EXPECT_EQ(stop(SIGTERM), 0);
  RawEndpoint between = value_of(RawEndpoint::connect(run_dir + "/port_5.sock"));
  ASSERT_TRUE(between.send(discovery(gpu_at(5))));
  start_plain(passing);
  wait_for_received(5, 1);
  RawEndpoint again = gpu(1);
  exchange(between, gpu_at(5), again, gpu_at(1));
}

TEST_F(Supervision, PassesSomeAndTheDaemonOpensTheOthers) {
  const std::string run_dir = directory().file("run");
  std::filesystem::create_directory(run_dir);
  const live::UniqueFd listener =
      value_of(live::listen_at(run_dir + "/port_2.sock", live::SocketKind::seqpacket, 0660));
  DaemonSettings passing = settings();
  passing.run_dir = run_dir;
  passing.passed = {listener.get()};
  start_plain(passing);
  RawEndpoint a = gpu(2);
  RawEndpoint b = gpu(3);
  exchange(a, gpu_at(2), b, gpu_at(3));
}

TEST_F(Supervision, PassesSomethingElseAndIsTold) {
  const live::UniqueFd wrong =
      value_of(live::listen_at(directory().file("port_2.sock"), live::SocketKind::stream, 0660));
  DaemonSettings passing = settings();
  passing.run_dir = directory().file("run");
  passing.log_file = directory().file("log");
  passing.passed = {wrong.get()};
  DaemonProcess process = value_of(DaemonProcess::launch(passing));
  EXPECT_EQ(process.process().wait(), 4);
  EXPECT_NE(process.log().find("port_2"), std::string::npos) << process.log();
}

}  // namespace
}  // namespace cnuas::test
