// How the daemon starts, reloads and ends, and what it leaves behind.
#include "live/posix/unix_socket.h"
#include "tests/switchd/switch_test.h"
#include "tests/switchd/traffic.h"

#include <csignal>
#include <filesystem>
#include <fstream>
#include <thread>

#include <sys/socket.h>
#include <sys/stat.h>

namespace cnuas::test {
namespace {

class StartStop : public SwitchTest {
 protected:
  DaemonSettings settings() const {
    DaemonSettings settings;
    settings.run_dir = directory().file("run");
    settings.log_file = directory().file("log");
    settings.output_file = directory().file("output");
    return settings;
  }
  // One that is expected to refuse: its exit status and what it says.
  std::pair<std::optional<int>, std::string> refused(DaemonSettings changed) const {
    changed.log_file = directory().file("log-of-refused");
    DaemonProcess process = value_of(DaemonProcess::launch(changed));
    const std::optional<int> status = process.process().wait();
    return {status, process.log()};
  }
  void expect_works() {
    RawEndpoint a = gpu(0);
    RawEndpoint b = gpu(1);
    exchange(a, gpu_at(0), b, gpu_at(1), 10);
    a.close();
    b.close();
    wait_for_link(0, false);
    wait_for_link(1, false);
  }
  std::vector<std::string> sockets() const {
    std::vector<std::string> found;
    for (const auto& entry : std::filesystem::directory_iterator(directory().file("run")))
      if (entry.is_socket()) found.push_back(entry.path().filename());
    return found;
  }
};

TEST_F(StartStop, PrintsNothingOnStandardOutput) {
  start_plain(settings());
  expect_works();
  EXPECT_EQ(stop(SIGTERM), 0);
  EXPECT_EQ(std::filesystem::file_size(directory().file("output")), 0U);
  EXPECT_EQ(sockets(), std::vector<std::string>{});
}

TEST_F(StartStop, StaleSocketsAreTakenOver) {
  start_plain(settings());
  EXPECT_EQ(stop(SIGKILL), 128 + SIGKILL);
  EXPECT_EQ(sockets().size(), kDataPorts + 1);
  start_plain(settings());
  expect_works();
}

TEST_F(StartStop, LiveOnesAreNot) {
  start_plain(settings());
  const auto [status, log] = refused(settings());
  EXPECT_EQ(status, 4) << log;
  EXPECT_NE(log.find("another switch runs here"), std::string::npos) << log;
  expect_works();
}

TEST_F(StartStop, NorThoseOfAnotherProgram) {
  ASSERT_EQ(::mkdir((directory().file("run")).c_str(), 0750), 0);
  const live::UniqueFd other =
      value_of(live::listen_at(directory().file("run/port_3.sock"), live::SocketKind::seqpacket, 0600));
  const auto [status, log] = refused(settings());
  EXPECT_EQ(status, 4) << log;
  EXPECT_NE(log.find("port_3.sock"), std::string::npos) << log;
  EXPECT_EQ(value_of(live::probe(directory().file("run/port_3.sock"), live::SocketKind::seqpacket)),
            live::PathState::live);
  EXPECT_EQ(sockets(), std::vector<std::string>{"port_3.sock"});
}

TEST_F(StartStop, NorAFileThatIsNoSocket) {
  ASSERT_EQ(::mkdir((directory().file("run")).c_str(), 0750), 0);
  std::ofstream(directory().file("run/mgmt.sock")) << "precious";
  const auto [status, log] = refused(settings());
  EXPECT_EQ(status, 4) << log;
  std::string content;
  std::getline(std::ifstream(directory().file("run/mgmt.sock")), content);
  EXPECT_EQ(content, "precious");
}

TEST_F(StartStop, TooLongAPathIsSaidToBe) {
  DaemonSettings changed = settings();
  changed.run_dir = directory().file(std::string(120, 'x'));
  const auto [status, log] = refused(changed);
  EXPECT_EQ(status, 4) << log;
  EXPECT_NE(log.find("107"), std::string::npos) << log;
}

TEST_F(StartStop, BadFabricIsSaidToBe) {
  DaemonSettings changed = settings();
  changed.arguments = {"--config", config_path()};
  write_config("scenario: broken\nfabric: {racks: many}\n");
  auto [status, log] = refused(changed);
  EXPECT_EQ(status, 3) << log;
  EXPECT_NE(log.find("fabric.yaml:2:"), std::string::npos) << log;
  changed.arguments = {"--config", directory().file("missing.yaml")};
  std::tie(status, log) = refused(changed);
  EXPECT_EQ(status, 4) << log;
  changed.arguments = {"--no-such-option"};
  std::tie(status, log) = refused(changed);
  EXPECT_EQ(status, 2) << log;
}

// Whoever starts it with a tighter mask gets a tighter directory.
TEST_F(StartStop, ModesAreTight) {
  for (const mode_t mask : {mode_t{0}, mode_t{022}, mode_t{077}}) {
    const mode_t before = ::umask(mask);
    start_plain(settings());
    ::umask(before);
    struct stat status {};
    ASSERT_EQ(::stat((directory().file("run")).c_str(), &status), 0);
    EXPECT_EQ(status.st_mode & 07777, 0750U & ~mask);
    EXPECT_EQ(sockets().size(), kDataPorts + 1);
    for (const std::string& name : sockets()) {
      ASSERT_EQ(::stat((directory().file("run/" + name)).c_str(), &status), 0);
      EXPECT_EQ(status.st_mode & 07777, 0660U) << name;
    }
    EXPECT_EQ(stop(SIGTERM), 0);
    std::filesystem::remove_all(directory().file("run"));
  }
}

// Everything that was sent before the signal arrives, also what the daemon had not read yet.
TEST_F(StartStop, EndingDeliversWhatWasSent) {
  for (int round = 0; round < 5; ++round) {
    DaemonSettings changes = settings();
    changes.arguments = {"--drain-timeout", "60"};
    start(kLongStallTimeout, changes);
    RawEndpoint sender = gpu(0);
    RawEndpoint receiver = gpu(1);
    std::uint64_t sent = 0;
    // More than the receiver's socket and the switch's queue hold.
    for (int failures = 0; failures < 50;) {
      if (sender.send_at_once(numbered_frame(gpu_at(0), gpu_at(1), sent, 4096))) {
        ++sent;
      } else {
        ++failures;
        std::this_thread::sleep_for(std::chrono::milliseconds(2));
      }
    }
    daemon().process().signal(SIGTERM);
    for (std::uint64_t number = 0; number < sent; ++number)
      ASSERT_NO_FATAL_FAILURE(expect_number(receiver.receive(), number)) << "of " << sent;
    EXPECT_FALSE(receiver.receive().has_value());
    EXPECT_TRUE(receiver.at_end());
    EXPECT_EQ(stop(SIGTERM), 0);
  }
}

// A reader that stands still does not keep it from ending.
TEST_F(StartStop, EndingDoesNotWaitForEver) {
  DaemonSettings changes = settings();
  changes.arguments = {"--drain-timeout", "0.2"};
  start(kLongStallTimeout, changes);
  RawEndpoint sender = gpu(0);
  RawEndpoint stalled = gpu(1);
  for (int failures = 0; failures < 50;) {
    if (sender.send_at_once(numbered_frame(gpu_at(0), gpu_at(1), 0, 4096))) continue;
    ++failures;
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
  }
  EXPECT_EQ(stop(SIGTERM), 0);
}

TEST_F(StartStop, ReloadTakesNewLimitsUnderTraffic) {
  start();
  RawEndpoint a = gpu(0);
  RawEndpoint b = gpu(1);
  Traffic traffic(a, gpu_at(0), b, gpu_at(1));
  for (int i = 1; i <= 10; ++i) {
    std::string text = fabric_yaml(kLongStallTimeout);
    const std::string buffer = std::to_string(64 * i) + " KiB";
    text.replace(text.find("stall_timeout"), 0, "port_buffer: " + buffer + ", ");
    write_config(text);
    daemon().process().signal(SIGHUP);
    EXPECT_TRUE(eventually([&] { return ask({{"command", "version"}}).at("reloads") == i; }));
    EXPECT_EQ(port_status(4).at("queue_bytes"), 64 * 1024 * i);
  }
  EXPECT_TRUE(traffic.progress());
  traffic.stop();
  EXPECT_EQ(traffic.faults(), std::vector<std::string>{});
  EXPECT_EQ(traffic.received(), traffic.sent());
}

TEST_F(StartStop, ReloadOfABrokenFabricChangesNothing) {
  start();
  RawEndpoint a = gpu(0);
  RawEndpoint b = gpu(1);
  write_config("fabric: {racks: many}\n");
  daemon().process().signal(SIGHUP);
  const auto refused = [&] {
    const nlohmann::json findings = ask({{"command", "health"}}).at("findings");
    return std::any_of(findings.begin(), findings.end(),
                       [](const auto& finding) { return finding.at("code") == "reload_refused"; });
  };
  EXPECT_TRUE(eventually(refused));
  EXPECT_EQ(ask({{"command", "version"}}).at("reloads"), 0);
  exchange(a, gpu_at(0), b, gpu_at(1));
  write_config(fabric_yaml(kLongStallTimeout));
  daemon().process().signal(SIGHUP);
  EXPECT_TRUE(eventually([&] { return !refused(); }));
  EXPECT_EQ(ask({{"command", "version"}}).at("reloads"), 1);
}

// Endpoints that connect again go on where they were, however the switch has ended.
TEST_F(StartStop, RestartsUnderTraffic) {
  start_plain(settings());
  for (const int signal : {SIGTERM, SIGKILL, SIGTERM, SIGKILL, SIGINT}) {
    RawEndpoint a = gpu(0);
    RawEndpoint b = gpu(1);
    std::optional<Traffic> traffic(std::in_place, a, gpu_at(0), b, gpu_at(1));
    EXPECT_TRUE(traffic->progress());
    expect_conserved();
    EXPECT_EQ(stop(signal), signal == SIGKILL ? 128 + SIGKILL : 0);
    traffic.reset();  // its sender cannot send any more
    EXPECT_TRUE(b.at_end() || !b.receive().has_value());
    start_plain(settings());
  }
  expect_works();
}

}  // namespace
}  // namespace cnuas::test
