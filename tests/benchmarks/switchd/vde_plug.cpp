#include "tests/benchmarks/switchd/vde_plug.h"

#include "live/posix/os_error.h"
#include "live/posix/unix_socket.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <cstring>

#include <fcntl.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>

namespace cnuas::benchmark {

namespace {

constexpr std::uint32_t kMagic = 0xFEEDFACE;
constexpr std::uint32_t kProtocol = 3;
constexpr std::uint32_t kNewPlug = 0;
constexpr std::size_t kAddressAt = 3 * sizeof(std::uint32_t);
constexpr int kAnswerMs = 10'000;

sockaddr_un address_of(const std::string& path) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  std::memcpy(address.sun_path, path.data(), std::min(path.size(), live::kLongestSocketPath));
  return address;
}

const sockaddr* generic(const sockaddr_un& address) {
  return reinterpret_cast<const sockaddr*>(&address);
}

// Magic, version, kind, address and a description that ends the message, without gaps.
std::array<std::byte, kAddressAt + sizeof(sockaddr_un) + 1> request_with(const sockaddr_un& own) {
  std::array<std::byte, kAddressAt + sizeof(sockaddr_un) + 1> request{};
  const std::array<std::uint32_t, 3> head{kMagic, kProtocol, kNewPlug};
  std::memcpy(request.data(), head.data(), kAddressAt);
  std::memcpy(request.data() + kAddressAt, &own, sizeof(own));
  return request;
}

Result<sockaddr_un> exchange_addresses(int control, const sockaddr_un& own, const std::string& directory) {
  const auto request = request_with(own);
  if (::send(control, request.data(), request.size(), MSG_NOSIGNAL) != static_cast<ssize_t>(request.size()))
    return live::os_error(errno, "cannot ask for a plug", directory);
  pollfd wait{control, POLLIN, 0};
  sockaddr_un switch_address{};
  if (::poll(&wait, 1, kAnswerMs) != 1 || ::recv(control, &switch_address, sizeof(switch_address), 0) <=
                                              static_cast<ssize_t>(sizeof(sa_family_t)))
    return fail(ErrorCode::io, "vde_switch gives no plug", directory);
  return switch_address;
}

}  // namespace

Result<VdePlug> plug_in(const std::string& directory, const std::string& own_path) {
  const std::string control_path = directory + "/ctl";
  Result<live::UniqueFd> control = live::connect_to(control_path, live::SocketKind::stream);
  if (!control) return tl::unexpected(control.error());
  live::UniqueFd frames(::socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0));
  const sockaddr_un own = address_of(own_path);
  if (!frames || ::bind(frames.get(), generic(own), sizeof(own)) != 0)
    return live::os_error(errno, "cannot bind a plug", own_path);
  const Result<sockaddr_un> switch_address = exchange_addresses(control->get(), own, directory);
  if (!switch_address) return tl::unexpected(switch_address.error());
  if (::connect(frames.get(), generic(*switch_address), sizeof(*switch_address)) != 0)
    return live::os_error(errno, "cannot connect a plug", directory);
  return VdePlug{std::move(*control), std::move(frames)};
}

}  // namespace cnuas::benchmark
