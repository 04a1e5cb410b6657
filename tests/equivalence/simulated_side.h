// The simulator's side of a script.
#pragma once

#include "sim/frame/scripted_fabric.h"
#include "tests/equivalence/observation.h"
#include "tests/equivalence/script.h"

#include <map>
#include <memory>
#include <vector>

namespace cnuas::equivalence {

class SimulatedSide {
 public:
  // `fabric` must outlive it.
  static Result<std::unique_ptr<SimulatedSide>> create(const Fabric& fabric);

  // Does the step and comes to rest. `rooms`: how many frames each stopped reader still takes in during the
  // step, which is the kernel's doing in the other side, and nothing that a switch decides.
  Result<StepObservation> run(const Step& step, const std::map<GpuIndex, std::uint64_t>& rooms);

 private:
  explicit SimulatedSide(std::unique_ptr<sim::ScriptedFabric> fabric);

  bool apply(const Step& step);  // false: refused
  void send(const Sends& sends);
  void set_reader(GpuIndex gpu, bool reads);
  void deliver(std::vector<sim::ScriptedFabric::Delivery> arrived, std::vector<Delivery>& read);
  SwitchObservation observe(SwitchIndex index) const;
  fabric_switch::PortIndex port_of(const SetPort& what) const;

  std::unique_ptr<sim::ScriptedFabric> fabric_;
  std::vector<bool> stopped_;                    // by GPU
  std::vector<std::vector<Delivery>> not_read_;  // by GPU: arrived, and its reader stands still
  std::uint64_t next_number_ = 0;                // of messages
};

}  // namespace cnuas::equivalence
