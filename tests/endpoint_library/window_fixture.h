// GPU 1/1 asks, GPU 1/2 has a window: number 7, four megabytes of zeros, open for everything.
#pragma once

#include "tests/endpoint_library/fixture.h"

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

namespace cnuas::live::test {

inline constexpr unsigned kAll = CNUASLINK_ACCESS_PUT | CNUASLINK_ACCESS_GET | CNUASLINK_ACCESS_ATOMIC;

class WindowTest : public LinkTest {
 protected:
  WindowTest() {
    start_relay();
    a_ = open(0);
    b_ = open(1);
    EXPECT_EQ(cnuaslink_window_register(b_.get(), 7, memory_.data(), bytes(), kAll), CNUASLINK_OK);
  }
  ~WindowTest() override { stop_serving(); }

  std::size_t bytes() const { return memory_.size() * sizeof(memory_[0]); }
  std::byte* at(std::size_t offset) { return reinterpret_cast<std::byte*>(memory_.data()) + offset; }

  // B makes progress in a thread of its own until stop_serving().
  void serve() {
    serving_ = true;
    server_ = std::thread([this] {
      while (serving_)
        receive(b_, 0x0199, kShort / 10);  // nobody's: it only waits
    });
  }
  void stop_serving() {
    serving_ = false;
    if (server_.joinable()) server_.join();
  }

  cnuaslink_result put(std::uint64_t offset, std::string_view data, std::uint16_t window = 7) {
    return cnuaslink_put(a_.get(), gpu(1), window, offset, data.data(), data.size(), kLong);
  }
  cnuaslink_result flush() { return cnuaslink_flush(a_.get(), gpu(1), kLong); }
  cnuaslink_result get(std::uint64_t offset, std::string& into, std::uint16_t window = 7) {
    return cnuaslink_get(a_.get(), gpu(1), window, offset, into.data(), into.size(), kLong);
  }
  cnuaslink_result atomic(std::uint64_t offset, unsigned op, std::uint64_t value, std::uint64_t* before,
                          std::uint64_t compare = 0, std::uint16_t window = 7) {
    return cnuaslink_atomic(a_.get(), gpu(1), window, offset, op, value, compare, before, kLong);
  }

  static std::string pattern(std::size_t bytes) {
    std::string text(bytes, '\0');
    std::uint32_t state = 1;
    for (char& each : text) {
      state = state * 1'664'525 + 1'013'904'223;
      each = static_cast<char>(state >> 24);
    }
    return text;
  }

  std::vector<std::uint64_t> memory_ = std::vector<std::uint64_t>(512 * 1024);
  LinkHandle a_;
  LinkHandle b_;
  std::atomic<bool> serving_ = false;
  std::thread server_;
};

}  // namespace cnuas::live::test
