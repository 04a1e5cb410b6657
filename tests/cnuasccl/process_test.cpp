// Two ranks as processes, over a socket that is polled; one of them is killed or stopped at every frame.
#include "tests/cnuasccl/ranks.h"
#include "tests/cnuasccl/reference.h"

#include <cerrno>
#include <csignal>
#include <cstdint>
#include <cstdlib>
#include <functional>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

namespace cnuas::live::collectives {
namespace {

// One end of a socket between two GPUs, 1 and 2.
struct SocketLink {
  int fd = -1;
  std::uint16_t gpu = 0;
  int frames = 0;
  std::function<void(int)> before_send;  // the number of the frame

  cnuasccl_link_transport transport() { return {send, recv, local_gpu, this}; }
  static cnuasccl_link_extension extension() {
    cnuasccl_link_extension extension{};
    extension.struct_bytes = sizeof extension;
    extension.name = "socket";
    extension.frames_per_receiver = 3;
    extension.descriptor = descriptor;
    return extension;
  }

 private:
  static SocketLink& self(void* context) { return *static_cast<SocketLink*>(context); }
  static cnuasccl_status_t failed() {
    return errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR ? CNUASCCL_AGAIN : CNUASCCL_LINK_FAILED;
  }
  static cnuasccl_status_t send(std::uint16_t, const void* frame, std::size_t bytes, void* context) {
    SocketLink& link = self(context);
    if (link.before_send) link.before_send(link.frames);
    if (::send(link.fd, frame, bytes, MSG_DONTWAIT | MSG_NOSIGNAL) < 0) return failed();
    ++link.frames;
    return CNUASCCL_OK;
  }
  static cnuasccl_status_t recv(std::uint16_t* from, void* frame, std::size_t capacity, std::size_t* bytes,
                                void* context) {
    SocketLink& link = self(context);
    const ssize_t got = ::recv(link.fd, frame, capacity, MSG_DONTWAIT | MSG_TRUNC);
    if (got < 0) return failed();
    if (got == 0) return CNUASCCL_LINK_FAILED;
    *from = static_cast<std::uint16_t>(3 - link.gpu);
    *bytes = static_cast<std::size_t>(got);
    return CNUASCCL_OK;
  }
  static cnuasccl_status_t local_gpu(std::uint16_t* gpu, void* context) {
    *gpu = self(context).gpu;
    return CNUASCCL_OK;
  }
  static int descriptor(void* context) { return self(context).fd; }
};

class ProcessTest : public testing::Test {
 protected:
  ProcessTest() {
    EXPECT_NE(mkdtemp(folder_.data()), nullptr);
    open_socket();
  }
  ~ProcessTest() override {
    close_socket();
    unlink((folder_ + "/store").c_str());
    rmdir(folder_.c_str());
  }

  cnuasccl_comm_t join(int rank, SocketLink& link, std::int64_t timeout_ns) {
    cnuasccl_store* store = nullptr;
    EXPECT_OK(cnuasccl_store_open((folder_ + "/store").c_str(), 2, rank, kHangGuardNs, &store));
    cnuasccl_bootstrap boot{};
    EXPECT_OK(cnuasccl_store_bootstrap(store, &boot));
    link.fd = ends_[rank];
    link.gpu = static_cast<std::uint16_t>(rank + 1);
    cnuasccl_comm_t comm = nullptr;
    EXPECT_OK(cnuasccl_comm_init_rank(&comm, &boot, link.gpu));
    cnuasccl_store_close(store);
    const cnuasccl_link_transport transport = link.transport();
    const cnuasccl_link_extension extension = SocketLink::extension();
    EXPECT_OK(cnuasccl_comm_set_link(comm, &transport, &extension, nullptr, nullptr));
    configure(comm, [&](cnuasccl_config& config) {
      config.timeout_ns = timeout_ns;
      config.chunk_bytes = 4096;
    });
    return comm;
  }

  void open_socket() {
    close_socket();
    EXPECT_EQ(socketpair(AF_UNIX, SOCK_SEQPACKET, 0, ends_), 0);
  }
  void close_socket() {
    for (int& end : ends_) {
      if (end >= 0) close(end);
      end = -1;
    }
  }

  static Bytes data(int rank) { return contribution(7, rank, CNUASCCL_FLOAT32, kCount); }
  static cnuasccl_status_t reduce(cnuasccl_comm_t comm, Bytes& bytes) {
    return cnuasccl_all_reduce(comm, bytes.data(), bytes.data(), kCount, CNUASCCL_FLOAT32, CNUASCCL_SUM);
  }

  // Rank 1 in a process of its own.
  pid_t fork_other(const std::function<int()>& body) {
    const pid_t child = fork();
    if (child != 0) {
      close(ends_[1]);  // so that the end of the other process shows
      ends_[1] = -1;
      return child;
    }
    close(ends_[0]);
    _exit(body());
  }

  static constexpr std::size_t kCount = 20'000;

 private:
  std::string folder_ = "/tmp/cnuasccl-XXXXXX";
  int ends_[2] = {-1, -1};
};

TEST_F(ProcessTest, EqualTheSerialFold) {
  const Bytes right = fold_all({data(0), data(1)}, CNUASCCL_FLOAT32, CNUASCCL_SUM);
  const auto body = [&](int rank) {
    SocketLink link;
    cnuasccl_comm_t comm = join(rank, link, kHangGuardNs);
    int well = 0;
    for (int i = 0; i < 20; ++i) {
      Bytes bytes = data(rank);
      if (reduce(comm, bytes) == CNUASCCL_OK && bytes == right) ++well;
    }
    cnuasccl_comm_destroy(comm);
    return well == 20 ? 0 : 1;
  };
  const pid_t child = fork_other([&] { return body(1); });
  EXPECT_EQ(body(0), 0);
  int status = 0;
  EXPECT_EQ(waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0);
}

class DyingProcessTest : public ProcessTest, public testing::WithParamInterface<int> {};
INSTANTIATE_TEST_SUITE_P(Killed, DyingProcessTest, testing::Values(SIGKILL));
INSTANTIATE_TEST_SUITE_P(Stopped, DyingProcessTest, testing::Values(SIGSTOP));

TEST_P(DyingProcessTest, TheOtherFindsOutInTime) {
  for (const int when : {0, 1, 5, 9, 10, 19}) {
    open_socket();
    const pid_t child = fork_other([&] {
      SocketLink link;
      cnuasccl_comm_t comm = join(1, link, kHangGuardNs);
      link.before_send = [when](int frame) {
        if (frame >= when) raise(GetParam());
      };
      Bytes bytes = data(1);
      return reduce(comm, bytes) == CNUASCCL_OK ? 0 : 1;
    });
    SocketLink link;
    cnuasccl_comm_t comm = join(0, link, 300'000'000);
    Bytes bytes = data(0);
    cnuasccl_status_t status = reduce(comm, bytes);
    if (status == CNUASCCL_OK) status = cnuasccl_barrier(comm);
    EXPECT_THAT(status, testing::AnyOf(CNUASCCL_TIMEOUT, CNUASCCL_LINK_FAILED)) << "frame " << when;
    EXPECT_NE(last_error(comm).find("rank 1 (GPU 0/2)"), std::string::npos) << last_error(comm);
    EXPECT_EQ(cnuasccl_barrier(comm), CNUASCCL_POISONED);
    cnuasccl_comm_destroy(comm);
    kill(child, SIGKILL);
    EXPECT_EQ(waitpid(child, nullptr, 0), child);
  }
}

}  // namespace
}  // namespace cnuas::live::collectives
