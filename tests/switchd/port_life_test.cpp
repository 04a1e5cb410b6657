// Endpoints that come, go, die and misbehave as processes do.
#include "live/posix/unix_socket.h"
#include "tests/slow_build.h"
#include "tests/switchd/shared_memory.h"
#include "tests/switchd/switch_test.h"
#include "tests/switchd/traffic.h"

#include <array>
#include <atomic>
#include <csignal>

#include <fcntl.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

namespace cnuas::test {
namespace {

class PortLife : public SwitchTest {
 protected:
  // A pair of GPUs that exchange frames meanwhile.
  void start_bystanders() {
    a_ = gpu(0);
    b_ = gpu(1);
    traffic_.emplace(*a_, gpu_at(0), *b_, gpu_at(1));
  }
  void expect_bystanders_unharmed() {
    EXPECT_TRUE(traffic_->progress());
    traffic_->stop();
    EXPECT_EQ(traffic_->faults(), std::vector<std::string>{});
    EXPECT_EQ(traffic_->received(), traffic_->sent());
    traffic_.reset();
  }
  RawEndpoint& a() { return *a_; }
  RawEndpoint& b() { return *b_; }

 private:
  std::optional<RawEndpoint> a_;
  std::optional<RawEndpoint> b_;
  std::optional<Traffic> traffic_;
};

TEST_F(PortLife, SecondEndpointIsToldWhyAndTurnedAway) {
  start();
  start_bystanders();
  for (std::uint64_t i = 1; i <= 20; ++i) {
    RawEndpoint second = connect(0);
    expect_turned_away(second);
    EXPECT_EQ(port_status(0).at("refused_busy"), i);
  }
  EXPECT_EQ(port_status(0).at("connections"), 1);
  expect_bystanders_unharmed();
}

// An endpoint that has stopped sending still receives, and costs nothing while it does.
TEST_F(PortLife, WhoeverComesAfterOneThatHasGoneIsNotTurnedAway) {
  start();
  for (int i = 0; i < 100; ++i) {
    RawEndpoint before = gpu(0);
    ASSERT_TRUE(before.send(numbered_frame(gpu_at(0), gpu_at(1), 0, 100)));
    before.close();
    RawEndpoint after = connect(0);
    after.close();
  }
  ASSERT_TRUE(eventually([&] { return port_status(0).at("connections") == 200; }));
  EXPECT_EQ(port_status(0).at("refused_busy"), 0);
}

TEST_F(PortLife, HalfOpenPeerIsDeliveredTo) {
  constexpr std::uint64_t kFrames = 200;
  start();
  start_bystanders();
  RawEndpoint listener = gpu(2);
  RawEndpoint speaker = gpu(3);
  ASSERT_TRUE(listener.send(numbered_frame(gpu_at(2), gpu_at(3), 7, 64)));
  listener.half_close();
  expect_number(speaker.receive(), 7);
  for (std::uint64_t i = 0; i < kFrames; ++i) {
    ASSERT_TRUE(speaker.send(numbered_frame(gpu_at(3), gpu_at(2), i, 1000)));
    ASSERT_NO_FATAL_FAILURE(expect_number(listener.receive(), i));
  }
  EXPECT_EQ(port_status(2).at("link_up"), true);
  expect_bystanders_unharmed();
  listener.close();
  wait_for_link(2, false);
}

TEST_F(PortLife, EndOfAStreamIsNotReadAgainAndAgain) {
  start();
  RawEndpoint half = gpu(2);
  RawEndpoint idle = gpu(3);
  half.half_close();
  // So that the end has been seen.
  ASSERT_TRUE(idle.send(numbered_frame(gpu_at(3), gpu_at(2), 1, 100)));
  expect_number(half.receive(), 1);
  const double before = value_of(daemon().usage()).cpu_seconds;
  EXPECT_TRUE(half.silent_for(std::chrono::seconds(1)));
  // One that spins takes all it can get of a processor.
  EXPECT_LT(value_of(daemon().usage()).cpu_seconds - before, 0.1);
}

// It may have been the last to speak, and then the first to go: what it said counts.
TEST_F(PortLife, WhatWasSentBeforeClosingArrives) {
  constexpr std::uint64_t kFrames = 50;
  start();
  RawEndpoint receiver = gpu(1);
  for (int round = 0; round < 50; ++round) {
    RawEndpoint sender = gpu(2);
    for (std::uint64_t i = 0; i < kFrames; ++i)
      ASSERT_TRUE(sender.send(numbered_frame(gpu_at(2), gpu_at(1), i, 300)));
    sender.close();
    for (std::uint64_t i = 0; i < kFrames; ++i)
      ASSERT_NO_FATAL_FAILURE(expect_number(receiver.receive(), i));
    wait_for_link(2, false);
  }
}

// To close with unread data resets the connection; what was sent before can still be read.
TEST_F(PortLife, WhatWasSentBeforeAResetArrives) {
  constexpr std::uint64_t kFrames = 20;
  start();
  RawEndpoint other = gpu(1);
  for (int round = 0; round < 50; ++round) {
    RawEndpoint resetting = gpu(2);
    const std::uint64_t before = telemetry().count(2, "tx_frames");
    for (std::uint64_t i = 0; i < kFrames; ++i)
      ASSERT_TRUE(other.send(numbered_frame(gpu_at(1), gpu_at(2), i, 300)));
    ASSERT_TRUE(eventually([&] { return telemetry().count(2, "tx_frames") == before + kFrames; }));
    for (std::uint64_t i = 0; i < kFrames; ++i)
      ASSERT_TRUE(resetting.send(numbered_frame(gpu_at(2), gpu_at(1), i, 300)));
    resetting.close();
    for (std::uint64_t i = 0; i < kFrames; ++i)
      ASSERT_NO_FATAL_FAILURE(expect_number(other.receive(), i));
    wait_for_link(2, false);
  }
}

// A port that comes and goes as fast as it can, without waiting to be noticed.
TEST_F(PortLife, FlappingHarmsNobody) {
  start();
  start_bystanders();
  for (int i = 0; i < 500; ++i) {
    RawEndpoint flapping = connect(2);
    // It may be turned away: the switch need not have seen yet that the last one has gone.
    if (!flapping.send_at_once(discovery(gpu_at(2)))) continue;
    flapping.send_at_once(frame(wire::FrameType::data, gpu_at(2), gpu_at(7), 100));
    flapping.send_at_once(frame(wire::FrameType::doorbell, gpu_at(2), gpu_at(3), 8));
  }
  wait_for_link(2, false);
  RawEndpoint again = gpu(2);
  RawEndpoint partner = gpu(3);
  exchange(again, gpu_at(2), partner, gpu_at(3));
  expect_bystanders_unharmed();
}

TEST_F(PortLife, FlappingOfTheAdminStateHarmsNobody) {
  start();
  start_bystanders();
  RawEndpoint flapping = gpu(2);
  RawEndpoint partner = gpu(3);
  std::uint64_t sent = 0;
  for (int i = 0; i < 200; ++i) {
    ask({{"command", "set_link_state"}, {"port", 2}, {"state", i % 2 == 0 ? "down" : "up"}});
    for (int burst = 0; burst < 5; ++burst, ++sent)
      ASSERT_TRUE(partner.send(frame(wire::FrameType::data, gpu_at(3), gpu_at(2), 100)));
  }
  wait_for_received(3, sent + 1);
  const Telemetry after = telemetry();
  EXPECT_EQ(after.count(3, "DATA", "forwarded") + after.rx_drops(3, "no_route"), sent);
  while (flapping.receive_at_once()) {
  }
  ask({{"command", "set_link_state"}, {"port", 2}, {"state", "up"}});
  exchange(flapping, gpu_at(2), partner, gpu_at(3));
  expect_bystanders_unharmed();
}

// The process is killed while it sends as fast as it can: all that send() took is there.
// Not all there is: that might never end where the sender is the faster one.
void read_some(RawEndpoint& receiver) {
  for (int i = 0; i < 200 && receiver.receive_at_once(); ++i) {
  }
}

TEST_F(PortLife, KillingAnEndpointInMidBurstLosesNothing) {
  start();
  start_bystanders();
  RawEndpoint receiver = gpu(3);
  const Shared<std::atomic<std::uint64_t>> sent;
  for (int round = 0; round < 20; ++round) {
    const std::uint64_t before = telemetry().count(2, "DATA", "rx_frames");
    *sent = 0;
    std::optional<RawEndpoint> doomed = gpu(2);
    const Bytes message = numbered_frame(gpu_at(2), gpu_at(3), 1, 1500);
    ChildProcess process = value_of(ChildProcess::start([&] {
      while (doomed->send(message))
        ++*sent;
      return 0;
    }));
    doomed.reset();  // the other process's alone
    ASSERT_TRUE(eventually([&] {
      read_some(receiver);
      return *sent > 300;
    }));
    process.kill();
    EXPECT_TRUE(eventually([&] {
      read_some(receiver);
      return port_status(2).at("link_up") == false;
    }));
    const std::uint64_t received = telemetry().count(2, "DATA", "rx_frames") - before;
    EXPECT_GE(received, *sent);
    EXPECT_LE(received, *sent + 1);  // one more may have been sent and not yet noted
  }
  expect_bystanders_unharmed();
  const Telemetry after = telemetry();
  EXPECT_EQ(after.count(3, "tx_drops") + after.count(2, "rx_drops"), 0U);
}

TEST_F(PortLife, PeerThatStopsReceivingHarmsNobody) {
  start("50 ms");
  start_bystanders();
  RawEndpoint deaf = gpu(2);
  RawEndpoint speaker = gpu(3);
  ASSERT_EQ(::shutdown(deaf.fd(), SHUT_RD), 0);
  for (int i = 0; i < 500; ++i)
    ASSERT_TRUE(speaker.send(frame(wire::FrameType::data, gpu_at(3), gpu_at(2), 2000)));
  wait_for_received(3, 501);
  // What it says is still passed on.
  ASSERT_TRUE(deaf.send(numbered_frame(gpu_at(2), gpu_at(3), 5, 100)));
  expect_number(speaker.receive(), 5);
  expect_bystanders_unharmed();
  deaf.close();
  wait_for_link(2, false);
  const Telemetry after = telemetry();
  EXPECT_EQ(after.count(2, "tx_frames") + after.count(2, "tx_drops") + after.rx_drops(3, "no_route"), 500U);
}

TEST_F(PortLife, TenThousandConnectionsLeaveNothingBehind) {
  constexpr int kWarmUp = 1000;
  constexpr int kCycles = 10'000;
  start();
  start_bystanders();
  const auto churn = [&](int cycles) {
    for (int i = 0; i < cycles; ++i) {
      const std::size_t port = 2 + static_cast<std::size_t>(i) % 7;  // 2 to 8, and the management socket
      RawEndpoint endpoint = connect(port);
      endpoint.send_at_once(discovery(gpu_at(port)));
      if (i % 7 == 0) connect_management();
    }
    for (std::size_t port = 2; port < kDataPorts; ++port)
      wait_for_link(port, false);
  };
  churn(kWarmUp);
  const ProcessUsage before = value_of(daemon().usage());
  churn(kCycles);
  EXPECT_TRUE(eventually([&] { return value_of(daemon().usage()).descriptors <= before.descriptors; }))
      << value_of(daemon().usage()).descriptors << " descriptors, before " << before.descriptors;
  if (!kSlowBuild) {
    EXPECT_LT(value_of(daemon().usage()).resident_bytes, before.resident_bytes + (1 << 20));
  }
  expect_bystanders_unharmed();
}

// Descriptors that come with a frame must neither reach the receiver nor stay open in the switch.
TEST_F(PortLife, SmuggledDescriptorsDoNotArrive) {
  start();
  RawEndpoint smuggler = gpu(2);
  RawEndpoint receiver = gpu(3);
  std::array<int, 2> pipe{};
  ASSERT_EQ(::pipe2(pipe.data(), O_CLOEXEC), 0);
  const live::UniqueFd read_end(pipe[0]);
  live::UniqueFd write_end(pipe[1]);

  Bytes bytes = numbered_frame(gpu_at(2), gpu_at(3), 9, 100);
  iovec vector{bytes.data(), bytes.size()};
  alignas(cmsghdr) std::array<char, CMSG_SPACE(sizeof(int))> control{};
  msghdr message{};
  message.msg_iov = &vector;
  message.msg_iovlen = 1;
  message.msg_control = control.data();
  message.msg_controllen = control.size();
  cmsghdr* header = CMSG_FIRSTHDR(&message);
  header->cmsg_level = SOL_SOCKET;
  header->cmsg_type = SCM_RIGHTS;
  header->cmsg_len = CMSG_LEN(sizeof(int));
  *reinterpret_cast<int*>(CMSG_DATA(header)) = write_end.get();
  constexpr int kTimes = 100;
  const std::size_t descriptors = value_of(daemon().usage()).descriptors;
  for (int i = 0; i < kTimes; ++i)
    ASSERT_EQ(::sendmsg(smuggler.fd(), &message, 0), static_cast<ssize_t>(bytes.size()));
  write_end.reset();

  for (int i = 0; i < kTimes; ++i) {
    Bytes got(bytes.size());
    iovec into{got.data(), got.size()};
    control.fill(0);
    msghdr received{};
    received.msg_iov = &into;
    received.msg_iovlen = 1;
    received.msg_control = control.data();
    received.msg_controllen = control.size();
    ASSERT_FALSE(receiver.silent_for(kGuard));
    ASSERT_EQ(::recvmsg(receiver.fd(), &received, 0), static_cast<ssize_t>(bytes.size()));
    EXPECT_EQ(CMSG_FIRSTHDR(&received), nullptr);
    EXPECT_EQ(number_of(got), 9U);
  }
  pollfd hang_up{read_end.get(), POLLIN, 0};
  EXPECT_EQ(::poll(&hang_up, 1, static_cast<int>(std::chrono::milliseconds(kGuard).count())), 1)
      << "somebody still holds the other end of the pipe";
  EXPECT_EQ(value_of(daemon().usage()).descriptors, descriptors);
}

}  // namespace
}  // namespace cnuas::test
