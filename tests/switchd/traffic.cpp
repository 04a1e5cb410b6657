#include "tests/switchd/traffic.h"

#include "tests/switchd/child_process.h"

#include <chrono>

namespace cnuas::test {

namespace {

// A test is about other ports' troubles and not about speed; without pauses the threads would leave it no
// processor.
constexpr std::uint64_t kBurst = 16;
constexpr std::chrono::microseconds kPause{500};
constexpr std::chrono::milliseconds kLook{20};

}  // namespace

Traffic::Traffic(RawEndpoint& sender, GpuId from, RawEndpoint& receiver, GpuId to, std::size_t frame_bytes)
    : sender_([this, &sender, from, to, frame_bytes] { send_all(sender, from, to, frame_bytes); }),
      receiver_([this, &receiver] { receive_all(receiver); }) {}

void Traffic::send_all(RawEndpoint& sender, GpuId from, GpuId to, std::size_t frame_bytes) {
  while (!stopping_) {
    for (std::uint64_t i = 0; i < kBurst && send_fault_.empty(); ++i) {
      if (sender.send(numbered_frame(from, to, sent_, frame_bytes))) {
        ++sent_;
      } else {
        send_fault_ = "frame " + std::to_string(sent_) + " could not be sent";
      }
    }
    std::this_thread::sleep_for(kPause);
  }
  sending_ = false;
}

void Traffic::receive_all(RawEndpoint& receiver) {
  auto last = std::chrono::steady_clock::now();
  while (sending_ || received_ < sent_) {
    const std::optional<Bytes> message = receiver.receive(kLook);
    if (message) {
      last = std::chrono::steady_clock::now();
      const std::optional<std::uint64_t> number = number_of(*message);
      if (number != received_ && faults_.empty())
        faults_.push_back("instead of frame " + std::to_string(received_) + " came " +
                          (number ? "frame " + std::to_string(*number)
                                  : "something else, of " + std::to_string(message->size()) + " bytes"));
      ++received_;
    } else if (receiver.at_end() || (!sending_ && std::chrono::steady_clock::now() - last > kGuard)) {
      return;
    }
  }
}

void Traffic::stop() {
  if (!sender_.joinable()) return;
  stopping_ = true;
  sender_.join();
  receiver_.join();
  if (!send_fault_.empty()) faults_.push_back(send_fault_);
}

bool Traffic::progress(std::uint64_t frames) const {
  const std::uint64_t wanted = received_ + frames;
  return eventually([&] { return received_ >= wanted; });
}

}  // namespace cnuas::test
