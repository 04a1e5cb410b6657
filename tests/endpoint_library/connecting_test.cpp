// Opening, being refused, losing the switch and finding it again.

#include "live/posix/unix_socket.h"
#include "tests/endpoint_library/fixture.h"

#include <csignal>
#include <cstring>
#include <fstream>
#include <thread>

#include <poll.h>
#include <sys/socket.h>

namespace cnuas::live::test {
namespace {

class Connecting : public LinkTest {
 protected:
  cnuaslink_result refused(const cnuaslink_options& options) {
    cnuaslink* link = reinterpret_cast<cnuaslink*>(this);  // must be overwritten
    const cnuaslink_result result = cnuaslink_open(&options, &link, &error_);
    EXPECT_EQ(link, nullptr);
    EXPECT_EQ(error_.result, result);
    return result;
  }
  cnuaslink_error error_{};
};

TEST_F(Connecting, AnnouncesItself) {
  start_relay();
  const LinkHandle link = open(2);
  EXPECT_EQ(cnuaslink_id(link.get()), 0x0103);
  EXPECT_EQ(state(link).link, CNUASLINK_UP);
  EXPECT_EQ(counters(link).announcements_sent, 1u);
  EXPECT_EQ(cnuaslink_max_message(link.get()), 65'524u);
  relay_->with_switch([](fabric_switch::Switch& self) {
    EXPECT_EQ(self.status(2).gpu, GpuId{0x0103});
    EXPECT_EQ(self.status(2).order, wire::ByteOrder::big);
  });
}

TEST_F(Connecting, SpeaksLittleEndianWhenToldTo) {
  start_relay();
  cnuaslink_options little = options(1);
  little.byte_order = CNUASLINK_LITTLE_ENDIAN;
  const LinkHandle link = open(little);
  relay_->with_switch([](fabric_switch::Switch& self) {
    EXPECT_EQ(self.status(1).gpu, GpuId{0x0102});
    EXPECT_EQ(self.status(1).order, wire::ByteOrder::little);
  });
  const LinkHandle other = open(0);
  ASSERT_EQ(send(other, gpu(1), "from big to little"), CNUASLINK_OK);
  EXPECT_EQ(receive(link).text, "from big to little");
  ASSERT_EQ(send(link, gpu(0), "and back"), CNUASLINK_OK);
  EXPECT_EQ(receive(other).text, "and back");
}

TEST_F(Connecting, WithoutASwitchItSaysSo) {
  EXPECT_EQ(refused(options(0)), CNUASLINK_NO_SWITCH);
  EXPECT_NE(std::string(error_.text).find(socket_of(0)), std::string::npos) << error_.text;
  EXPECT_EQ(error_.system_error, ENOENT);
  // A socket that nobody listens on any more.
  { const Result<UniqueFd> stale = listen_at(socket_of(0), SocketKind::seqpacket, 0600); }
  EXPECT_EQ(refused(options(0)), CNUASLINK_NO_SWITCH);
  EXPECT_EQ(error_.system_error, ECONNREFUSED);
  // A file, and a socket of another kind.
  std::ofstream(socket_of(1)) << "text";
  EXPECT_EQ(refused(options(1)), CNUASLINK_NO_SWITCH);
  const Result<UniqueFd> stream = listen_at(socket_of(2), SocketKind::stream, 0600);
  EXPECT_EQ(refused(options(2)), CNUASLINK_NO_SWITCH);
}

TEST_F(Connecting, APathThatIsTooLongIsNamed) {
  const std::string path = "/tmp/" + std::string(200, 'x');
  cnuaslink_options given = options(0);
  given.socket_path = path.c_str();
  EXPECT_EQ(refused(given), CNUASLINK_INVALID_ARGUMENT);
  EXPECT_NE(std::strstr(error_.text, "107"), nullptr) << error_.text;
}

TEST_F(Connecting, ASecondEndpointOnAPortIsToldSo) {
  start_relay();
  const LinkHandle first = open(0);
  EXPECT_EQ(refused(options(0)), CNUASLINK_BUSY);
  EXPECT_NE(std::strstr(error_.text, "port 0 has an endpoint already"), nullptr) << error_.text;
  // The first is not harmed.
  const LinkHandle other = open(1);
  ASSERT_EQ(send(other, gpu(0), "still there"), CNUASLINK_OK);
  EXPECT_EQ(receive(first).text, "still there");
}

// A switch that turns everyone away, or behaves in other ways that the relay does not.
class Gate {
 public:
  Gate(const std::string& path, const std::string& words) {
    listener_ = std::move(*listen_at(path, SocketKind::seqpacket, 0600));
    thread_ = std::thread([this, words] {
      pollfd query{listener_.get(), POLLIN, 0};
      ::poll(&query, 1, -1);
      const UniqueFd peer(::accept4(listener_.get(), nullptr, nullptr, 0));
      if (!words.empty()) ::send(peer.get(), words.data(), words.size(), MSG_NOSIGNAL);
    });
  }
  ~Gate() { thread_.join(); }

 private:
  UniqueFd listener_;
  std::thread thread_;
};

TEST_F(Connecting, TheWordsOfTheSwitchAreReported) {
  const Gate gate(socket_of(0), "error: user 1000 may not connect\n");
  EXPECT_EQ(refused(options(0)), CNUASLINK_REFUSED);
  EXPECT_EQ(error_.text, socket_of(0) + ": user 1000 may not connect");
}

TEST_F(Connecting, ASwitchThatClosesWithoutAWordIsReported) {
  const Gate gate(socket_of(0), "");
  EXPECT_EQ(refused(options(0)), CNUASLINK_NOT_CONNECTED);
  EXPECT_FALSE(std::string(error_.text).empty());
}

TEST_F(Connecting, LongWordsAreCutAtAWholeCharacter) {
  std::string words = "error: ";
  while (words.size() < 1000)
    words += "\u00e9";
  const Gate gate(socket_of(0), words);
  EXPECT_EQ(refused(options(0)), CNUASLINK_REFUSED);
  const std::string text = error_.text;
  EXPECT_GE(text.size(), 254u);
  EXPECT_EQ(text.substr(text.size() - 2), "\u00e9");
}

TEST_F(Connecting, ASwitchThatDoesNotReadIsATimeout) {
  start_relay();
  relay_->stand_still(true);
  cnuaslink_options given = options(0);
  given.connect_timeout_ns = kShort;
  EXPECT_EQ(refused(given), CNUASLINK_TIMEOUT);
  relay_->stand_still(false);
}

TEST_F(Connecting, WithoutATimeoutItDoesNotWaitForTheSwitch) {
  start_relay();
  relay_->stand_still(true);
  cnuaslink_options given = options(0);
  given.connect_timeout_ns = 0;
  const LinkHandle link = open(given);
  EXPECT_EQ(state(link).link, CNUASLINK_CONNECTING);
  EXPECT_EQ(send(link, gpu(1), "goes into the socket"), CNUASLINK_OK);
  relay_->stand_still(false);
  while (state(link).link != CNUASLINK_UP)
    ASSERT_EQ(cnuaslink_progress(link.get()), CNUASLINK_OK);
}

TEST_F(Connecting, OptionsAreChecked) {
  const auto invalid = [&](auto change, const char* about) {
    cnuaslink_options given = options(0);
    change(given);
    EXPECT_EQ(refused(given), CNUASLINK_INVALID_ARGUMENT) << about;
    EXPECT_NE(std::strstr(error_.text, about), nullptr) << error_.text;
  };
  invalid([](cnuaslink_options& o) { o.struct_bytes = 8; }, "struct_bytes");
  invalid([](cnuaslink_options& o) { o.gpu_id = 0; }, "gpu_id");
  invalid([](cnuaslink_options& o) { o.gpu_id = 0xFFFF; }, "gpu_id");
  invalid([](cnuaslink_options& o) { o.flags = 1u << 20; }, "flags");
  invalid([](cnuaslink_options& o) { o.run_dir = nullptr; }, "run_dir");
  invalid([](cnuaslink_options& o) { o.port = 1024; }, "port");
  invalid([](cnuaslink_options& o) { o.frame_bytes = 127; }, "frame_bytes");
  invalid([](cnuaslink_options& o) { o.frame_bytes = 65'537; }, "frame_bytes");
  invalid([](cnuaslink_options& o) { o.send_buffer_bytes = 0; }, "send_buffer_bytes");
  invalid([](cnuaslink_options& o) { o.receive_bytes = 0; }, "receive_bytes");
  invalid([](cnuaslink_options& o) { o.receive_batch = 0; }, "receive_batch");
  invalid([](cnuaslink_options& o) { o.receive_batch = 17; }, "receive_batch");
  invalid([](cnuaslink_options& o) { o.max_doorbells = 0; }, "max_doorbells");
  invalid([](cnuaslink_options& o) { o.keepalive_ns = -1; }, "time");
  invalid([](cnuaslink_options& o) { o.byte_order = 2; }, "byte_order");
  invalid([](cnuaslink_options& o) { o.receive_policy = 2; }, "receive_policy");
}

TEST_F(Connecting, NullArgumentsAreRefused) {
  cnuaslink* link = nullptr;
  EXPECT_EQ(cnuaslink_open(nullptr, &link, nullptr), CNUASLINK_INVALID_ARGUMENT);
  const cnuaslink_options given = options(0);
  EXPECT_EQ(cnuaslink_open(&given, nullptr, &error_), CNUASLINK_INVALID_ARGUMENT);
  EXPECT_EQ(error_.result, CNUASLINK_INVALID_ARGUMENT);
  cnuaslink_close(nullptr);
  cnuaslink_options_init(nullptr, sizeof(cnuaslink_options));
  cnuaslink_give_back(nullptr, nullptr);
  EXPECT_EQ(cnuaslink_id(nullptr), 0);
  EXPECT_EQ(cnuaslink_fd(nullptr), -1);
  EXPECT_EQ(cnuaslink_max_message(nullptr), 0u);
  EXPECT_EQ(cnuaslink_progress(nullptr), CNUASLINK_INVALID_ARGUMENT);
  EXPECT_EQ(cnuaslink_reconnect(nullptr, 0), CNUASLINK_INVALID_ARGUMENT);
  EXPECT_EQ(cnuaslink_status(nullptr, nullptr), CNUASLINK_INVALID_ARGUMENT);
  EXPECT_EQ(cnuaslink_send(nullptr, 1, "", 0, 0), CNUASLINK_INVALID_ARGUMENT);
  EXPECT_EQ(cnuaslink_recv(nullptr, 0, nullptr, 0, nullptr, 0), CNUASLINK_INVALID_ARGUMENT);
}

TEST(Results, EveryOneHasItsText) {
  EXPECT_STREQ(cnuaslink_strerror(CNUASLINK_BUSY), "the port has an endpoint already");
  std::vector<std::string> texts;
  for (int i = 0; i <= CNUASLINK_UNSUPPORTED; ++i) {
    texts.emplace_back(cnuaslink_strerror(i));
    EXPECT_NE(texts.back(), "unknown result") << i;
    for (int other = 0; other < i; ++other)
      EXPECT_NE(texts.back(), texts[static_cast<std::size_t>(other)]);
  }
  EXPECT_STREQ(cnuaslink_strerror(-1), "unknown result");
  EXPECT_STREQ(cnuaslink_strerror(10'000), "unknown result");
}

// --- The switch goes -------------------------------------------------------------------------------------

TEST_F(Connecting, WhenTheSwitchGoesCallsSaySoAndWhatWasReceivedIsThere) {
  start_relay();
  const LinkHandle link = open(0);
  const LinkHandle other = open(1);
  ASSERT_EQ(send(other, gpu(0), "the last words"), CNUASLINK_OK);
  // Until the frame has gone on to its socket: the switch counts it as sent.
  for (std::uint64_t sent = 0; sent == 0;)
    relay_->with_switch([&](fabric_switch::Switch& self) {
      sent = self.counters(0).by_type[static_cast<std::size_t>(wire::FrameType::data)].tx_frames;
    });
  relay_.reset();
  EXPECT_EQ(receive(link).text, "the last words");
  EXPECT_EQ(receive(link).result, CNUASLINK_NOT_CONNECTED);
  EXPECT_EQ(send(link, gpu(1), "nobody hears"), CNUASLINK_NOT_CONNECTED);
  EXPECT_EQ(cnuaslink_progress(link.get()), CNUASLINK_NOT_CONNECTED);
  EXPECT_EQ(state(link).link, CNUASLINK_DOWN);
  EXPECT_EQ(state(link).error.result, CNUASLINK_NOT_CONNECTED);
  EXPECT_FALSE(std::string(state(link).error.text).empty());
}

TEST_F(Connecting, AWaitingReceiverNoticesThatTheSwitchGoes) {
  start_relay();
  const LinkHandle link = open(0);
  std::thread waiting([&] { EXPECT_EQ(receive(link, CNUASLINK_ANY, -1).result, CNUASLINK_NOT_CONNECTED); });
  relay_->hang_up(0);
  waiting.join();
}

TEST_F(Connecting, ReconnectsToASwitchThatHasRestarted) {
  start_relay();
  const LinkHandle link = open(0);
  relay_.reset();
  EXPECT_EQ(receive(link).result, CNUASLINK_NOT_CONNECTED);
  EXPECT_EQ(cnuaslink_reconnect(link.get(), kShort), CNUASLINK_NO_SWITCH);
  start_relay();
  ASSERT_EQ(cnuaslink_reconnect(link.get(), kLong), CNUASLINK_OK);
  EXPECT_EQ(state(link).link, CNUASLINK_UP);
  EXPECT_EQ(counters(link).connects, 2u);
  EXPECT_EQ(counters(link).announcements_sent, 2u);
  const LinkHandle other = open(1);
  ASSERT_EQ(send(other, gpu(0), "again"), CNUASLINK_OK);
  EXPECT_EQ(receive(link).text, "again");
}

TEST_F(Connecting, ReconnectsWhileItIsStillConnected) {
  start_relay();
  const LinkHandle link = open(0);
  const LinkHandle other = open(1);
  for (int i = 0; i < 20; ++i) {
    ASSERT_EQ(cnuaslink_reconnect(link.get(), kLong), CNUASLINK_OK);
    ASSERT_EQ(send(other, gpu(0), "round"), CNUASLINK_OK);
    ASSERT_EQ(receive(link).text, "round");
  }
}

TEST_F(Connecting, ReconnectsByItselfWhenAskedTo) {
  start_relay();
  cnuaslink_options given = options(0);
  given.flags = CNUASLINK_AUTO_RECONNECT;
  const LinkHandle link = open(given);
  relay_.reset();
  EXPECT_EQ(receive(link, CNUASLINK_ANY, kShort).result, CNUASLINK_TIMEOUT);
  EXPECT_EQ(state(link).link, CNUASLINK_DOWN);
  std::thread later([&] { start_relay(); });
  EXPECT_EQ(send(link, gpu(1), "waits until the link is up"), CNUASLINK_OK);
  later.join();
  const LinkHandle other = open(1);
  ASSERT_EQ(send(other, gpu(0), "again"), CNUASLINK_OK);
  EXPECT_EQ(receive(link).text, "again");
  EXPECT_EQ(counters(link).connects, 2u);
}

TEST_F(Connecting, IsSilentWhenAskedTo) {
  start_relay();
  cnuaslink_options given = options(0);
  given.flags = CNUASLINK_SILENT;
  const LinkHandle link = open(given);
  relay_->with_switch([](fabric_switch::Switch& self) { EXPECT_EQ(self.status(0).gpu, kNoGpu); });
  EXPECT_EQ(counters(link).frames_sent, 0u);
  ASSERT_EQ(send(link, CNUASLINK_ALL, "learned by this"), CNUASLINK_OK);
  for (GpuId gpu_id; gpu_id == kNoGpu;)
    relay_->with_switch([&](fabric_switch::Switch& self) { gpu_id = self.status(0).gpu; });
}

TEST_F(Connecting, KeepsTheLinkAlive) {
  start_relay();
  cnuaslink_options given = options(0);
  given.keepalive_ns = kSecondNs / 1000;
  const LinkHandle link = open(given);
  while (counters(link).keepalives_sent < 3)
    receive(link, CNUASLINK_ANY, kShort);
  // An event loop is woken for them, too.
  const std::uint64_t before = counters(link).keepalives_sent;
  while (counters(link).keepalives_sent < before + 3) {
    pollfd query{cnuaslink_fd(link.get()), POLLIN, 0};
    ASSERT_EQ(::poll(&query, 1, 60'000), 1);
    ASSERT_EQ(cnuaslink_progress(link.get()), CNUASLINK_OK);
  }
}

TEST_F(Connecting, NeitherRaisesSigpipeNorLeavesDescriptorsOpen) {
  const auto descriptors = [] {
    std::vector<std::string> links;
    for (const auto& each : std::filesystem::directory_iterator("/proc/self/fd"))
      links.push_back(each.path());
    return links.size();
  };
  std::signal(SIGPIPE, SIG_DFL);
  start_relay();
  const std::size_t before = descriptors();
  {
    const LinkHandle link = open(0);
    EXPECT_GE(cnuaslink_fd(link.get()), 0);
    relay_->hang_up(0);
    while (send(link, gpu(1), "into a closed socket", 0) == CNUASLINK_OK) {
    }
  }
  EXPECT_EQ(descriptors(), before);
}

}  // namespace
}  // namespace cnuas::live::test
