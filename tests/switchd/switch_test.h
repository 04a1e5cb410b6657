// A test with a real daemon in a directory of its own, and what its tests do with it over and over.
#pragma once

#include "core/topology/gpu_id.h"
#include "live/posix/os_error.h"
#include "tests/posix/temporary_directory.h"
#include "tests/switchd/daemon_process.h"
#include "tests/switchd/management_client.h"
#include "tests/switchd/raw_endpoint.h"
#include "tests/switchd/telemetry.h"

#include <cstdint>
#include <functional>
#include <optional>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

namespace cnuas::test {

// An error fails the test, with its message.
template <class T>
T value_of(Result<T> result) {
  if (!result) throw std::runtime_error(live::to_string(result.error()));
  return std::move(*result);
}

// Slot `port` of rack 1: what the configuration of fabric_yaml() expects at each port.
constexpr GpuId gpu_at(std::size_t port) {
  return GpuId{static_cast<std::uint16_t>(0x0100 + port)};
}

// One rack of eight GPUs.
std::string fabric_yaml(const std::string& stall_timeout);

inline constexpr const char* kLongStallTimeout = "90 s";  // the watchdog never fires
inline constexpr std::size_t kDataPorts = 9;

class SwitchTest : public ::testing::Test {
 protected:
  // With a fabric of eight expected GPUs.
  void start(const std::string& stall_timeout = kLongStallTimeout, DaemonSettings changes = {});
  // As `changes` says, and otherwise as the daemon is by itself.
  void start_plain(DaemonSettings changes = {});
  // Ends the test's daemon with this signal, and returns its exit status.
  std::optional<int> stop(int signal);

  // The laws hold, and the daemon ends as it should.
  void TearDown() override;

  DaemonProcess& daemon() { return *daemon_; }
  ManagementClient& management() { return *management_; }
  nlohmann::json ask(const nlohmann::json& request) { return value_of(management().request(request)); }
  nlohmann::json port_status(std::size_t port);
  Telemetry telemetry() { return value_of(Telemetry::fetch(management())); }
  void expect_conserved();

  // Connections, however long the daemon's backlog is full.
  RawEndpoint connect(std::size_t port);
  ManagementClient connect_management();
  // A connection that has announced gpu_at(port), and is known.
  RawEndpoint gpu(std::size_t port);
  void wait_for_link(std::size_t port, bool up);
  // So many messages have been read from the port since the start.
  void wait_for_received(std::size_t port, std::uint64_t frames);

  // Sends frames both ways, and expects each once, intact and in order.
  void exchange(RawEndpoint& a, GpuId a_id, RawEndpoint& b, GpuId b_id, std::uint64_t frames = 100,
                std::size_t frame_bytes = 256);

  const live::TemporaryDirectory& directory() const { return directory_; }
  std::string config_path() const { return directory_.file("fabric.yaml"); }
  void write_config(const std::string& text) const;

 private:
  live::TemporaryDirectory directory_;
  std::optional<DaemonProcess> daemon_;
  std::optional<ManagementClient> management_;
};

// The next message is a frame with this number; says what it is otherwise.
void expect_number(std::optional<Bytes> message, std::uint64_t number);
// The next message is "error: ..." and then the stream ends.
void expect_turned_away(RawEndpoint& endpoint);

}  // namespace cnuas::test
