#include "tests/equivalence/simulated_side.h"

#include <algorithm>
#include <iterator>
#include <utility>

namespace cnuas::equivalence {

namespace {

template <class... Handlers>
struct Overloaded : Handlers... {
  using Handlers::operator()...;
};

PortObservation observe_port(const fabric_switch::Switch& owner, fabric_switch::PortIndex port) {
  const fabric_switch::Switch::PortStatus status = owner.status(port);
  const fabric_switch::PortCounters& counters = owner.counters(port);
  PortObservation seen;
  seen.role = owner.config().ports[port].role;
  seen.admin_up = status.admin_up;
  seen.link_up = status.link_up;
  seen.stalled = status.stalled;
  seen.ingress_paused = status.ingress_paused;
  seen.order = status.order;
  seen.gpu = status.gpu;
  seen.queued_bytes = status.queued_bytes;
  seen.by_type = counters.by_type;
  seen.queued = owner.queued_by_type(port);
  seen.rx_drops = counters.rx_drops;
  seen.tx_drops = counters.tx_drops;
  return seen;
}

}  // namespace

SimulatedSide::SimulatedSide(std::unique_ptr<sim::ScriptedFabric> fabric)
    : fabric_(std::move(fabric)),
      stopped_(fabric_->fabric().gpus.size(), false),
      not_read_(fabric_->fabric().gpus.size()) {}

Result<std::unique_ptr<SimulatedSide>> SimulatedSide::create(const Fabric& fabric) {
  Result<std::unique_ptr<sim::ScriptedFabric>> made = sim::ScriptedFabric::create(fabric);
  if (!made) return tl::unexpected<Error>(made.error());
  return std::unique_ptr<SimulatedSide>(new SimulatedSide(std::move(*made)));
}

Result<StepObservation> SimulatedSide::run(const Step& step, const std::map<GpuIndex, std::uint64_t>& rooms) {
  StepObservation seen;
  for (GpuIndex gpu = 0; gpu < stopped_.size(); ++gpu) {
    const auto room = rooms.find(gpu);
    if (stopped_[gpu])
      fabric_->limit_reader(gpu, room == rooms.end() ? 0 : static_cast<std::uint32_t>(room->second));
  }
  seen.refused = !apply(step);
  for (GpuIndex gpu = 0; gpu < stopped_.size(); ++gpu) {
    if (stopped_[gpu]) continue;
    std::move(not_read_[gpu].begin(), not_read_[gpu].end(), std::back_inserter(seen.deliveries));
    not_read_[gpu].clear();
  }
  const Picoseconds patience = holds_queues(fabric_->fabric()) ? kShortestHold / 2 : kNever;
  Result<std::vector<sim::ScriptedFabric::Delivery>> arrived = fabric_->rest(patience);
  if (!arrived) return tl::unexpected<Error>(arrived.error());
  deliver(std::move(*arrived), seen.deliveries);
  for (SwitchIndex index = 0; index < fabric_->fabric().switches.size(); ++index)
    seen.switches.push_back(observe(index));
  return seen;
}

void SimulatedSide::deliver(std::vector<sim::ScriptedFabric::Delivery> arrived, std::vector<Delivery>& read) {
  for (const sim::ScriptedFabric::Delivery& each : arrived)
    (stopped_[each.to] ? not_read_[each.to] : read).push_back(delivery(each.to, each.message));
}

bool SimulatedSide::apply(const Step& step) {
  return std::visit(Overloaded{
                        [&](const Connect& what) {
                          fabric_->connect(what.gpu, what.announce);
                          return true;
                        },
                        [&](const Disconnect& what) {
                          fabric_->disconnect(what.gpu);
                          stopped_[what.gpu] = false;
                          not_read_[what.gpu].clear();
                          return true;
                        },
                        [&](const Sends& what) {
                          send(what);
                          return true;
                        },
                        [&](const SetReader& what) {
                          set_reader(what.gpu, what.reads);
                          return true;
                        },
                        [&](const SetPort& what) {
                          fabric_->set_admin_state(what.target, port_of(what), what.up);
                          return true;
                        },
                        [&](const CreateGroup& what) {
                          return fabric_->groups(what.target).create(what.name, what.members).has_value();
                        },
                        [&](const DeleteGroup& what) {
                          fabric_switch::GroupTable& groups = fabric_->groups(what.target);
                          const fabric_switch::Group* group = groups.find(what.name);
                          return group != nullptr && groups.erase(group->id).has_value();
                        },
                        [&](const ClearTelemetry& what) {
                          fabric_->clear_counters(what.target);
                          return true;
                        },
                    },
                    step.what);
}

void SimulatedSide::send(const Sends& sends) {
  for (const Send& each : sends.sends) {
    for (std::uint32_t i = 0; i < each.repeat; ++i)
      fabric_->send(each.from, message_bytes(each, next_number_++));
  }
}

void SimulatedSide::set_reader(GpuIndex gpu, bool reads) {
  stopped_[gpu] = !reads;
  if (reads) {
    fabric_->limit_reader(gpu, std::nullopt);
  } else {
    fabric_->limit_reader(gpu, 0);
  }
}

// GPUs in the order of their slots, then the cable: as the simulator numbers them.
fabric_switch::PortIndex SimulatedSide::port_of(const SetPort& what) const {
  if (what.gpu) return daemon_port(fabric_->fabric(), *what.gpu);
  return static_cast<fabric_switch::PortIndex>(gpus_of(fabric_->fabric(), what.target).size());
}

// As the daemon numbers them, which has gpu ports for nobody in between and always a port to another switch.
SwitchObservation SimulatedSide::observe(SwitchIndex index) const {
  const fabric_switch::Switch& owner = fabric_->switch_at(index);
  const std::size_t gpus = gpus_of(fabric_->fabric(), index).size();
  const auto renumbered = [&](std::size_t port) {
    return port < gpus ? static_cast<fabric_switch::PortIndex>(port) : kInterSwitchPort;
  };
  SwitchObservation seen;
  seen.ports.resize(kDaemonPorts);
  seen.ports[kInterSwitchPort].role = fabric_switch::PortRole::inter_switch;
  for (std::size_t port = 0; port < owner.ports(); ++port)
    seen.ports[renumbered(port)] = observe_port(owner, static_cast<fabric_switch::PortIndex>(port));
  seen.fdb = owner.fdb().entries();
  for (fabric_switch::FdbEntry& entry : seen.fdb)
    entry.port = renumbered(entry.port);
  seen.groups = owner.groups().list();
  return seen;
}

}  // namespace cnuas::equivalence
