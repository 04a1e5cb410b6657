// Everything that the single tests do to a daemon, in random order for as long as one likes.
#pragma once

#include "core/engine/error.h"
#include "core/topology/gpu_id.h"
#include "tests/posix/temporary_directory.h"
#include "tests/switchd/daemon_process.h"
#include "tests/switchd/management_client.h"
#include "tests/switchd/raw_endpoint.h"
#include "tests/switchd/traffic.h"

#include <array>
#include <chrono>
#include <cstdint>
#include <optional>
#include <random>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

namespace cnuas::test {

struct SoakPlan {
  std::string daemon;
  std::uint64_t seed = 1;
  std::chrono::duration<double> length{300};
  std::chrono::duration<double> life{10};  // of one daemon, before the next one takes its place
};

// Two ports exchange frames all the time, and each must arrive. Processes at the other six come and go, send
// and read or do not, misbehave and are killed; the operator takes ports down, reloads, asks nonsense;
// daemons are told to end, or are killed, and started again. The laws of the counters must hold whenever they
// are looked at, and a daemon must not keep what its clients have left.
class Soak {
 public:
  explicit Soak(SoakPlan plan);

  // Errors: io when a daemon cannot be started.
  Result<void> run();
  // What was done, and `faults`: one sentence for everything that went wrong; at most a hundred.
  nlohmann::ordered_json report() const;
  bool well() const { return faults_.empty(); }

 private:
  static constexpr std::size_t kFirst = 2;  // port of those that come and go
  static constexpr std::size_t kEnd = 8;

  Result<void> start_daemon();
  Result<void> live_one_life();
  void end_daemon();
  void check_traffic();
  void check_laws();
  void check_descriptors();

  void step();
  void connect(std::size_t port);
  void send_burst(std::size_t port);
  void send_nonsense(std::size_t port);
  void read_some(std::size_t port);
  void half_close(std::size_t port);
  void close(std::size_t port);
  void kill_in_mid_burst(std::size_t port);
  void set_link_state(std::size_t port);
  void use_groups(std::size_t port);
  void ask_nonsense(std::size_t port);
  void leave_management_waiting(std::size_t port);
  void clear_telemetry(std::size_t port);
  void reload(std::size_t port);

  // An answer, or a fault.
  std::optional<nlohmann::json> ask(const nlohmann::json& request);
  void fault(const std::string& what);
  std::uint32_t below(std::uint32_t bound) { return static_cast<std::uint32_t>(random_() % bound); }

  SoakPlan plan_;
  live::TemporaryDirectory directory_;
  std::mt19937_64 random_;
  std::optional<DaemonProcess> daemon_;
  std::optional<ManagementClient> management_;
  std::size_t idle_descriptors_ = 0;

  std::optional<RawEndpoint> steady_[2];
  std::optional<Traffic> traffic_;
  std::array<std::optional<RawEndpoint>, kEnd> visitors_;  // by port

  std::uint64_t steps_ = 0;
  std::uint64_t lives_ = 0;
  std::uint64_t frames_ = 0;
  std::vector<std::string> faults_;
};

}  // namespace cnuas::test
