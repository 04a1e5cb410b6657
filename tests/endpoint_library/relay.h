// A small switch daemon for tests, within the test's process: the real switch of core/, its ports as sockets.
#pragma once

#include "core/engine/time.h"
#include "core/switch/switch.h"

#include <cstddef>
#include <functional>
#include <memory>
#include <string>

namespace cnuas::live::test {

struct RelayOptions {
  std::size_t ports = 4;
  Picoseconds stall_timeout_ps =
      600 * kSecond;  // long: a test that is held up by others is no stalled reader
  std::uint64_t queue_bytes = 256 * 1024;
};

// Serves DIR/port_0.sock and so on in a thread of its own, until it is destroyed.
class Relay {
 public:
  explicit Relay(const std::string& directory, const RelayOptions& options = {});
  ~Relay();
  Relay(const Relay&) = delete;
  Relay& operator=(const Relay&) = delete;

  // Runs in the relay's thread; returns when it has.
  void with_switch(const std::function<void(fabric_switch::Switch&)>& use);
  // While true nothing is read, accepted or sent.
  void stand_still(bool still);
  // Sends bytes to whoever is at a port, as one packet, whatever they are.
  void send_raw(std::size_t port, const std::string& bytes);
  // Closes the connection at a port.
  void hang_up(std::size_t port);

 private:
  class Body;
  std::unique_ptr<Body> body_;
};

}  // namespace cnuas::live::test
