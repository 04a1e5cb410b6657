// The daemons' side of a script: one process a switch, wired as the fabric says, and GPUs that are sockets.
#pragma once

#include "core/engine/error.h"
#include "tests/equivalence/daemon_client.h"
#include "tests/equivalence/daemon_process.h"
#include "tests/equivalence/management_reader.h"
#include "tests/equivalence/observation.h"
#include "tests/equivalence/script.h"

#include <chrono>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace cnuas::equivalence {

struct LiveOptions {
  std::string daemon;                 // path of cnuasgpu-link-switchd
  std::chrono::seconds patience{30};  // until a step has come to rest, beside the stall timeout
};

class LiveSide {
 public:
  // Starts the daemons and waits until they are wired. `script` must outlive it. Errors: io and others, with
  // the daemon's words.
  static Result<std::unique_ptr<LiveSide>> start(const Script& script, const LiveOptions& options);

  // Does the step and waits for rest: every message that was sent is counted by its port, everything that
  // one switch has sent to the other is counted there, every queue is empty (or held for a stopped reader),
  // and every reader has read all that was sent to it. When that does not come, the observation says which
  // port does not rest. Errors: io; mismatch when the daemon's answers cannot be read.
  Result<StepObservation> run(const Step& step);
  // Of the last step: frames that each stopped reader's socket took.
  const std::map<GpuIndex, std::uint64_t>& rooms() const { return rooms_; }

 private:
  using Clock = std::chrono::steady_clock;

  struct Daemon {
    std::string run_dir;
    DaemonProcess process;
    std::optional<ManagementClient> management;
    std::vector<PortActivity> ports;  // as they were at rest
  };
  // A GPU's port, and what of its counters belongs to this connection, or was before they were cleared:
  // sent_ = rx_frames + rx_offset and read = tx_frames + tx_offset when all has arrived.
  struct Endpoint {
    std::optional<EndpointClient> client;
    SwitchIndex at = 0;
    std::uint16_t port = 0;
    std::int64_t sent = 0;
    std::int64_t rx_offset = 0;
    std::int64_t tx_offset = 0;
  };
  // From one switch's port to the other's: sent there = received here + offset.
  struct Direction {
    SwitchIndex from = 0;
    SwitchIndex to = 0;
    std::int64_t offset = 0;
  };

  LiveSide(const Script& script, const LiveOptions& options, TemporaryDirectory directory);

  Result<void> start_daemon(SwitchIndex index);
  Result<void> open_management(SwitchIndex index);
  Result<std::string> wait_for_rest();  // empty, or what does not rest
  Result<void> apply(const Step& step, bool& refused);
  Result<void> connect(const Connect& what);
  void send(const Sends& what);
  Result<void> set_port(const SetPort& what);
  Result<void> clear(SwitchIndex target);
  Result<bool> ask(SwitchIndex target, const nlohmann::json& request);

  Result<void> pump();
  void wait_for_sockets(int milliseconds);
  Result<std::vector<std::vector<PortActivity>>> activity();
  // Why it is not at rest; empty when it is.
  std::string busy(const std::vector<std::vector<PortActivity>>& ports) const;
  std::string busy(const Endpoint& endpoint, const PortActivity& port, const std::string& name) const;
  std::string busy_link(const std::vector<std::vector<PortActivity>>& ports) const;
  Result<std::vector<SwitchObservation>> observe();
  Error annotated(Error error, SwitchIndex index);

  std::string port_name(SwitchIndex index, std::uint16_t port) const;

  const Script& script_;
  LiveOptions options_;
  TemporaryDirectory directory_;
  std::vector<Daemon> daemons_;      // by switch
  std::vector<Endpoint> endpoints_;  // by GPU
  std::vector<Direction> directions_;
  std::vector<Delivery> deliveries_;
  std::map<GpuIndex, std::uint64_t> rooms_;
  std::uint64_t next_number_ = 0;
};

}  // namespace cnuas::equivalence
