// Management clients that no honest program resembles. Each time other clients are answered, and frames pass.
#include "tests/switchd/switch_test.h"
#include "tests/switchd/traffic.h"

#include <algorithm>
#include <optional>
#include <random>
#include <string>
#include <vector>

#include <sys/socket.h>

namespace cnuas::test {
namespace {

const std::string kVersion = R"({"command":"version"})";

class HostileManagement : public SwitchTest {
 protected:
  void SetUp() override {
    start();
    a_ = gpu(0);
    b_ = gpu(1);
    traffic_.emplace(*a_, gpu_at(0), *b_, gpu_at(1));
  }
  void TearDown() override {
    EXPECT_TRUE(traffic_->progress());
    traffic_->stop();
    EXPECT_EQ(traffic_->faults(), std::vector<std::string>{});
    EXPECT_EQ(traffic_->received(), traffic_->sent());
    SwitchTest::TearDown();
  }

  ManagementClient client() { return connect_management(); }
  // The code of the error in the next answer; empty when there is none.
  static std::string error_code(ManagementClient& client) {
    const std::optional<std::string> line = client.read_line();
    if (!line) return {};
    const auto answer = nlohmann::json::parse(*line, nullptr, false);
    if (!answer.is_object() || answer.value("ok", true)) return {};
    return answer.at("error").value("code", "");
  }
  static bool answers(ManagementClient& client) {
    return client.request({{"command", "version"}}).has_value();
  }

 private:
  std::optional<RawEndpoint> a_;
  std::optional<RawEndpoint> b_;
  std::optional<Traffic> traffic_;
};

TEST_F(HostileManagement, RequestsInFragments) {
  ManagementClient slow = client();
  for (int i = 0; i < 20; ++i) {
    for (const char each : kVersion + "\n") {
      ASSERT_TRUE(slow.write({&each, 1}));
      if (each == ':') {
        ASSERT_TRUE(answers(management()));  // somebody else meanwhile
      }
    }
    EXPECT_TRUE(slow.read_line().has_value());
  }
}

TEST_F(HostileManagement, MegabytesWithoutALine) {
  ManagementClient flood = client();
  const std::string block(1 << 20, 'x');
  const std::uint64_t before = value_of(daemon().usage()).resident_bytes;
  for (int i = 0; i < 32; ++i)
    ASSERT_TRUE(flood.write(block));
  ASSERT_TRUE(flood.write("\n" + kVersion + "\n"));
  EXPECT_EQ(error_code(flood), "too_long");
  EXPECT_TRUE(flood.read_line().has_value());
  EXPECT_TRUE(answers(flood));
  EXPECT_LT(value_of(daemon().usage()).resident_bytes, before + (16 << 20));
}

TEST_F(HostileManagement, DeepNesting) {
  ManagementClient deep = client();
  for (const std::string opening : {"[", "{\"a\":"}) {
    std::string line;
    while (line.size() + opening.size() < 60'000)
      line += opening;
    ASSERT_TRUE(deep.write(line + "\n"));
    const std::string code = error_code(deep);
    EXPECT_TRUE(code == "too_deep" || code == "bad_json") << code;
    EXPECT_TRUE(answers(deep));
  }
}

TEST_F(HostileManagement, Garbage) {
  ManagementClient garbage = client();
  std::mt19937 random(7);  // NOLINT: the same bytes every time
  for (int i = 0; i < 2000; ++i) {
    std::string line = kVersion;
    if (random() % 2 == 0) line.resize(1 + random() % 200);
    for (unsigned flips = 1 + random() % 8; flips > 0; --flips)
      line[random() % line.size()] = static_cast<char>(random());
    std::replace(line.begin(), line.end(), '\n', ' ');
    // An empty line has no answer, and some may still be well.
    if (line.find_first_not_of(" \t\r") == std::string::npos) continue;
    ASSERT_TRUE(garbage.write(line + "\n"));
    ASSERT_TRUE(garbage.read_line().has_value()) << line;
  }
  EXPECT_TRUE(answers(garbage));
}

// As many as the daemon takes, and more, that say nothing at all.
TEST_F(HostileManagement, Silence) {
  std::vector<ManagementClient> silent;
  for (int i = 0; i < 200; ++i) {
    Result<ManagementClient> one = daemon().management();
    if (one) silent.push_back(std::move(*one));
  }
  EXPECT_TRUE(eventually([&] {
    Result<ManagementClient> late = daemon().management();
    return late && answers(*late);
  }));
}

// It asks and asks, and reads nothing.
TEST_F(HostileManagement, AnswersThatNobodyReads) {
  const std::uint64_t before = value_of(daemon().usage()).resident_bytes;
  std::vector<ManagementClient> mute;
  std::string many;
  for (int i = 0; i < 1000; ++i)
    many += "{\"command\":\"telemetry_dump\"}\n";
  for (int i = 0; i < 10; ++i) {
    mute.push_back(client());
    // Until the daemon reads no more of it.
    for (std::size_t sent = 0; sent < many.size();) {
      const ssize_t now =
          ::send(mute.back().fd(), many.data() + sent, many.size() - sent, MSG_NOSIGNAL | MSG_DONTWAIT);
      if (now < 0) break;
      sent += static_cast<std::size_t>(now);
    }
    EXPECT_TRUE(answers(management()));
  }
  EXPECT_LT(value_of(daemon().usage()).resident_bytes, before + (64 << 20));
}

TEST_F(HostileManagement, HalfARequestAndGone) {
  for (int i = 0; i < 500; ++i) {
    ManagementClient gone = client();
    ASSERT_TRUE(gone.write(kVersion.substr(0, static_cast<std::size_t>(i) % kVersion.size())));
  }
  EXPECT_TRUE(answers(management()));
}

TEST_F(HostileManagement, AllAskedAndTheSendingSideShut) {
  ManagementClient shut = client();
  std::string requests;
  for (int i = 0; i < 50; ++i)
    requests += kVersion + "\n";
  ASSERT_TRUE(shut.write(requests + kVersion));  // the last one without its end
  ::shutdown(shut.fd(), SHUT_WR);
  for (int i = 0; i < 51; ++i)
    EXPECT_TRUE(shut.read_line().has_value());
  EXPECT_FALSE(shut.read_line().has_value());
}

}  // namespace
}  // namespace cnuas::test
