#include "live/switchd/service.h"

#include "core/switch/frame_ref.h"
#include "live/posix/os_error.h"
#include "live/switchd/chassis.h"

#include <cerrno>
#include <cstdlib>
#include <ctime>

#include <fcntl.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <systemd/sd-daemon.h>

namespace cnuas::live {

namespace {

// "port_3" of "/run/x/port_3.sock"; empty for a socket without a path.
std::string name_by_path(int fd) {
  sockaddr_un address{};
  socklen_t length = sizeof(address);
  if (::getsockname(fd, reinterpret_cast<sockaddr*>(&address), &length) != 0) return {};
  std::string path(address.sun_path, ::strnlen(address.sun_path, sizeof(address.sun_path)));
  path.erase(0, path.rfind('/') + 1);
  const std::size_t end = path.rfind(".sock");
  return end == std::string::npos ? path : path.substr(0, end);
}

Result<void> check_kind(int fd, const std::string& name) {
  const int type = name == kManagementName ? SOCK_STREAM : SOCK_SEQPACKET;
  if (::sd_is_socket_unix(fd, type, 1, nullptr, 0) > 0) return {};
  return fail(ErrorCode::io,
              std::string("the socket that was passed is no listening UNIX socket of type ") +
                  (type == SOCK_STREAM ? "SOCK_STREAM" : "SOCK_SEQPACKET"),
              name);
}

}  // namespace

Result<std::map<std::string, UniqueFd>> take_passed_sockets() {
  char** names = nullptr;
  const int count = ::sd_listen_fds_with_names(1, &names);
  if (count < 0) return os_error(-count, "cannot take the sockets that were passed");
  std::map<std::string, UniqueFd> sockets;
  Result<void> well;
  for (int i = 0; i < count; ++i) {
    UniqueFd fd(SD_LISTEN_FDS_START + i);
    std::string name = names != nullptr && names[i] != nullptr ? names[i] : "";
    if (names != nullptr) std::free(names[i]);
    if (!is_socket_name(name)) name = name_by_path(fd.get());
    if (!well) continue;  // the rest is only closed
    if (!is_socket_name(name)) {
      well = fail(ErrorCode::io, "a socket was passed that is neither port_0 to port_8 nor mgmt",
                  name.empty() ? "descriptor " + std::to_string(SD_LISTEN_FDS_START + i) : name);
    } else if (sockets.count(name) != 0) {
      well = fail(ErrorCode::io, "the socket was passed twice", name);
    } else if (well = check_kind(fd.get(), name); well) {
      ::fcntl(fd.get(), F_SETFL, ::fcntl(fd.get(), F_GETFL) | O_NONBLOCK);
      sockets.emplace(name, std::move(fd));
    }
  }
  std::free(names);
  if (!well) return tl::unexpected(well.error());
  return sockets;
}

void notify_ready(const std::string& status) {
  ::sd_notifyf(0, "READY=1\nSTATUS=%s", status.c_str());
}

void notify_status(const std::string& status) {
  ::sd_notifyf(0, "STATUS=%s", status.c_str());
}

void notify_reloading() {
  timespec time{};
  ::clock_gettime(CLOCK_MONOTONIC, &time);
  const long long microseconds = static_cast<long long>(time.tv_sec) * 1'000'000 + time.tv_nsec / 1000;
  ::sd_notifyf(0, "RELOADING=1\nMONOTONIC_USEC=%lld", microseconds);
}

void notify_stopping(const std::string& status) {
  ::sd_notifyf(0, "STOPPING=1\nSTATUS=%s", status.c_str());
}

void notify_alive() {
  ::sd_notify(0, "WATCHDOG=1");
}

Picoseconds alive_period() {
  std::uint64_t microseconds = 0;
  if (::sd_watchdog_enabled(0, &microseconds) <= 0) return 0;
  return static_cast<Picoseconds>(microseconds) * kMicrosecond / 2;
}

}  // namespace cnuas::live
