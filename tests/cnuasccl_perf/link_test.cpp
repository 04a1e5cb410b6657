// libcnuasccl_link at a real switch, frame by frame.
#include "live/ccl/socket/cnuasccl_link.h"
#include "live/endpoint/cnuaslink.h"
#include "tests/cnuasccl_perf/temporary_folder.h"
#include "tests/switchd/daemon_process.h"

#include <atomic>
#include <chrono>
#include <csignal>
#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <poll.h>

namespace cnuas::test {
namespace {

constexpr std::size_t kLargest = 61'480;

struct Closer {
  void operator()(cnuasccl_link* link) const { cnuasccl_link_close(link); }
  void operator()(cnuaslink* link) const { cnuaslink_close(link); }
};

class SocketLink : public testing::Test {
 protected:
  struct End {
    std::unique_ptr<cnuasccl_link, Closer> link;
    cnuasccl_link_transport transport{};
    cnuasccl_link_extension extension{};
  };

  void SetUp() override {
    DaemonSettings settings;
    settings.run_dir = folder_ / "switch";
    settings.log_file = folder_ / "log";
    Result<DaemonProcess> daemon = DaemonProcess::start(settings);
    ASSERT_TRUE(daemon) << daemon.error().message;
    daemon_.emplace(std::move(*daemon));
  }

  cnuasccl_link_options options(unsigned port) {
    run_dir_ = folder_ / "switch";
    cnuasccl_link_options options;
    cnuasccl_link_options_init(&options, sizeof options);
    options.run_dir = run_dir_.c_str();
    options.port = port;
    options.gpu_id = static_cast<std::uint16_t>(0x0100 + port);
    options.connect_timeout_ns = 60'000'000'000;
    return options;
  }

  End open(unsigned port) {
    End end;
    cnuasccl_link* link = nullptr;
    char why[256];
    const cnuasccl_link_options wanted = options(port);
    EXPECT_EQ(cnuasccl_link_open(&wanted, &link, why, sizeof why), CNUASCCL_OK) << why;
    end.link.reset(link);
    EXPECT_EQ(cnuasccl_link_use(link, &end.transport, &end.extension, sizeof end.extension), CNUASCCL_OK);
    return end;
  }

  static cnuasccl_status_t send(End& end, std::uint16_t to, const std::string& text) {
    cnuasccl_status_t status = CNUASCCL_AGAIN;
    eventually([&] {
      status = end.transport.send(to, text.data(), text.size(), end.transport.context);
      return status != CNUASCCL_AGAIN;
    });
    return status;
  }

  struct Received {
    cnuasccl_status_t status = CNUASCCL_AGAIN;
    std::uint16_t source = 0;
    std::size_t bytes = 0;
    std::string text;
  };
  static Received receive(End& end, std::size_t capacity = kLargest + 1) {
    Received got;
    got.text.resize(capacity);
    eventually([&] {
      got.status =
          end.transport.recv(&got.source, got.text.data(), capacity, &got.bytes, end.transport.context);
      return got.status != CNUASCCL_AGAIN;
    });
    if (got.bytes < capacity) got.text.resize(got.bytes);
    return got;
  }

  TemporaryFolder folder_;
  std::string run_dir_;
  std::optional<DaemonProcess> daemon_;
};

TEST_F(SocketLink, CarriesFramesInOrder) {
  End a = open(0);
  End b = open(1);
  std::uint16_t gpu = 0;
  EXPECT_EQ(b.transport.local_gpu(&gpu, b.transport.context), CNUASCCL_OK);
  EXPECT_EQ(gpu, 0x0101);
  const std::string large(kLargest, 'x');
  for (const std::string& text : {std::string("first"), large, std::string()})
    ASSERT_EQ(send(a, 0x0101, text), CNUASCCL_OK);
  for (const std::string& text : {std::string("first"), large, std::string()}) {
    const Received got = receive(b);
    ASSERT_EQ(got.status, CNUASCCL_OK);
    EXPECT_EQ(got.source, 0x0100);
    EXPECT_EQ(got.text, text);
  }
  std::uint16_t source = 0;
  std::size_t bytes = 0;
  char none[8];
  EXPECT_EQ(b.transport.recv(&source, none, sizeof none, &bytes, b.transport.context), CNUASCCL_AGAIN);
}

TEST_F(SocketLink, JoinsTwoPieces) {
  End a = open(0);
  End b = open(1);
  const std::string body(kLargest - 4, 'b');
  const std::vector<cnuasccl_frame> frames(10, {"head", 4, body.data(), body.size()});
  std::size_t sent = 0;
  ASSERT_EQ(a.extension.send_many(0x0101, frames.data(), frames.size(), &sent, a.transport.context),
            CNUASCCL_OK);
  EXPECT_EQ(sent, frames.size());
  for (std::size_t i = 0; i < sent; ++i)
    ASSERT_EQ(receive(b).text, "head" + body);
  const std::string too_much(cnuaslink_max_message(cnuasccl_link_endpoint(a.link.get())) - 4, 'b');
  const cnuasccl_frame too_large[] = {{"heads", 5, "", 0}, {"heads", 5, too_much.data(), too_much.size()}};
  EXPECT_EQ(a.extension.send_many(0x0101, too_large, 2, &sent, a.transport.context),
            CNUASCCL_INVALID_ARGUMENT);
  EXPECT_EQ(sent, 1u);
  EXPECT_EQ(receive(b).text, "heads");
}

TEST_F(SocketLink, LendsFramesUntilTheyAreGivenBack) {
  End a = open(0);
  End b = open(1);
  const std::vector<std::string> sent{"first", std::string(kLargest, 'x'), "third"};
  for (const std::string& text : sent)
    ASSERT_EQ(send(a, 0x0101, text), CNUASCCL_OK);
  struct Lent {
    const void* frame = nullptr;
    std::size_t bytes = 0;
  };
  std::vector<Lent> lent;
  for (std::size_t i = 0; i < sent.size(); ++i) {
    Lent each;
    std::uint16_t source = 0;
    ASSERT_EQ(b.extension.borrow(&source, &each.frame, &each.bytes, 60'000'000'000, b.transport.context),
              CNUASCCL_OK);
    EXPECT_EQ(source, 0x0100);
    lent.push_back(each);
  }
  for (std::size_t i = 0; i < sent.size(); ++i)  // all are there still
    EXPECT_EQ(std::string(static_cast<const char*>(lent[i].frame), lent[i].bytes), sent[i]);
  for (const Lent& each : lent)
    b.extension.give_back(each.frame, b.transport.context);
  std::uint16_t source = 0;
  Lent none;
  EXPECT_EQ(b.extension.borrow(&source, &none.frame, &none.bytes, 0, b.transport.context), CNUASCCL_AGAIN);
}

TEST_F(SocketLink, CutsWhatDoesNotFit) {
  End a = open(0);
  End b = open(1);
  ASSERT_EQ(send(a, 0x0101, "longer than that"), CNUASCCL_OK);
  ASSERT_EQ(send(a, 0x0101, "next"), CNUASCCL_OK);
  const Received got = receive(b, 6);
  EXPECT_EQ(got.status, CNUASCCL_OK);
  EXPECT_EQ(got.bytes, 16u);
  EXPECT_EQ(got.text, "longer");
  EXPECT_EQ(receive(b).text, "next");
}

TEST_F(SocketLink, DropsAndCountsFramesThatAreNone) {
  End a = open(0);
  End b = open(1);
  const cnuaslink_outgoing others[] = {{0x0101, CNUASLINK_COLLECTIVE_REDUCE, "r", 1},
                                       {0xFFFF, CNUASLINK_DATA, "a", 1}};
  ASSERT_EQ(cnuaslink_send_many(cnuasccl_link_endpoint(a.link.get()), others, 2, nullptr, -1), CNUASLINK_OK);
  ASSERT_EQ(send(a, 0x0101, "mine"), CNUASCCL_OK);
  EXPECT_EQ(receive(b).text, "mine");
  EXPECT_EQ(cnuasccl_link_dropped(b.link.get()), 2u);
}

// However many of them come, whoever waits gets to look at the clock.
TEST_F(SocketLink, DoesNotPassOverFramesWithoutEnd) {
  End a = open(0);
  End b = open(1);
  constexpr std::uint64_t kStrays = 100;
  const std::vector<cnuaslink_outgoing> strays(kStrays, {0x0101, CNUASLINK_COLLECTIVE_REDUCE, "r", 1});
  ASSERT_EQ(
      cnuaslink_send_many(cnuasccl_link_endpoint(a.link.get()), strays.data(), strays.size(), nullptr, -1),
      CNUASLINK_OK);
  ASSERT_EQ(send(a, 0x0101, "mine"), CNUASCCL_OK);
  std::uint16_t source = 0;
  const void* frame = nullptr;
  std::size_t bytes = 0;
  cnuasccl_status_t status = CNUASCCL_AGAIN;
  std::uint64_t calls = 0;
  eventually([&] {
    ++calls;
    status = b.extension.borrow(&source, &frame, &bytes, 1'000'000'000, b.transport.context);
    return status != CNUASCCL_AGAIN;
  });
  ASSERT_EQ(status, CNUASCCL_OK);
  EXPECT_EQ(std::string(static_cast<const char*>(frame), bytes), "mine");
  b.extension.give_back(frame, b.transport.context);
  EXPECT_GT(calls, 1u);
  EXPECT_EQ(cnuasccl_link_dropped(b.link.get()), kStrays);
}

TEST_F(SocketLink, DescriptorIsReadableWhileThereIsSomething) {
  End a = open(0);
  End b = open(1);
  const int descriptor = b.extension.descriptor(b.transport.context);
  ASSERT_GE(descriptor, 0);
  ASSERT_EQ(send(a, 0x0101, "x"), CNUASCCL_OK);
  pollfd entry{descriptor, POLLIN, 0};
  EXPECT_EQ(::poll(&entry, 1, 60'000), 1);
  EXPECT_EQ(receive(b).text, "x");
}

// What arrives while nobody calls is read all the same.
TEST_F(SocketLink, ReadsWhileTheProgramDoesSomethingElse) {
  End a = open(0);
  End b = open(1);
  ASSERT_EQ(send(a, 0x0101, "x"), CNUASCCL_OK);
  EXPECT_TRUE(eventually([&] {
    cnuaslink_state state{};
    state.struct_bytes = sizeof state;
    return cnuaslink_status(cnuasccl_link_endpoint(b.link.get()), &state) == CNUASLINK_OK &&
           state.held_messages == 1;
  }));
  EXPECT_EQ(receive(b).text, "x");
}

TEST_F(SocketLink, FailsWhenTheSwitchIsGone) {
  End a = open(0);
  EXPECT_NE(a.extension.available(a.transport.context), 0);
  daemon_->process().kill();
  EXPECT_EQ(receive(a).status, CNUASCCL_LINK_FAILED);
  EXPECT_EQ(send(a, 0x0101, "x"), CNUASCCL_LINK_FAILED);
  EXPECT_EQ(a.extension.available(a.transport.context), 0);
}

TEST_F(SocketLink, OpensOverAnEndpointOfTheCaller) {
  cnuaslink_options wanted;
  cnuaslink_options_init(&wanted, sizeof wanted);
  const std::string run_dir = folder_ / "switch";
  wanted.run_dir = run_dir.c_str();
  wanted.port = 2;
  wanted.gpu_id = 0x0102;
  wanted.connect_timeout_ns = 60'000'000'000;
  cnuaslink* opened = nullptr;
  ASSERT_EQ(cnuaslink_open(&wanted, &opened, nullptr), CNUASLINK_OK);
  const std::unique_ptr<cnuaslink, Closer> endpoint(opened);
  for (int i = 0; i < 2; ++i) {
    cnuasccl_link* link = nullptr;
    ASSERT_EQ(cnuasccl_link_wrap(endpoint.get(), &link), CNUASCCL_OK);
    EXPECT_EQ(cnuasccl_link_endpoint(link), endpoint.get());
    cnuasccl_link_close(link);
  }
  EXPECT_EQ(cnuaslink_id(endpoint.get()), 0x0102);
}

// Frames that are lent, and not due, may be many: with less room the one that is due would never be read.
TEST_F(SocketLink, RefusesAnEndpointThatHoldsTooLittle) {
  const std::string run_dir = folder_ / "switch";
  const auto refused = [&](const std::function<void(cnuaslink_options&)>& change) {
    cnuaslink_options wanted;
    cnuaslink_options_init(&wanted, sizeof wanted);
    wanted.run_dir = run_dir.c_str();
    wanted.gpu_id = 0x0100;
    wanted.connect_timeout_ns = 60'000'000'000;
    change(wanted);
    cnuaslink* opened = nullptr;
    cnuaslink_error why{};
    eventually([&] { return cnuaslink_open(&wanted, &opened, &why) != CNUASLINK_BUSY; });
    ASSERT_NE(opened, nullptr) << why.text;
    const std::unique_ptr<cnuaslink, Closer> endpoint(opened);
    cnuasccl_link* link = nullptr;
    EXPECT_EQ(cnuasccl_link_wrap(endpoint.get(), &link), CNUASCCL_INVALID_ARGUMENT);
    EXPECT_EQ(link, nullptr);
  };
  refused([](cnuaslink_options& wanted) { wanted.receive_bytes = 4 << 20; });
  refused([](cnuaslink_options& wanted) { wanted.receive_bytes_per_source = 4 << 20; });
  refused([](cnuaslink_options& wanted) { wanted.receive_policy = CNUASLINK_RECEIVE_DROPS; });
  refused([](cnuaslink_options& wanted) { wanted.frame_bytes = 1024; });
}

TEST_F(SocketLink, IsTheGpuOfItsPortUnlessSaidOtherwise) {
  cnuasccl_link* link = nullptr;
  cnuasccl_link_options wanted = options(5);
  wanted.gpu_id = 0;
  ASSERT_EQ(cnuasccl_link_open(&wanted, &link, nullptr, 0), CNUASCCL_OK);
  EXPECT_EQ(cnuaslink_id(cnuasccl_link_endpoint(link)), 0x0105);
  cnuasccl_link_close(link);
}

TEST_F(SocketLink, WaitsUntilThereIsAWayToAGpu) {
  const End a = open(0);
  char why[256];
  const std::uint16_t gpus[] = {0x0100, 0x0103};
  EXPECT_EQ(cnuasccl_link_wait_for(a.link.get(), gpus, 1, 0, why, sizeof why), CNUASCCL_OK) << "itself";
  EXPECT_EQ(cnuasccl_link_wait_for(a.link.get(), gpus, 2, 10'000'000, why, sizeof why), CNUASCCL_TIMEOUT);
  EXPECT_THAT(why, testing::HasSubstr("1/3"));
  End b;
  std::thread later([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    b = open(3);
    EXPECT_EQ(cnuasccl_link_wait_for(b.link.get(), gpus, 2, 60'000'000'000, nullptr, 0), CNUASCCL_OK);
  });
  EXPECT_EQ(cnuasccl_link_wait_for(a.link.get(), gpus, 2, 60'000'000'000, why, sizeof why), CNUASCCL_OK)
      << why;
  later.join();
  EXPECT_EQ(cnuasccl_link_wait_for(nullptr, gpus, 2, 0, nullptr, 0), CNUASCCL_INVALID_ARGUMENT);
  EXPECT_EQ(cnuasccl_link_wait_for(a.link.get(), nullptr, 1, 0, nullptr, 0), CNUASCCL_INVALID_ARGUMENT);
  EXPECT_EQ(cnuasccl_link_wait_for(a.link.get(), gpus, 2, -1, nullptr, 0), CNUASCCL_INVALID_ARGUMENT);
  const std::uint16_t none[] = {0};
  EXPECT_EQ(cnuasccl_link_wait_for(a.link.get(), none, 1, 0, nullptr, 0), CNUASCCL_INVALID_ARGUMENT);
}

// A signal is for the threads of the program, not for the one that reads.
TEST_F(SocketLink, ItsThreadTakesNoSignals) {
  static std::atomic<int> taken;
  static std::atomic<bool> elsewhere;
  taken = 0;
  elsewhere = false;
  static thread_local bool own = false;
  own = true;
  const End end = open(0);
  struct sigaction action {};
  struct sigaction before {};
  action.sa_handler = [](int) {
    if (!own) elsewhere = true;
    ++taken;
  };
  ASSERT_EQ(sigaction(SIGUSR1, &action, &before), 0);
  sigset_t one;
  sigemptyset(&one);
  sigaddset(&one, SIGUSR1);
  pthread_sigmask(SIG_BLOCK, &one, nullptr);
  kill(getpid(), SIGUSR1);
  std::this_thread::sleep_for(std::chrono::milliseconds(20));
  EXPECT_EQ(taken, 0);
  pthread_sigmask(SIG_UNBLOCK, &one, nullptr);
  EXPECT_EQ(taken, 1);
  EXPECT_FALSE(elsewhere);
  sigaction(SIGUSR1, &before, nullptr);
}

TEST_F(SocketLink, SaysWhyItCannotOpen) {
  cnuasccl_link* link = nullptr;
  char why[256];
  cnuasccl_link_options wanted = options(0);
  const std::string nowhere = folder_ / "nowhere";
  wanted.run_dir = nowhere.c_str();
  EXPECT_EQ(cnuasccl_link_open(&wanted, &link, why, sizeof why), CNUASCCL_LINK_FAILED);
  EXPECT_THAT(why, testing::HasSubstr("nowhere/port_0.sock"));
  EXPECT_EQ(link, nullptr);
  wanted = options(0);
  wanted.gpu_id = 0xFFFF;
  EXPECT_EQ(cnuasccl_link_open(&wanted, &link, why, sizeof why), CNUASCCL_INVALID_ARGUMENT);
  wanted = options(0);
  wanted.connect_timeout_ns = 0;
  EXPECT_EQ(cnuasccl_link_open(&wanted, &link, nullptr, 0), CNUASCCL_INVALID_ARGUMENT);
  EXPECT_EQ(cnuasccl_link_open(nullptr, &link, nullptr, 0), CNUASCCL_INVALID_ARGUMENT);
  const End first = open(0);
  wanted = options(0);
  EXPECT_EQ(cnuasccl_link_open(&wanted, &link, why, sizeof why), CNUASCCL_LINK_FAILED);
  EXPECT_THAT(why, testing::HasSubstr("has an endpoint already"));
  EXPECT_EQ(cnuasccl_link_wrap(nullptr, &link), CNUASCCL_INVALID_ARGUMENT);
  EXPECT_EQ(cnuasccl_link_use(nullptr, nullptr, nullptr, 0), CNUASCCL_INVALID_ARGUMENT);
  cnuasccl_link_close(nullptr);
}

}  // namespace
}  // namespace cnuas::test
