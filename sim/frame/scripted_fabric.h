// A fabric in frame fidelity that is led by hand: GPUs connect and leave, send messages byte by byte, stop
// reading; an operator sets ports and groups; and in between everything comes to rest. Needs no SimGrid.
#pragma once

#include "sim/frame/frame_mover.h"

#include <memory>
#include <vector>

namespace cnuas::sim {

// What happens between two calls of rest() begins at one moment of virtual time, in the order of the calls.
class ScriptedFabric final : private MessageSink, private FrameSink {
 public:
  // A frame as a GPU got it: its message, header included, in the byte order it came in.
  struct Delivery {
    GpuIndex to = 0;
    std::vector<std::byte> message;
  };

  // Links between switches are up and at rest, GPUs are not connected. `fabric` must outlive it. Errors: what
  // Switch::create() refuses.
  static Result<std::unique_ptr<ScriptedFabric>> create(const Fabric& fabric);

  // --- GPUs. Precondition of all but connect(): the GPU is connected.
  // The first thing that a GPU sends is an announcement (an empty DISCOVERY to all, big-endian), if
  // `announce`.
  void connect(GpuIndex gpu, bool announce) { mover_.connect(gpu, announce); }
  void disconnect(GpuIndex gpu) { mover_.disconnect(gpu); }
  void send(GpuIndex gpu, std::span<const std::byte> message) { mover_.inject(gpu, message); }
  // It has room for so many frames more, and then reads no further; nullopt: it reads all there are.
  void limit_reader(GpuIndex gpu, std::optional<std::uint32_t> frames) { mover_.limit_reader(gpu, frames); }

  // --- operator. Precondition of clear_counters(): at rest.
  void set_admin_state(SwitchIndex target, fabric_switch::PortIndex port, bool up) {
    mover_.set_admin_state(target, port, up);
  }
  void clear_counters(SwitchIndex target) { mover_.clear_counters(target); }
  fabric_switch::GroupTable& groups(SwitchIndex target) { return mover_.groups(target); }

  // Runs until nothing is left to happen within `patience_ps` of the present moment: with kNever until every
  // queue is empty, by being sent or by the switch's watchdog; with less than the stall timeout, queues for
  // readers that stand still stay as they are. Returns what the GPUs got, in order of time. Errors: mismatch
  // when a frame was neither delivered nor counted; out_of_range when time has run out.
  Result<std::vector<Delivery>> rest(Picoseconds patience_ps = kNever);

  const Fabric& fabric() const { return context_.fabric; }
  const fabric_switch::Switch& switch_at(SwitchIndex index) const { return mover_.switches()[index]; }
  // What a port leads to: the GPU, or nullopt when that is another switch.
  std::optional<GpuIndex> gpu_at(SwitchIndex target, fabric_switch::PortIndex port) const {
    return mover_.gpu_at(target, port);
  }

 private:
  explicit ScriptedFabric(const Fabric& fabric);

  void sent(const Message&) override {}
  void arrived(std::uint32_t, ccl::Rank, ccl::Rank, std::uint8_t) override {}
  void delivered(GpuIndex to, const wire::FrameHeader& header, std::span<const std::byte> payload) override;

  RouteTable routes_;
  Workload workload_;
  FabricContext context_;
  Timeline timeline_;
  FrameMover mover_;
  std::vector<Delivery> deliveries_;
};

}  // namespace cnuas::sim
