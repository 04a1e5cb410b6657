// Frames from one endpoint to another for as long as a test wants, each of them checked.
#pragma once

#include "core/topology/gpu_id.h"
#include "tests/switchd/raw_endpoint.h"

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <string>
#include <thread>
#include <vector>

namespace cnuas::test {

// Two threads, from the constructor to stop(). The endpoints must outlive it, and be nobody else's until
// then.
class Traffic {
 public:
  Traffic(RawEndpoint& sender, GpuId from, RawEndpoint& receiver, GpuId to, std::size_t frame_bytes = 512);
  ~Traffic() { stop(); }
  Traffic(const Traffic&) = delete;
  Traffic& operator=(const Traffic&) = delete;

  // Sends no more, and receives until all has come or nothing does any more.
  void stop();

  std::uint64_t sent() const { return sent_; }
  std::uint64_t received() const { return received_; }
  // Waits until so many more have been received; false when they do not come.
  bool progress(std::uint64_t frames = 100) const;
  // After stop(): the first message that was not the next frame, or that could not be sent; none when every
  // frame came once, intact and in order. Frames that are missing at the end are not among them.
  const std::vector<std::string>& faults() const { return faults_; }

 private:
  void send_all(RawEndpoint& sender, GpuId from, GpuId to, std::size_t frame_bytes);
  void receive_all(RawEndpoint& receiver);

  std::atomic<bool> stopping_{false};
  std::atomic<bool> sending_{true};
  std::atomic<std::uint64_t> sent_{0};
  std::atomic<std::uint64_t> received_{0};
  std::vector<std::string> faults_;  // the receiving thread's until it has ended
  std::string send_fault_;           // the sending thread's
  std::thread sender_;
  std::thread receiver_;
};

}  // namespace cnuas::test
