// The management socket with clients that behave, and with those that do not.

#include "tests/management/desk_server.h"

#include <algorithm>
#include <deque>
#include <map>

#include <fcntl.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <unistd.h>

namespace cnuas::live {
namespace {

using Json = nlohmann::json;

const std::string kVersion = R"({"command":"version","id":1})";

std::string clear(int id) {
  return R"({"command":"telemetry_clear","id":)" + std::to_string(id) + "}\n";
}

std::string code(const Json& answer) {
  return answer.is_object() && answer.contains("error") ? answer["error"].value("code", "?") : "none";
}

int open_descriptors() {
  int count = 0;
  for (const auto& each : std::filesystem::directory_iterator("/proc/self/fd"))
    if (each.is_symlink()) ++count;
  return count;
}

TEST(ManagementServerTest, AnswersAndKeepsTheConnection) {
  DeskServer desk;
  Caller caller = desk.call();
  for (int i = 0; i < 3; ++i) {
    EXPECT_EQ(desk.ask(caller, kVersion)["result"]["program"], "fake-switchd");
    EXPECT_EQ(code(desk.ask(caller, "nonsense")), "bad_json");
  }
  EXPECT_EQ(desk.server->clients(), 1u);
  EXPECT_EQ(desk.server->counts().requests, 6u);
  caller.hang_up();
  EXPECT_TRUE(desk.run_until_clients(0));
}

TEST(ManagementServerTest, FragmentsAreOneRequest) {
  DeskServer desk;
  Caller caller = desk.call();
  for (const char each : kVersion + "\n") {
    EXPECT_EQ(caller.send({&each, 1}), 1);
    ASSERT_TRUE(desk.loop.run_once(monotonic_now() + kMillisecond));
  }
  EXPECT_TRUE(desk.run_until([&] {
    caller.listen();
    return caller.lines() == 1;
  }));
  EXPECT_EQ(caller.take()["ok"], true);
}

TEST(ManagementServerTest, ManyRequestsInOnePacketAreAnsweredInOrder) {
  DeskServer desk;
  Caller caller = desk.call();
  std::string packet;
  constexpr int kRequests = 500;
  for (int i = 0; i < kRequests; ++i)
    packet += clear(i) + "\n";  // and a blank line
  EXPECT_EQ(caller.send(packet), static_cast<ssize_t>(packet.size()));
  EXPECT_TRUE(desk.run_until([&] {
    caller.listen();
    return caller.lines() == kRequests;
  }));
  for (int i = 0; i < kRequests; ++i)
    EXPECT_EQ(caller.take()["id"], i);
  EXPECT_EQ(desk.managed.changes, kRequests);
}

TEST(ManagementServerTest, AClientThatHasSaidAllGetsItsAnswers) {
  DeskServer desk;
  Caller caller = desk.call();
  caller.send(clear(1) + clear(2) + R"({"command":"version","id":3})");  // without a newline
  caller.end_sending();
  EXPECT_TRUE(desk.run_until([&] {
    caller.listen();
    return caller.ended();
  }));
  EXPECT_EQ(caller.lines(), 3u);
  EXPECT_EQ(caller.take()["id"], 1);
  EXPECT_EQ(caller.take()["id"], 2);
  EXPECT_EQ(caller.take()["result"]["pid"], 42);
  EXPECT_EQ(desk.server->clients(), 0u);
}

TEST(ManagementServerTest, AClientThatAsksAndHangsUpIsForgotten) {
  DeskServer desk;
  for (int i = 0; i < 50; ++i) {
    Caller caller = desk.call();
    caller.send(kVersion + "\n" + kVersion + "\n" + kVersion);
    if (i % 2 == 0) desk.run_until_clients(1);
  }
  EXPECT_TRUE(
      desk.run_until([&] { return desk.server->counts().connections == 50 && desk.server->clients() == 0; }));
}

TEST(ManagementServerTest, TooLongALineIsSaidOnceAndPassedOver) {
  DeskServer desk;
  Caller caller = desk.call();
  std::string line(3'000'000, 'x');
  line += "\n" + kVersion + "\n";
  std::size_t sent = 0;
  EXPECT_TRUE(desk.run_until([&] {
    if (sent < line.size())
      sent += static_cast<std::size_t>(caller.send(std::string_view(line).substr(sent)));
    caller.listen();
    return caller.lines() == 2;
  }));
  EXPECT_EQ(code(caller.take()), "too_long");
  EXPECT_EQ(caller.take()["ok"], true);
  EXPECT_EQ(desk.server->counts().requests, 2u);
}

TEST(ManagementServerTest, TooLongALineIsRefusedBeforeItEnds) {
  DeskServer desk;
  Caller caller = desk.call();
  const std::string most(65'536, ' ');
  EXPECT_EQ(caller.send(most), 65'536);
  ASSERT_TRUE(desk.run_until_clients(1));
  for (int i = 0; i < 20; ++i)
    ASSERT_TRUE(desk.loop.run_once(monotonic_now() + kMillisecond));
  caller.listen();
  EXPECT_EQ(caller.lines(), 0u);
  EXPECT_EQ(caller.send("x"), 1);
  EXPECT_TRUE(desk.run_until([&] {
    caller.listen();
    return caller.lines() == 1;
  }));
  EXPECT_EQ(code(caller.take()), "too_long");
}

// A rack whose telemetry is a long answer.
fabric_switch::SwitchConfig many_ports() {
  fabric_switch::SwitchConfig config;
  config.ports.resize(300);
  return config;
}

TEST(ManagementServerTest, WhoDoesNotReadIsNotReadFrom) {
  DeskServer desk({}, many_ports());
  Caller deaf = desk.call();
  Caller other = desk.call();
  // As many requests as the socket takes. Long ones: each is worth half a megabyte of answer.
  const std::string request = R"({"command":"telemetry_dump"})" + std::string(40'000, ' ') + "\n";
  std::string unsent;
  std::uint64_t requests = 0;
  for (int refused = 0; refused < 200;) {
    if (unsent.empty()) {
      unsent = request;
      ++requests;
    }
    const ssize_t sent = deaf.send(unsent);
    ASSERT_GE(sent, 0);
    unsent.erase(0, static_cast<std::size_t>(sent));
    refused = sent > 0 ? 0 : refused + 1;
    ASSERT_TRUE(desk.loop.run_once(monotonic_now()));
  }
  EXPECT_LT(desk.server->counts().requests, 5u);
  EXPECT_LT(requests, 20u);
  // Meanwhile others are answered, and when it reads it gets all of it.
  EXPECT_EQ(desk.ask(other, kVersion)["ok"], true);
  EXPECT_TRUE(desk.run_until([&] {
    if (!unsent.empty()) unsent.erase(0, static_cast<std::size_t>(deaf.send(unsent)));
    deaf.listen();
    return deaf.lines() == requests;
  }));
  for (std::uint64_t i = 0; i < requests; ++i)
    ASSERT_EQ(deaf.take()["result"]["ports"].size(), 300u);
  EXPECT_EQ(desk.server->clients(), 2u);
}

TEST(ManagementServerTest, WhoTakesNothingForLongIsClosed) {
  ManagementLimits limits;
  limits.stuck_ps = 20 * kMillisecond;
  DeskServer desk(limits, many_ports());
  Caller deaf = desk.call();
  Caller idle = desk.call();
  deaf.send(R"({"command":"telemetry_dump"})"
            "\n");
  ASSERT_TRUE(desk.run_until_clients(2));
  EXPECT_TRUE(desk.run_until_clients(1));
  EXPECT_EQ(desk.server->counts().stuck, 1u);
  EXPECT_EQ(desk.ask(idle, kVersion)["ok"], true);
  deaf.listen();
  EXPECT_TRUE(deaf.ended());
}

TEST(ManagementServerTest, AClientMayBeIdle) {
  ManagementLimits limits;
  limits.stuck_ps = kMillisecond;
  limits.idle_ps = 0;
  DeskServer desk(limits);
  Caller idle = desk.call();
  Caller half = desk.call();
  half.send(kVersion.substr(0, 10));
  ASSERT_TRUE(desk.run_until_clients(2));
  for (int i = 0; i < 30; ++i)
    ASSERT_TRUE(desk.loop.run_once(monotonic_now() + kMillisecond));
  EXPECT_EQ(desk.server->clients(), 2u);
  EXPECT_EQ(desk.ask(half, kVersion.substr(10))["ok"], true);
}

TEST(ManagementServerTest, WithoutRoomANewClientIsTurnedAway) {
  ManagementLimits limits;
  limits.clients = 4;
  limits.idle_ps = kNever / 2;
  DeskServer desk(limits);
  std::deque<Caller> callers;
  for (int i = 0; i < 4; ++i)
    callers.push_back(desk.call());
  ASSERT_TRUE(desk.run_until_clients(4));
  for (int i = 0; i < 3; ++i) {
    Caller late = desk.call();
    ASSERT_TRUE(desk.run_until([&] {
      late.listen();
      return late.ended();
    }));
    EXPECT_EQ(code(late.take()), "busy");
  }
  EXPECT_EQ(desk.server->counts().busy, 3u);
  for (Caller& caller : callers)
    EXPECT_EQ(desk.ask(caller, kVersion)["ok"], true);
  callers.pop_back();
  ASSERT_TRUE(desk.run_until_clients(3));
  Caller next = desk.call();
  EXPECT_EQ(desk.ask(next, kVersion)["ok"], true);
}

TEST(ManagementServerTest, TheLongestIdleClientMakesRoom) {
  ManagementLimits limits;
  limits.clients = 3;
  limits.idle_ps = 0;
  DeskServer desk(limits);
  std::deque<Caller> callers;
  for (int i = 0; i < 3; ++i) {
    callers.push_back(desk.call());
    EXPECT_EQ(desk.ask(callers.back(), kVersion)["ok"], true);
  }
  EXPECT_EQ(desk.ask(callers[0], kVersion)["ok"], true);  // now the second is the longest idle one
  Caller late = desk.call();
  EXPECT_EQ(desk.ask(late, kVersion)["ok"], true);
  EXPECT_EQ(desk.server->counts().displaced, 1u);
  callers[1].listen();
  EXPECT_TRUE(callers[1].ended());
  EXPECT_EQ(desk.ask(callers[0], kVersion)["ok"], true);
  EXPECT_EQ(desk.ask(callers[2], kVersion)["ok"], true);
}

TEST(ManagementServerTest, ThoseWhoHaveGoneTakeNobodysPlace) {
  ManagementLimits limits;
  limits.clients = 4;
  limits.idle_ps = 0;
  DeskServer desk(limits);
  Caller steady = desk.call();
  EXPECT_EQ(desk.ask(steady, kVersion)["ok"], true);
  for (int i = 0; i < 100; ++i) {  // all in one round, while the server is busy elsewhere
    Caller gone = desk.call();
    gone.send(i % 2 == 0 ? kVersion + "\n" : kVersion.substr(0, 5));
  }
  Caller last = desk.call();
  EXPECT_EQ(desk.ask(last, kVersion)["ok"], true);
  EXPECT_EQ(desk.ask(steady, kVersion)["ok"], true);
  EXPECT_EQ(desk.server->counts().busy, 0u);
  EXPECT_EQ(desk.server->counts().displaced, 0u);
  EXPECT_EQ(desk.server->counts().connections, 102u);
}

TEST(ManagementServerTest, StrangersAreDenied) {
  DeskServer desk;
  std::vector<uid_t> asked;
  bool allowed = false;
  desk.allow = [&](const PeerCredentials& peer) {
    asked.push_back(peer.uid);
    return allowed;
  };
  Caller stranger = desk.call();
  stranger.send(R"({"command":"telemetry_clear"})"
                "\n");
  ASSERT_TRUE(desk.run_until([&] {
    stranger.listen();
    return stranger.ended();
  }));
  EXPECT_EQ(code(stranger.take()), "denied");
  EXPECT_EQ(stranger.lines(), 0u);
  EXPECT_EQ(desk.managed.changes, 0);
  EXPECT_EQ(desk.server->clients(), 0u);
  EXPECT_EQ(desk.server->counts().denied, 1u);
  allowed = true;
  Caller friendly = desk.call();
  EXPECT_EQ(desk.ask(friendly, kVersion)["ok"], true);
  EXPECT_EQ(asked, (std::vector<uid_t>{::getuid(), ::getuid()}));
}

// A talker with requests without end, and others: in each round of the loop everybody has a turn, and what
// else is on the loop is served between.
TEST(ManagementServerTest, OneClientDoesNotHoldUpOthers) {
  ManagementLimits limits;
  limits.slice_ps = 0;  // one request a round
  DeskServer desk(limits);
  std::deque<Caller> talkers;
  std::string packet;
  for (int i = 0; i < 200; ++i)
    packet += clear(i);
  for (int i = 0; i < 4; ++i) {
    talkers.push_back(desk.call());
    talkers.back().send(packet);
  }
  ASSERT_TRUE(desk.run_until([&] { return desk.server->counts().requests >= 50; }));
  const auto answered = [&](Caller& caller) {
    caller.listen();
    return caller.lines();
  };
  for (Caller& talker : talkers)
    EXPECT_NEAR(static_cast<double>(answered(talker)), 12.5, 3);
  Caller late = desk.call();
  const std::uint64_t before = desk.server->counts().requests;
  EXPECT_EQ(desk.ask(late, kVersion)["ok"], true);
  EXPECT_LT(desk.server->counts().requests - before, 20u);
}

TEST(ManagementServerTest, OneRoundAnswersAsManyAsItsSliceAllows) {
  ManagementLimits limits;
  limits.slice_ps = 0;
  DeskServer desk(limits);
  Caller caller = desk.call();
  std::string packet;
  for (int i = 0; i < 100; ++i)
    packet += clear(i);
  caller.send(packet);
  ASSERT_TRUE(desk.run_until([&] { return desk.server->counts().requests >= 10; }));
  ASSERT_LT(desk.server->counts().requests, 15u);
  for (int i = 0; i < 20; ++i) {
    const std::uint64_t before = desk.server->counts().requests;
    ASSERT_TRUE(desk.loop.run_once(monotonic_now()));
    EXPECT_LE(desk.server->counts().requests - before, 1u);
  }
}

TEST(ManagementServerTest, NobodyConnectedMeansNothingToDo) {
  DeskServer desk;
  {
    Caller caller = desk.call();
    desk.ask(caller, kVersion);
    caller.send("half");
    caller.end_sending();
    desk.run_until_clients(0);
  }
  // No timer and no event is left: the loop waits until it is told to stop.
  const Picoseconds from = monotonic_now();
  ASSERT_TRUE(desk.loop.run_once(from + 30 * kMillisecond));
  EXPECT_GE(monotonic_now(), from + 30 * kMillisecond);
}

TEST(ManagementServerTest, ThousandsOfConnectionsLeaveNothingBehind) {
  DeskServer desk;
  Caller steady = desk.call();
  EXPECT_EQ(desk.ask(steady, kVersion)["ok"], true);
  const int before = open_descriptors();
  for (int i = 0; i < 10'000; ++i) {
    Caller caller = desk.call();
    switch (i % 5) {
      case 0:
        break;
      case 1:
        caller.send("{");
        break;
      case 2:
        caller.send(kVersion + "\n");
        break;
      case 3:
        caller.end_sending();
        break;
      case 4:
        desk.ask(caller, kVersion);
        break;
    }
    if (i % 16 == 0) {
      ASSERT_TRUE(desk.loop.run_once(monotonic_now()));
    }
  }
  EXPECT_TRUE(desk.run_until(
      [&] { return desk.server->counts().connections == 10'001 && desk.server->clients() == 1; }));
  EXPECT_EQ(open_descriptors(), before);
  EXPECT_EQ(desk.ask(steady, kVersion)["ok"], true);
}

TEST(ManagementServerTest, ItsEndClosesAll) {
  const int before = open_descriptors();
  {
    DeskServer desk;
    Caller a = desk.call();
    Caller b = desk.call();
    desk.ask(a, kVersion);
    b.send(kVersion + "\n" + kVersion + "\n");
    desk.run_until_clients(2);
    desk.server.reset();
    for (int i = 0; i < 3; ++i)
      ASSERT_TRUE(desk.loop.run_once(monotonic_now()));
    a.listen();
    EXPECT_TRUE(a.ended());
  }
  EXPECT_EQ(open_descriptors(), before);
}

// Leaves the process with no descriptor to open.
class NoDescriptors {
 public:
  NoDescriptors() {
    ::getrlimit(RLIMIT_NOFILE, &before_);
    rlimit few = before_;
    few.rlim_cur = 128;
    ::setrlimit(RLIMIT_NOFILE, &few);
    while (true) {
      UniqueFd fd(::open("/dev/null", O_RDONLY | O_CLOEXEC));
      if (!fd) break;
      taken_.push_back(std::move(fd));
    }
  }
  ~NoDescriptors() { ::setrlimit(RLIMIT_NOFILE, &before_); }
  void give_back(std::size_t count) { taken_.resize(taken_.size() - count); }

 private:
  rlimit before_{};
  std::vector<UniqueFd> taken_;
};

TEST(ManagementServerTest, WithoutDescriptorsClientsAreTurnedAway) {
  DeskServer desk;
  Caller steady = desk.call();
  EXPECT_EQ(desk.ask(steady, kVersion)["ok"], true);
  Caller late = desk.call();  // connected, and waiting to be accepted
  Caller later = desk.call();
  NoDescriptors none;
  ASSERT_TRUE(desk.run_until([&] {
    late.listen();
    later.listen();
    return late.ended() && later.ended();
  }));
  EXPECT_EQ(code(late.take()), "busy");
  EXPECT_EQ(code(later.take()), "busy");
  EXPECT_EQ(desk.ask(steady, kVersion)["ok"], true);
  EXPECT_EQ(desk.server->clients(), 1u);
  none.give_back(2);
  Caller next = desk.call();
  EXPECT_EQ(desk.ask(next, kVersion)["ok"], true);
}

}  // namespace
}  // namespace cnuas::live
