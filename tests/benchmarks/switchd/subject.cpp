#include "tests/benchmarks/switchd/subject.h"

#include "core/topology/gpu_id.h"
#include "live/posix/os_error.h"
#include "live/posix/unix_socket.h"
#include "tests/benchmarks/switchd/relay.h"
#include "tests/benchmarks/switchd/traffic.h"
#include "tests/benchmarks/switchd/vde_plug.h"
#include "tests/switchd/daemon_process.h"
#include "tests/switchd/raw_endpoint.h"

#include <algorithm>
#include <cerrno>
#include <utility>

#include <fcntl.h>
#include <unistd.h>

namespace cnuas::benchmark {

namespace {

constexpr unsigned kPorts = 4;

GpuId gpu_at(unsigned port) {
  return GpuId{static_cast<std::uint16_t>(0x0100 + port)};
}

// Both switches of this project's wire format; the relay does not care.
class FrameSubject : public Subject {
 public:
  std::vector<std::byte> frame(unsigned from, unsigned to, std::size_t bytes) const override {
    return test::frame(wire::FrameType::data, gpu_at(from), gpu_at(to), bytes - wire::kHeaderBytes);
  }
  std::vector<std::byte> announcement(unsigned from) const override { return test::discovery(gpu_at(from)); }
  Result<live::UniqueFd> connect(unsigned port) override {
    Result<live::UniqueFd> socket = live::connect_to(path_of(port), live::SocketKind::seqpacket);
    if (socket && !prepare(socket->get()))
      return fail(ErrorCode::io, "cannot set up a socket", path_of(port));
    return socket;
  }

 private:
  virtual std::string path_of(unsigned port) const = 0;
};

class RelaySubject final : public FrameSubject {
 public:
  RelaySubject(std::string directory, test::ChildProcess process)
      : directory_(std::move(directory)), process_(std::move(process)) {}
  std::string name() const override { return "relay"; }
  pid_t pid() const override { return process_.pid(); }
  static std::string path(const std::string& directory, unsigned port) {
    return directory + "/port_" + std::to_string(port) + ".sock";
  }

 private:
  std::string path_of(unsigned port) const override { return path(directory_, port); }

  std::string directory_;
  test::ChildProcess process_;
};

class DaemonSubject final : public FrameSubject {
 public:
  explicit DaemonSubject(test::DaemonProcess daemon) : daemon_(std::move(daemon)) {}
  std::string name() const override { return "daemon"; }
  pid_t pid() const override { return daemon_.pid(); }
  std::string management_socket() const override { return daemon_.management_socket(); }

 private:
  std::string path_of(unsigned port) const override { return daemon_.socket(port); }

  test::DaemonProcess daemon_;
};

// Ethernet: destination, source, and a type that stands for local experiments.
class VdeSubject final : public Subject {
 public:
  VdeSubject(std::string directory, test::ChildProcess process, live::UniqueFd console)
      : directory_(std::move(directory)), process_(std::move(process)), console_(std::move(console)) {}
  std::string name() const override { return "vde_switch"; }
  pid_t pid() const override { return process_.pid(); }

  Result<live::UniqueFd> connect(unsigned port) override {
    Result<VdePlug> plug = plug_in(directory_ + "/switch", directory_ + "/plug_" + std::to_string(port));
    if (!plug) return tl::unexpected(plug.error());
    if (!prepare(plug->frames.get())) return fail(ErrorCode::io, "cannot set up a socket", directory_);
    controls_.push_back(std::move(plug->control));
    return std::move(plug->frames);
  }
  std::vector<std::byte> frame(unsigned from, unsigned to, std::size_t bytes) const override {
    return ethernet(mac_at(from), mac_at(to), bytes);
  }
  std::vector<std::byte> announcement(unsigned from) const override {
    return ethernet(mac_at(from), Mac(kMacBytes, std::byte{0xFF}), kShortest);
  }

 private:
  using Mac = std::vector<std::byte>;
  static constexpr std::size_t kMacBytes = 6;
  static constexpr std::size_t kShortest = 60;

  static Mac mac_at(unsigned port) {
    Mac mac(kMacBytes);
    mac.front() = std::byte{0x02};  // locally administered
    mac.back() = static_cast<std::byte>(port + 1);
    return mac;
  }
  static std::vector<std::byte> ethernet(const Mac& from, const Mac& to, std::size_t bytes) {
    std::vector<std::byte> frame(bytes);
    const auto type = std::copy(from.begin(), from.end(), std::copy(to.begin(), to.end(), frame.begin()));
    type[0] = std::byte{0x88};
    type[1] = std::byte{0xB5};
    return frame;
  }

  std::string directory_;
  test::ChildProcess process_;
  live::UniqueFd console_;
  std::vector<live::UniqueFd> controls_;
};

}  // namespace

Result<std::unique_ptr<Subject>> start_relay(const std::string& directory) {
  std::vector<live::UniqueFd> listeners;
  for (unsigned port = 0; port < kPorts; ++port) {
    Result<live::UniqueFd> listener =
        live::listen_at(RelaySubject::path(directory, port), live::SocketKind::seqpacket, 0600);
    if (!listener) return tl::unexpected(listener.error());
    listeners.push_back(std::move(*listener));
  }
  Result<test::ChildProcess> process =
      test::ChildProcess::start([&] { return run_relay(std::move(listeners)); });
  if (!process) return tl::unexpected(process.error());
  return std::make_unique<RelaySubject>(directory, std::move(*process));
}

Result<std::unique_ptr<Subject>> start_daemon(const std::string& directory, const std::string& program) {
  test::DaemonSettings settings;
  settings.program = program;
  settings.run_dir = directory + "/run";
  settings.log_file = directory + "/log";
  Result<test::DaemonProcess> daemon = test::DaemonProcess::start(settings);
  if (!daemon) return tl::unexpected(daemon.error());
  return std::make_unique<DaemonSubject>(std::move(*daemon));
}

Result<std::unique_ptr<Subject>> start_vde_switch(const std::string& directory, const std::string& program) {
  // In the foreground, so that it is ours to end. There it takes commands, and ends when they do.
  int console[2];
  if (::pipe2(console, O_CLOEXEC) != 0) return live::os_error(errno, "cannot make a pipe");
  const live::UniqueFd commands(console[0]);
  live::UniqueFd console_end(console[1]);
  test::ProgramSettings settings;
  settings.command = {program, "--sock", directory + "/switch"};
  settings.input = commands.get();
  settings.output_file = directory + "/log";
  settings.error_file = directory + "/log";
  Result<test::ChildProcess> process = test::ChildProcess::start(settings);
  if (!process) return tl::unexpected(process.error());
  const auto ready = [&] {
    return live::probe(directory + "/switch/ctl", live::SocketKind::stream) == live::PathState::live;
  };
  test::eventually([&] { return ready() || !process->running(); });
  if (!process->running()) return fail(ErrorCode::io, "vde_switch has ended", directory);
  return std::make_unique<VdeSubject>(directory, std::move(*process), std::move(console_end));
}

}  // namespace cnuas::benchmark
