// A switch with management facts and without a daemon: frames come and go when a test says so.
#pragma once

#include "core/switch/switch.h"
#include "live/management/managed_switch.h"

#include <map>
#include <string>
#include <utility>
#include <vector>

namespace cnuas::live {

// Rack 1: port 0 is for GPU 1/1 and port 1 for 1/2, both configured; ports 2 and 3 are for whoever comes;
// port 4 leads to other switches.
inline fabric_switch::SwitchConfig small_rack() {
  fabric_switch::SwitchConfig config;
  config.name = "rack1";
  config.rack = 1;
  config.ports.resize(5);
  config.ports[0].expected = GpuId{0x0101};
  config.ports[1].expected = GpuId{0x0102};
  config.ports[4].role = fabric_switch::PortRole::inter_switch;
  config.uplink = 4;
  config.max_groups = 4;
  config.max_group_members = 8;
  return config;
}

class FakeSwitch : public ManagedSwitch {
 public:
  explicit FakeSwitch(const fabric_switch::SwitchConfig& config = small_rack())
      : switch_(fabric_switch::Switch::create(config).value()) {
    daemon.version = "0.0.0";
    daemon.program = "fake-switchd";
    daemon.run_dir = "/nowhere";
    daemon.pid = 42;
  }

  const fabric_switch::Switch& fabric_switch() const override { return switch_; }
  PortFacts port_facts(fabric_switch::PortIndex port) const override {
    const auto found = ports.find(port);
    return found == ports.end() ? PortFacts{} : found->second;
  }
  DaemonFacts daemon_facts() const override { return daemon; }
  void set_admin_state(fabric_switch::PortIndex port, bool up) override {
    ++changes;
    switch_.set_admin_state(port, up, now, actions_);
    actions_.clear();
  }
  void clear_counters() override {
    ++changes;
    switch_.clear_counters();
  }
  Result<fabric_switch::GroupId> create_group(std::string name, std::vector<GpuId> members) override {
    ++changes;
    return switch_.groups().create(std::move(name), std::move(members));
  }
  Result<void> delete_group(fabric_switch::GroupId group) override {
    ++changes;
    return switch_.groups().erase(group);
  }

  void connect(fabric_switch::PortIndex port) {
    switch_.link_up(port, now, actions_);
    actions_.clear();
  }
  void disconnect(fabric_switch::PortIndex port) {
    switch_.link_down(port, now, actions_);
    actions_.clear();
  }
  void receive(fabric_switch::PortIndex port, const std::vector<std::byte>& message) {
    switch_.receive(port, message, next_buffer_++, now, actions_);
    actions_.clear();
  }
  void receive(fabric_switch::PortIndex port, wire::FrameType type, GpuId source, GpuId destination,
               std::uint32_t payload_bytes = 0) {
    std::vector<std::byte> message(wire::kHeaderBytes + payload_bytes);
    wire::encode({type, wire::ByteOrder::big, source, destination, payload_bytes},
                 std::span<std::byte, wire::kHeaderBytes>(message.data(), wire::kHeaderBytes));
    receive(port, message);
  }
  // Sends what waits to leave by `port`.
  void drain(fabric_switch::PortIndex port) {
    while (switch_.front(port) != nullptr)
      switch_.pop(port, now, actions_);
    actions_.clear();
  }
  void pass_time(Picoseconds time_ps) {
    now += time_ps;
    switch_.on_deadline(now, actions_);
    actions_.clear();
  }

  DaemonFacts daemon;
  std::map<fabric_switch::PortIndex, PortFacts> ports;
  Picoseconds now = 0;
  int changes = 0;  // calls that change something, refused ones included

 private:
  fabric_switch::Switch switch_;
  fabric_switch::Actions actions_;
  fabric_switch::BufferId next_buffer_ = 0;
};

}  // namespace cnuas::live
