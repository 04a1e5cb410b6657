// Who may connect, by what the kernel says of them and not by what they can reach.
#include "live/posix/unix_socket.h"
#include "tests/switchd/switch_test.h"

#include <algorithm>
#include <csignal>

#include <grp.h>
#include <sys/stat.h>
#include <unistd.h>

namespace cnuas::test {
namespace {

constexpr uid_t kStranger = 48'151;
constexpr gid_t kStrangersGroup = 48'152;

class Identity : public SwitchTest {
 protected:
  void SetUp() override {
    if (::geteuid() != 0) GTEST_SKIP() << "only root can be somebody else";
  }
  // The modes would keep them out already; here the allow-list alone has to.
  void start_open(const std::vector<std::string>& arguments) {
    DaemonSettings settings;
    settings.arguments = arguments;
    start_plain(settings);
    ::chmod(directory().path().c_str(), 0755);
    ::chmod(daemon().run_dir().c_str(), 0755);
    for (std::size_t port = 0; port < kDataPorts; ++port)
      ::chmod(daemon().socket(port).c_str(), 0666);
    ::chmod(daemon().management_socket().c_str(), 0666);
  }
  // Runs `body` as somebody else, and returns what it returned.
  static std::optional<int> as(uid_t user, gid_t group, const std::vector<gid_t>& groups,
                               const std::function<int()>& body) {
    ChildProcess process = value_of(ChildProcess::start([&] {
      if (::setgroups(groups.size(), groups.data()) != 0 || ::setgid(group) != 0 || ::setuid(user) != 0)
        return 99;
      return body();
    }));
    return process.wait();
  }

  enum Answer { kWelcome = 0, kTurnedAway = 1, kUnreachable = 2, kSilent = 3 };
  // Announces itself and waits for a word.
  int knock_at_port(std::size_t port) {
    Result<RawEndpoint> endpoint = daemon().endpoint(port);
    if (!endpoint) return kUnreachable;
    endpoint->send(discovery(gpu_at(port)));
    endpoint->send(frame(wire::FrameType::data, gpu_at(port), gpu_at(0), 10));
    const std::optional<Bytes> message = endpoint->receive();
    if (!message) return kSilent;
    const std::string text(reinterpret_cast<const char*>(message->data()), message->size());
    return text.starts_with("error: ") ? kTurnedAway : kWelcome;
  }
  int knock_at_management() {
    Result<ManagementClient> client = daemon().management();
    if (!client) return kUnreachable;
    const Result<nlohmann::json> answer = client->request({{"command", "version"}});
    if (answer) return kWelcome;
    return answer.error().message.find("denied") != std::string::npos ? kTurnedAway : kSilent;
  }
};

TEST_F(Identity, StrangersAreToldWhyAndTurnedAway) {
  start_open({});
  EXPECT_EQ(as(kStranger, kStrangersGroup, {}, [&] { return knock_at_port(3); }), kTurnedAway);
  EXPECT_EQ(as(kStranger, kStrangersGroup, {}, [&] { return knock_at_management(); }), kTurnedAway);
  EXPECT_EQ(port_status(3).at("refused_identity"), 1);
  EXPECT_EQ(port_status(3).at("connections"), 0);
  EXPECT_EQ(telemetry().count(3, "rx_frames"), 0U);
  EXPECT_EQ(port_status(3).at("link_up"), false);
}

TEST_F(Identity, ListedUsersAreWelcome) {
  start_open({"--allow-uid", std::to_string(kStranger)});
  EXPECT_EQ(as(kStranger, kStrangersGroup, {}, [&] { return knock_at_management(); }), kWelcome);
  EXPECT_EQ(as(kStranger + 1, kStrangersGroup, {}, [&] { return knock_at_management(); }), kTurnedAway);
  // A welcome endpoint hears what others send to it.
  RawEndpoint other = gpu(0);
  const auto connected = [&] {
    Result<RawEndpoint> endpoint = daemon().endpoint(3);
    if (!endpoint || !endpoint->send(discovery(gpu_at(3)))) return kUnreachable;
    endpoint->send(frame(wire::FrameType::data, gpu_at(3), gpu_at(0), 10));
    return endpoint->receive() ? kWelcome : kSilent;
  };
  std::optional<int> answer;
  ChildProcess stranger = value_of(ChildProcess::start([&] {
    if (::setgroups(0, nullptr) != 0 || ::setgid(kStrangersGroup) != 0 || ::setuid(kStranger) != 0) return 99;
    return static_cast<int>(connected());
  }));
  EXPECT_TRUE(other.receive().has_value());
  EXPECT_EQ(port_status(3).at("peer").at("uid"), kStranger);
  EXPECT_TRUE(other.send(frame(wire::FrameType::data, gpu_at(0), gpu_at(3), 10)));
  EXPECT_EQ(stranger.wait(), kWelcome);
}

TEST_F(Identity, MembersOfListedGroupsAreWelcome) {
  start_open({"--allow-gid", std::to_string(kStrangersGroup)});
  EXPECT_EQ(as(kStranger, kStrangersGroup, {}, [&] { return knock_at_management(); }), kWelcome);
  EXPECT_EQ(as(kStranger, kStranger, {kStranger + 5, kStrangersGroup}, [&] { return knock_at_management(); }),
            kWelcome);
  EXPECT_EQ(as(kStranger, kStranger, {kStranger + 5}, [&] { return knock_at_management(); }), kTurnedAway);
}

// Without the test's help the modes keep strangers out before the daemon has to.
TEST_F(Identity, ModesKeepStrangersOut) {
  start_plain();
  ::chmod(directory().path().c_str(), 0755);
  EXPECT_EQ(as(kStranger, kStrangersGroup, {}, [&] { return knock_at_port(3); }), kUnreachable);
  EXPECT_EQ(as(kStranger, kStrangersGroup, {}, [&] { return knock_at_management(); }), kUnreachable);
}

}  // namespace
}  // namespace cnuas::test
