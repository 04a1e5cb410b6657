// What the tests of libcnuaslink stand on: a run directory of their own, a relay in it, and links to it.
#pragma once

#include "live/endpoint/cnuaslink.h"
#include "tests/endpoint_library/relay.h"

#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include <gtest/gtest.h>
#include <stdlib.h>

namespace cnuas::live::test {

inline constexpr std::int64_t kSecondNs = 1'000'000'000;
// For what must happen: so long only if something is broken.
inline constexpr std::int64_t kLong = 60 * kSecondNs;
// For what must not happen: long enough to see it if it did.
inline constexpr std::int64_t kShort = kSecondNs / 20;

class TemporaryDirectory {
 public:
  TemporaryDirectory() {
    char path[] = "/tmp/cnuaslink.XXXXXX";
    if (::mkdtemp(path) != nullptr) path_ = path;
  }
  ~TemporaryDirectory() { std::filesystem::remove_all(path_); }
  TemporaryDirectory(const TemporaryDirectory&) = delete;
  TemporaryDirectory& operator=(const TemporaryDirectory&) = delete;
  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

struct CloseLink {
  void operator()(cnuaslink* link) const { cnuaslink_close(link); }
};
using LinkHandle = std::unique_ptr<cnuaslink, CloseLink>;

// GPU 1/(PORT + 1), which is what the tests' GPUs are.
inline std::uint16_t gpu(unsigned port) {
  return static_cast<std::uint16_t>(0x0101 + port);
}

class LinkTest : public ::testing::Test {
 protected:
  cnuaslink_options options(unsigned port) const {
    cnuaslink_options options;
    cnuaslink_options_init(&options, sizeof options);
    options.run_dir = directory_.path().c_str();
    options.port = port;
    options.gpu_id = gpu(port);
    options.connect_timeout_ns = kLong;
    return options;
  }
  static LinkHandle open(const cnuaslink_options& options) {
    cnuaslink* link = nullptr;
    cnuaslink_error error;
    EXPECT_EQ(cnuaslink_open(&options, &link, &error), CNUASLINK_OK) << error.text;
    return LinkHandle(link);
  }
  LinkHandle open(unsigned port) const { return open(options(port)); }

  void start_relay(const RelayOptions& options = {}) {
    relay_ = std::make_unique<Relay>(directory_.path(), options);
  }

  static cnuaslink_state state(const LinkHandle& link) {
    cnuaslink_state state;
    state.struct_bytes = sizeof(state);
    EXPECT_EQ(cnuaslink_status(link.get(), &state), CNUASLINK_OK);
    return state;
  }
  static cnuaslink_counters counters(const LinkHandle& link) { return state(link).counters; }

  static cnuaslink_result send(const LinkHandle& link, std::uint16_t peer, std::string_view text,
                               std::int64_t timeout_ns = kLong) {
    return cnuaslink_send(link.get(), peer, text.data(), text.size(), timeout_ns);
  }

  struct Received {
    cnuaslink_result result = CNUASLINK_OK;
    cnuaslink_message message{};
    std::string text;
  };
  static Received receive(const LinkHandle& link, std::uint16_t source = CNUASLINK_ANY,
                          std::int64_t timeout_ns = kLong) {
    Received received;
    received.text.resize(65'536);
    received.result = cnuaslink_recv(link.get(), source, received.text.data(), received.text.size(),
                                     &received.message, timeout_ns);
    received.text.resize(received.result == CNUASLINK_OK ? received.message.bytes : 0);
    return received;
  }

  const std::string& run_dir() const { return directory_.path(); }
  std::string socket_of(unsigned port) const {
    return directory_.path() + "/port_" + std::to_string(port) + ".sock";
  }

  TemporaryDirectory directory_;
  std::unique_ptr<Relay> relay_;
};

}  // namespace cnuas::live::test
