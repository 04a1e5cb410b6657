// What the management commands act on: the switch, and what its daemon knows beside it.
#pragma once

#include "core/engine/error.h"
#include "core/engine/time.h"
#include "core/switch/switch.h"
#include "live/posix/unix_socket.h"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace cnuas::live {

// A port as a socket; what the switch itself says of it is in fabric_switch::Switch::status().
struct PortFacts {
  std::string socket;                   // path that is listened on; empty: this port is not opened
  std::string dials;                    // path that is dialled; empty: none
  std::optional<PeerCredentials> peer;  // of the endpoint that is connected
  Picoseconds connected_ps = 0;         // when it connected, in monotonic_now(); while `peer` is there
  std::uint64_t connections = 0;        // accepted or dialled since the start
  std::uint64_t refused_busy = 0;       // turned away because the port has an endpoint already
  std::uint64_t refused_identity = 0;   // turned away because the user may not connect
};

struct DaemonFacts {
  std::string version;
  std::string program;  // the name it was called by
  std::string run_dir;
  std::string config;        // path of the fabric's YAML; empty: none
  std::string config_error;  // why the last reload was not taken; empty: it was
  std::int64_t pid = 0;
  Picoseconds started_ps = 0;  // in monotonic_now()
  std::uint64_t reloads = 0;   // taken
  bool draining = false;       // it has been told to stop and is emptying its queues
};

// Implemented by the daemon and, without sockets, by tests. One thread.
class ManagedSwitch {
 public:
  virtual ~ManagedSwitch() = default;

  virtual const fabric_switch::Switch& fabric_switch() const = 0;
  // Precondition: port < fabric_switch().ports().
  virtual PortFacts port_facts(fabric_switch::PortIndex port) const = 0;
  virtual DaemonFacts daemon_facts() const = 0;

  virtual void set_admin_state(fabric_switch::PortIndex port, bool up) = 0;
  virtual void clear_counters() = 0;
  // Errors: those of GroupTable.
  virtual Result<fabric_switch::GroupId> create_group(std::string name, std::vector<GpuId> members) = 0;
  virtual Result<void> delete_group(fabric_switch::GroupId group) = 0;
};

}  // namespace cnuas::live
