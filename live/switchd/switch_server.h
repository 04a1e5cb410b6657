// The switch of one rack at its sockets: who connects, what it dials, how it is managed, how it ends.
#pragma once

#include "core/engine/error.h"
#include "live/management/managed_switch.h"
#include "live/management/management_server.h"
#include "live/posix/event_loop.h"
#include "live/posix/unique_fd.h"
#include "live/switchd/access.h"
#include "live/switchd/data_path.h"
#include "live/switchd/log.h"
#include "live/switchd/run_directory.h"

#include <array>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace cnuas::live {

struct ServerConfig {
  fabric_switch::SwitchConfig fabric;
  AccessList access;
};

struct ServerOptions {
  std::string program;  // the name it was called by
  std::string version;
  std::string config_path;  // of the fabric's YAML; empty: none
  std::string uplink;       // socket of another switch's port that the inter-switch port dials; empty: none
  int send_buffer = 1024 * 1024;
  Picoseconds drain_timeout_ps = 5 * kSecond;
};

// One thread, that of the loop.
class SwitchServer final : public ManagedSwitch {
 public:
  // Opens every socket; `passed` are those that a service manager listens on already. Errors: those of
  // Switch::create(), RunDirectory and listen_at().
  static Result<std::unique_ptr<SwitchServer>> start(EventLoop& loop, RunDirectory directory,
                                                     ServerConfig config, ServerOptions options,
                                                     std::map<std::string, UniqueFd> passed);
  ~SwitchServer() override;

  // Between the rounds of the loop: when on_time() wants to be called next, and that call.
  Picoseconds next_deadline() const { return path_.next_deadline(); }
  void on_time() { path_.on_time(); }

  // Takes a new configuration, or keeps the old one and remembers and logs why.
  void reload(Result<ServerConfig> config);
  // No new connections; what has been sent is delivered; then finished().
  void begin_drain();
  bool finished() const;

  // "5 of 8 GPUs up, uplink down"
  std::string status() const;

  // --- ManagedSwitch ---
  const fabric_switch::Switch& fabric_switch() const override { return path_.fabric(); }
  PortFacts port_facts(fabric_switch::PortIndex port) const override { return ports_[port].facts; }
  DaemonFacts daemon_facts() const override { return facts_; }
  void set_admin_state(fabric_switch::PortIndex port, bool up) override;
  void clear_counters() override;
  Result<fabric_switch::GroupId> create_group(std::string name, std::vector<GpuId> members) override;
  Result<void> delete_group(fabric_switch::GroupId group) override;

 private:
  using PortIndex = fabric_switch::PortIndex;
  struct Port {
    UniqueFd listener;
    EventLoop::Watch watch;
    PortFacts facts;
  };

  SwitchServer(EventLoop& loop, RunDirectory directory, ServerConfig config, ServerOptions options,
               fabric_switch::Switch fabric);
  Result<void> open_sockets(std::map<std::string, UniqueFd> passed);
  Result<UniqueFd> listener(const std::string& name, std::map<std::string, UniqueFd>& passed);

  void accept_at(PortIndex index);
  bool accept_one(PortIndex index);
  void out_of_descriptors(int listener);
  void connected(PortIndex index, UniqueFd connection, const PeerCredentials& peer);
  void refuse(PortIndex index, UniqueFd connection, const std::string& why);
  void gone(PortIndex index, const std::string& why);

  void dial();
  void dial_later();

  void every_second();
  void log_new_drops();

  EventLoop& loop_;
  RunDirectory directory_;
  AccessList access_;
  ServerOptions options_;
  DaemonFacts facts_;
  DataPath path_;
  std::vector<Port> ports_;
  std::unique_ptr<ManagementServer> management_;
  UniqueFd reserve_;  // given up for a moment to turn somebody away when descriptors run out
  EventLoop::Timer dial_timer_;
  Picoseconds dial_delay_ps_ = 0;
  EventLoop::Timer second_timer_;
  unsigned seconds_ = 0;
  Picoseconds drain_until_ps_ = 0;
  std::string last_status_;
  std::vector<std::uint64_t> drops_logged_;  // by port and reason
  LogLimit connect_log_;
  LogLimit refuse_log_;
  LogLimit descriptor_log_;
};

}  // namespace cnuas::live
