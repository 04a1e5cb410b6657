// The bootstrap over a UNIX socket. Little-endian, over SOCK_STREAM:
//
//   to rank 0, once:          "CCLS", version u32, rank u32, n_ranks u32
//   to rank 0, an allgather:  bytes u32, and so many bytes
//   from rank 0:              status u32, bytes u32, and the bytes of all ranks; nothing but the status if it
//   is not OK

#include "core/wire/byte_order.h"
#include "live/ccl/abi.h"
#include "live/ccl/failure.h"
#include "live/posix/clock.h"
#include "live/posix/os_error.h"
#include "live/posix/unix_socket.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <span>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

using namespace cnuas;
using namespace cnuas::live;
using namespace cnuas::live::collectives;

namespace {

constexpr std::array<std::byte, 4> kMagic = {std::byte{'C'}, std::byte{'C'}, std::byte{'L'}, std::byte{'S'}};
constexpr std::uint32_t kVersion = 1;
constexpr std::size_t kHelloBytes = 16;
constexpr std::uint32_t kMostContribution = 4096;
constexpr auto kRetry = std::chrono::milliseconds(5);
constexpr std::int64_t kMilliNs = 1'000'000;
constexpr std::int64_t kSecondNs = 1'000'000'000;

// A connection, and until when it may be waited for.
class Stream {
 public:
  Stream(int fd, std::int64_t until_ns) : fd_(fd), until_ns_(until_ns) {}

  Failure read(std::span<std::byte> into) const {
    while (!into.empty()) {
      const ssize_t got = ::recv(fd_, into.data(), into.size(), 0);
      if (got == 0) return failure(CNUASCCL_BOOTSTRAP_FAILED, "another rank has left");
      if (got > 0) {
        into = into.subspan(static_cast<std::size_t>(got));
      } else if (Failure failed = again(POLLIN); failed.failed()) {
        return failed;
      }
    }
    return {};
  }

  Failure write(std::span<const std::byte> from) const {
    while (!from.empty()) {
      const ssize_t put = ::send(fd_, from.data(), from.size(), MSG_NOSIGNAL);
      if (put >= 0) {
        from = from.subspan(static_cast<std::size_t>(put));
      } else if (Failure failed = again(POLLOUT); failed.failed()) {
        return failed;
      }
    }
    return {};
  }

  // Waits until there is something to do. After a call that failed with errno.
  Failure again(short events) const {
    if (errno == EINTR) return {};
    if (errno != EAGAIN && errno != EWOULDBLOCK)
      return failure(CNUASCCL_BOOTSTRAP_FAILED, "another rank has left: " + reason_of(errno));
    const std::int64_t left = until_ns_ - monotonic_ns();
    if (left <= 0) return failure(CNUASCCL_TIMEOUT, "the other ranks did not come in time");
    pollfd entry{fd_, events, 0};
    const std::int64_t milliseconds = std::min<std::int64_t>(left / kMilliNs + 1, 60'000);
    ::poll(&entry, 1, static_cast<int>(milliseconds));
    return {};
  }

 private:
  int fd_;
  std::int64_t until_ns_;
};

void put_number(std::vector<std::byte>& to, std::uint32_t number) {
  to.resize(to.size() + sizeof number);
  wire::store(to.data() + to.size() - sizeof number, number);
}

}  // namespace

struct cnuasccl_store {
  std::string path;
  Rank ranks = 1;
  Rank rank = 0;
  std::int64_t timeout_ns = 0;
  UniqueFd listener;            // rank 0
  std::vector<UniqueFd> peers;  // rank 0: by rank, its own one is closed; others: rank 0 alone
  bool met = false;

  std::int64_t deadline() const {
    const std::int64_t now = monotonic_ns();
    return now + std::min(timeout_ns, std::numeric_limits<std::int64_t>::max() - now);
  }

  Failure serve();
  Failure come();
  Failure meet(std::int64_t until_ns);
  void stop_listening();
  Failure gather(std::span<const std::byte> own, std::span<std::byte> all, std::int64_t until_ns);
  Failure ask(std::span<const std::byte> own, std::span<std::byte> all, std::int64_t until_ns) const;
  Failure allgather(std::span<const std::byte> own, std::span<std::byte> all);
  void refuse(const Failure& why, std::int64_t until_ns) const;
};

Failure cnuasccl_store::serve() {
  auto listening = listen_at(path, SocketKind::stream, 0600, static_cast<int>(ranks));
  if (!listening) return failure(CNUASCCL_SYSTEM, to_string(listening.error()));
  listener = std::move(*listening);
  peers.resize(ranks);
  return {};
}

Failure cnuasccl_store::come() {
  const std::int64_t until_ns = deadline();
  UniqueFd fd;
  for (;;) {
    const int error = connect_errno(path, SocketKind::stream, fd);
    if (error == 0) break;
    if (error != ENOENT && error != ECONNREFUSED && error != EAGAIN)
      return failure(CNUASCCL_SYSTEM, "cannot connect to '" + path + "': " + reason_of(error));
    if (monotonic_ns() > until_ns)
      return failure(CNUASCCL_TIMEOUT, "nobody serves '" + path + "': rank 0 did not come in time");
    std::this_thread::sleep_for(kRetry);
  }
  std::vector<std::byte> hello(kMagic.begin(), kMagic.end());
  for (const std::uint32_t number : {kVersion, rank, ranks})
    put_number(hello, number);
  if (Failure failed = Stream(fd.get(), until_ns).write(hello); failed.failed()) return failed;
  peers.push_back(std::move(fd));
  return {};
}

// Rank 0: waits for all others.
Failure cnuasccl_store::meet(std::int64_t until_ns) {
  for (Rank missing = ranks - 1; missing > 0;) {
    UniqueFd fd(::accept4(listener.get(), nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC));
    if (!fd) {
      if (errno == ECONNABORTED) continue;
      if (Failure failed = Stream(listener.get(), until_ns).again(POLLIN); failed.failed()) {
        failed.text += "; " + std::to_string(missing) + " of " + std::to_string(ranks) + " ranks are missing";
        return failed;
      }
      continue;
    }
    std::array<std::byte, kHelloBytes> hello{};
    // Whoever does not say at once who it is, is not one of the ranks.
    const std::int64_t soon = std::min(until_ns, monotonic_ns() + kSecondNs);
    if (Stream(fd.get(), soon).read(hello).failed() ||
        !std::equal(kMagic.begin(), kMagic.end(), hello.begin()))
      continue;
    const auto version = wire::load<std::uint32_t>(&hello[4]);
    const auto peer = wire::load<std::uint32_t>(&hello[8]);
    const auto size = wire::load<std::uint32_t>(&hello[12]);
    Failure wrong;
    if (version != kVersion) {
      wrong = failure(CNUASCCL_RECORD_VERSION, "a rank speaks version " + std::to_string(version));
    } else if (size != ranks) {
      wrong = failure(CNUASCCL_SIZE_MISMATCH, "rank " + std::to_string(peer) + " is one of " +
                                                  std::to_string(size) + " ranks, and rank 0 of " +
                                                  std::to_string(ranks));
    } else if (peer == 0 || peer >= ranks || peers[peer]) {
      wrong = failure(CNUASCCL_DUPLICATE_RANK, "there are two ranks " + std::to_string(peer));
    }
    if (wrong.failed()) {
      peers.push_back(std::move(fd));  // to be told as well
      return wrong;
    }
    peers[peer] = std::move(fd);
    --missing;
  }
  met = true;
  stop_listening();
  return {};
}

// The path is free again before anyone has an answer: who opens the next store there never meets this one.
void cnuasccl_store::stop_listening() {
  if (!listener) return;
  ::unlink(path.c_str());
  listener.reset();
}

void cnuasccl_store::refuse(const Failure& why, std::int64_t until_ns) const {
  std::vector<std::byte> answer;
  put_number(answer, static_cast<std::uint32_t>(why.status));
  put_number(answer, 0);
  for (const UniqueFd& peer : peers)
    if (peer && Stream(peer.get(), until_ns).write(answer).failed()) continue;
}

Failure cnuasccl_store::gather(std::span<const std::byte> own, std::span<std::byte> all,
                               std::int64_t until_ns) {
  if (!met) {
    if (Failure failed = meet(until_ns); failed.failed()) return failed;
  }
  std::copy(own.begin(), own.end(), all.begin());
  for (Rank peer = 1; peer < ranks; ++peer) {
    const Stream stream(peers[peer].get(), until_ns);
    std::array<std::byte, 4> length{};
    Failure failed = stream.read(length);
    if (!failed.failed() && wire::load<std::uint32_t>(length.data()) != own.size())
      failed = failure(CNUASCCL_BOOTSTRAP_FAILED, "the ranks contribute different numbers of bytes");
    if (!failed.failed()) failed = stream.read(all.subspan(peer * own.size(), own.size()));
    if (failed.failed()) {
      failed.text += " (rank " + std::to_string(peer) + ")";
      return failed;
    }
  }
  std::vector<std::byte> answer;
  put_number(answer, CNUASCCL_OK);
  put_number(answer, static_cast<std::uint32_t>(all.size()));
  answer.insert(answer.end(), all.begin(), all.end());
  for (Rank peer = 1; peer < ranks; ++peer)
    if (Failure failed = Stream(peers[peer].get(), until_ns).write(answer); failed.failed()) return failed;
  return {};
}

Failure cnuasccl_store::ask(std::span<const std::byte> own, std::span<std::byte> all,
                            std::int64_t until_ns) const {
  const Stream stream(peers[0].get(), until_ns);
  std::vector<std::byte> request;
  put_number(request, static_cast<std::uint32_t>(own.size()));
  request.insert(request.end(), own.begin(), own.end());
  if (Failure failed = stream.write(request); failed.failed()) return failed;
  std::vector<std::byte> head(8);
  if (Failure failed = stream.read(head); failed.failed()) return failed;
  const auto status = static_cast<int>(wire::load<std::uint32_t>(head.data()));
  if (status != CNUASCCL_OK)
    return failure(
        *status_name(status) == '?' ? CNUASCCL_BOOTSTRAP_FAILED : static_cast<cnuasccl_status_t>(status),
        std::string("rank 0 says ") + status_name(status));
  if (wire::load<std::uint32_t>(head.data() + 4) != all.size())
    return failure(CNUASCCL_BOOTSTRAP_FAILED, "rank 0 answers with another number of bytes");
  return stream.read(all);
}

Failure cnuasccl_store::allgather(std::span<const std::byte> own, std::span<std::byte> all) {
  if (own.size() > kMostContribution)
    return failure(CNUASCCL_INVALID_ARGUMENT, "more than 4096 bytes a rank are not gathered");
  const std::int64_t until_ns = deadline();
  if (rank != 0) return ask(own, all, until_ns);
  Failure failed = gather(own, all, until_ns);
  if (failed.failed()) refuse(failed, monotonic_ns() + kSecondNs);
  return failed;
}

namespace {

cnuasccl_status_t store_allgather(const void* send, void* recv, std::size_t bytes, void* context) {
  return guarded_for_thread([&] {
    auto& store = *static_cast<cnuasccl_store*>(context);
    return store.allgather({static_cast<const std::byte*>(send), bytes},
                           {static_cast<std::byte*>(recv), bytes * store.ranks});
  });
}

}  // namespace

extern "C" {

cnuasccl_status_t cnuasccl_store_open(const char* path, int n_ranks, int rank, int64_t timeout_ns,
                                      struct cnuasccl_store** store) {
  if (store != nullptr) *store = nullptr;
  return guarded_for_thread([&] {
    if (store == nullptr || path == nullptr || *path == '\0' || std::strlen(path) > kLongestSocketPath)
      return failure(CNUASCCL_INVALID_ARGUMENT, "a store needs a path of 1 to 107 bytes");
    if (n_ranks < 1 || n_ranks > static_cast<int>(kMostRanks) || rank < 0 || rank >= n_ranks ||
        timeout_ns <= 0)
      return failure(CNUASCCL_INVALID_ARGUMENT, "n_ranks, rank or timeout_ns is out of its range");
    auto made = std::make_unique<cnuasccl_store>();
    made->path = path;
    made->ranks = static_cast<Rank>(n_ranks);
    made->rank = static_cast<Rank>(rank);
    made->timeout_ns = timeout_ns;
    Failure failed = rank == 0 ? made->serve() : made->come();
    if (!failed.failed()) *store = made.release();
    return failed;
  });
}

void cnuasccl_store_close(struct cnuasccl_store* store) {
  if (store == nullptr) return;
  store->stop_listening();
  delete store;
}

cnuasccl_status_t cnuasccl_store_bootstrap(struct cnuasccl_store* store,
                                           struct cnuasccl_bootstrap* bootstrap) {
  if (store == nullptr || bootstrap == nullptr) return CNUASCCL_INVALID_ARGUMENT;
  *bootstrap = cnuasccl_bootstrap{store_allgather, store, static_cast<int>(store->ranks),
                                  static_cast<int>(store->rank)};
  return CNUASCCL_OK;
}

}  // extern "C"
