// Which transport a peer has: the real daemon's answer, and management sockets that do not answer well.

#include "live/posix/unix_socket.h"
#include "tests/endpoint_library/fixture.h"
#include "tests/switchd/daemon_process.h"

#include <cstring>
#include <fstream>
#include <thread>

#include <poll.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

namespace cnuas::live::test {
namespace {

class PeerTransport : public LinkTest {
 protected:
  cnuaslink_result ask(const LinkHandle& link, std::uint16_t peer) {
    std::memset(&answer_, 0xEE, sizeof(answer_));
    return cnuaslink_peer_transport(link.get(), peer, &answer_);
  }
  Result<cnuas::test::DaemonProcess> start_daemon(std::vector<std::string> arguments = {}) const {
    cnuas::test::DaemonSettings settings;
    settings.arguments = std::move(arguments);
    settings.run_dir = run_dir();
    settings.log_file = run_dir() + "/log";
    return cnuas::test::DaemonProcess::start(settings);
  }
  cnuaslink_peer answer_{};
};

TEST_F(PeerTransport, TheDaemonTells) {
  const auto daemon = start_daemon();
  ASSERT_TRUE(daemon) << daemon.error().message;
  const LinkHandle a = open(0);
  EXPECT_EQ(ask(a, gpu(1)), CNUASLINK_OK);
  EXPECT_EQ(answer_.transport, CNUASLINK_TRANSPORT_NONE);
  EXPECT_STRNE(answer_.reason, "");
  const LinkHandle b = open(1);
  EXPECT_EQ(ask(a, gpu(1)), CNUASLINK_OK);
  EXPECT_EQ(answer_.transport, CNUASLINK_TRANSPORT_SWITCH);
  EXPECT_STRNE(answer_.reason, "");
  EXPECT_STREQ(answer_.ivshmem_socket, "");
  EXPECT_EQ(ask(a, gpu(0)), CNUASLINK_OK);
  EXPECT_EQ(answer_.transport, CNUASLINK_TRANSPORT_NONE);  // itself
  EXPECT_EQ(ask(a, 0), CNUASLINK_INVALID_ARGUMENT);
  EXPECT_EQ(ask(a, 0xFFFF), CNUASLINK_INVALID_ARGUMENT);
  EXPECT_EQ(cnuaslink_peer_transport(a.get(), gpu(1), nullptr), CNUASLINK_INVALID_ARGUMENT);
  EXPECT_EQ(cnuaslink_peer_transport(nullptr, gpu(1), &answer_), CNUASLINK_INVALID_ARGUMENT);
}

TEST_F(PeerTransport, TheDaemonTellsWhomItExpects) {
  const auto daemon = start_daemon({"--config", CNUAS_SOURCE_DIR "/scenarios/two-racks.yaml", "--rack", "2"});
  ASSERT_TRUE(daemon) << daemon.error().message;
  std::uint16_t gpu = 0;
  EXPECT_EQ(cnuaslink_expected_gpu(run_dir().c_str(), 3, &gpu, 10 * kSecondNs), CNUASLINK_OK);
  EXPECT_EQ(gpu, 0x0203);
  EXPECT_EQ(cnuaslink_expected_gpu(run_dir().c_str(), 8, &gpu, 10 * kSecondNs), CNUASLINK_OK);
  EXPECT_EQ(gpu, 0);
  EXPECT_EQ(cnuaslink_expected_gpu(run_dir().c_str(), 9, &gpu, 10 * kSecondNs), CNUASLINK_UNAVAILABLE);
}

TEST_F(PeerTransport, WithoutAManagementSocketTheLinkWorksAllTheSame) {
  start_relay();
  const LinkHandle link = open(0);
  EXPECT_EQ(ask(link, gpu(1)), CNUASLINK_UNAVAILABLE);
  EXPECT_NE(std::strstr(answer_.reason, "mgmt.sock"), nullptr) << answer_.reason;
  EXPECT_EQ(answer_.transport, CNUASLINK_TRANSPORT_NONE);
  EXPECT_EQ(state(link).link, CNUASLINK_UP);
  // By the path of a socket the directory is known, too.
  const std::string path = socket_of(1);
  cnuaslink_options given = options(1);
  given.run_dir = nullptr;
  given.socket_path = path.c_str();
  const LinkHandle other = open(given);
  EXPECT_EQ(ask(other, gpu(0)), CNUASLINK_UNAVAILABLE);
  EXPECT_NE(std::string(answer_.reason).find(run_dir() + "/mgmt.sock"), std::string::npos) << answer_.reason;
}

// Answers every client with the same bytes, or not at all.
class Answering {
 public:
  Answering(const std::string& path, std::string answer, bool closes)
      : listener_(std::move(*listen_at(path, SocketKind::stream, 0600))) {
    thread_ = std::thread([this, answer = std::move(answer), closes] {
      pollfd query{listener_.get(), POLLIN, 0};
      ::poll(&query, 1, -1);
      UniqueFd peer(::accept4(listener_.get(), nullptr, nullptr, 0));
      char request[512];
      const ssize_t bytes = ::recv(peer.get(), request, sizeof(request), 0);
      request_.assign(request, bytes > 0 ? static_cast<std::size_t>(bytes) : 0);
      // In pieces, as a stream may come.
      for (std::size_t at = 0; at < answer.size(); at += 7000)
        ::send(peer.get(), answer.data() + at, std::min<std::size_t>(7000, answer.size() - at), MSG_NOSIGNAL);
      if (!closes) ::recv(peer.get(), request, sizeof(request), 0);  // until the client goes
    });
  }
  ~Answering() { finish(); }
  std::string finish() {
    if (thread_.joinable()) thread_.join();
    return request_;
  }

 private:
  UniqueFd listener_;
  std::string request_;
  std::thread thread_;
};

TEST_F(PeerTransport, AnswersAreUnderstoodOrRefused) {
  start_relay();
  cnuaslink_options given = options(0);
  given.management_timeout_ns = 10 * kSecondNs;
  const LinkHandle link = open(given);
  const auto with = [&](const std::string& answer, bool closes = false) {
    Answering management(run_dir() + "/mgmt.sock", answer, closes);
    const cnuaslink_result result = ask(link, gpu(1));
    EXPECT_EQ(management.finish(), "{\"command\":\"peer_query\",\"a\":257,\"b\":258,\"id\":1}\n");
    return result;
  };
  EXPECT_EQ(with("{\"id\":1,\"ok\":true,\"result\":{\"transport\":\"switch\",\"reason\":\"by port "
                 "1\",\"more\":[1]}}\n"),
            CNUASLINK_OK);
  EXPECT_EQ(answer_.transport, CNUASLINK_TRANSPORT_SWITCH);
  EXPECT_STREQ(answer_.reason, "by port 1");
  EXPECT_EQ(with("{\"ok\":true,\"result\":{\"transport\":\"ivshmem\",\"reason\":\"same host\","
                 "\"ivshmem_socket\":\"/run/x.sock\",\"region_bytes\":67108864}}\n"),
            CNUASLINK_OK);
  EXPECT_EQ(answer_.transport, CNUASLINK_TRANSPORT_IVSHMEM);
  EXPECT_STREQ(answer_.ivshmem_socket, "/run/x.sock");
  EXPECT_EQ(answer_.region_bytes, 67'108'864u);
  EXPECT_EQ(with("{\"ok\":true,\"result\":{\"transport\":\"none\"}}\n"), CNUASLINK_OK);
  EXPECT_EQ(answer_.transport, CNUASLINK_TRANSPORT_NONE);
  EXPECT_EQ(with("{\"ok\":false,\"error\":{\"code\":\"denied\",\"message\":\"not for you\"}}\n"),
            CNUASLINK_UNAVAILABLE);
  EXPECT_NE(std::strstr(answer_.reason, "not for you"), nullptr) << answer_.reason;

  const std::string nonsense[] = {"\n",
                                  "nonsense\n",
                                  "[]\n",
                                  "null\n",
                                  "{}\n",
                                  "{\"ok\":1}\n",
                                  "{\"ok\":true}\n",
                                  "{\"ok\":true,\"result\":[]}\n",
                                  "{\"ok\":true,\"result\":{}}\n",
                                  "{\"ok\":true,\"result\":{\"transport\":7}}\n",
                                  "{\"ok\":true,\"result\":{\"transport\":\"pigeon\"}}\n",
                                  "{\"ok\":true,\"result\":{\"transport\":\"ivshmem\"}}\n",
                                  "{\"ok\":true,\"result\":{\"transport\":\"ivshmem\",\"ivshmem_socket\":\"" +
                                      std::string(108, 'x') + "\"}}\n",
                                  "{\"ok\":false}\n",
                                  "{\"ok\":false,\"error\":7}\n",
                                  "\xFF\xFE{}\n",
                                  std::string(50'000, '[') + "\n",
                                  std::string(1'000'000, 'x')};
  for (const std::string& each : nonsense) {
    EXPECT_EQ(with(each), CNUASLINK_UNAVAILABLE) << each.substr(0, 80);
    EXPECT_STRNE(answer_.reason, "");
  }
  EXPECT_EQ(with("{\"ok\":true", true), CNUASLINK_UNAVAILABLE);
  EXPECT_NE(std::strstr(answer_.reason, "closed"), nullptr) << answer_.reason;
}

TEST_F(PeerTransport, WhoIsExpectedIsUnderstoodOrRefused) {
  start_relay();
  std::uint16_t gpu = 0;
  const auto with = [&](const std::string& answer) {
    Answering management(run_dir() + "/mgmt.sock", answer, false);
    gpu = 77;
    const cnuaslink_result result = cnuaslink_expected_gpu(run_dir().c_str(), 3, &gpu, 10 * kSecondNs);
    EXPECT_EQ(management.finish(), "{\"command\":\"port_status\",\"port\":3,\"id\":1}\n");
    return result;
  };
  EXPECT_EQ(with("{\"ok\":true,\"result\":{\"ports\":[{\"expected\":{\"name\":\"2/3\",\"id\":515}}]}}\n"),
            CNUASLINK_OK);
  EXPECT_EQ(gpu, 0x0203);
  EXPECT_EQ(with("{\"ok\":true,\"result\":{\"ports\":[{\"port\":3}]}}\n"), CNUASLINK_OK);
  EXPECT_EQ(gpu, 0);
  const std::string nonsense[] = {
      "{\"ok\":true,\"result\":{}}\n",
      "{\"ok\":true,\"result\":{\"ports\":{}}}\n",
      "{\"ok\":true,\"result\":{\"ports\":[]}}\n",
      "{\"ok\":true,\"result\":{\"ports\":[7]}}\n",
      "{\"ok\":true,\"result\":{\"ports\":[{\"expected\":515}]}}\n",
      "{\"ok\":true,\"result\":{\"ports\":[{\"expected\":{\"id\":-1}}]}}\n",
      "{\"ok\":true,\"result\":{\"ports\":[{\"expected\":{\"id\":65535}}]}}\n",
      "{\"ok\":true,\"result\":{\"ports\":[{\"expected\":{\"id\":\"1/3\"}}]}}\n",
      "{\"ok\":true,\"result\":{\"ports\":[{\"expected\":{\"id\":1},\"port\":3},{}]}}\n",
      "{\"ok\":false,\"error\":{\"code\":\"bad_field\",\"message\":\"there is no such port\"}}\n",
  };
  for (const std::string& each : nonsense) {
    EXPECT_EQ(with(each), CNUASLINK_UNAVAILABLE) << each;
    EXPECT_EQ(gpu, 0) << each;
  }
  EXPECT_EQ(cnuaslink_expected_gpu("/nowhere", 3, &gpu, kSecondNs), CNUASLINK_UNAVAILABLE);
  EXPECT_EQ(cnuaslink_expected_gpu(nullptr, 3, &gpu, kSecondNs), CNUASLINK_INVALID_ARGUMENT);
  EXPECT_EQ(cnuaslink_expected_gpu("/nowhere", 3, nullptr, kSecondNs), CNUASLINK_INVALID_ARGUMENT);
  EXPECT_EQ(cnuaslink_expected_gpu("/nowhere", 3, &gpu, 0), CNUASLINK_INVALID_ARGUMENT);
}

TEST_F(PeerTransport, ASilentSwitchIsNotWaitedForLongerThanTold) {
  start_relay();
  cnuaslink_options given = options(0);
  given.management_timeout_ns = kShort;
  const LinkHandle link = open(given);
  const Answering management(run_dir() + "/mgmt.sock", "", false);
  EXPECT_EQ(ask(link, gpu(1)), CNUASLINK_UNAVAILABLE);
  EXPECT_NE(std::strstr(answer_.reason, "in time"), nullptr) << answer_.reason;
}

// --- Sockets that are for others -------------------------------------------------------------------------

TEST_F(PeerTransport, WhoMayNotConnectIsToldSo) {
  if (::geteuid() != 0) GTEST_SKIP() << "needs root, to be somebody else";
  const auto daemon = start_daemon();
  ASSERT_TRUE(daemon) << daemon.error().message;
  ASSERT_EQ(::chmod(run_dir().c_str(), 0755), 0);
  const cnuaslink_options given = options(0);
  auto stranger = cnuas::test::ChildProcess::start([&] {
    if (::setgid(65'534) != 0 || ::setuid(65'534) != 0) return 1;
    cnuaslink* link = nullptr;
    cnuaslink_error error;
    if (cnuaslink_open(&given, &link, &error) != CNUASLINK_DENIED) return 2;
    return error.system_error == EACCES && std::strstr(error.text, "port_0.sock") != nullptr ? 0 : 3;
  });
  ASSERT_TRUE(stranger);
  EXPECT_EQ(stranger->wait(), 0);
}

}  // namespace
}  // namespace cnuas::live::test
