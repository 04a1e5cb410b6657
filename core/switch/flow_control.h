// Which ingresses stand still for which full egress queues.
#pragma once

#include "core/switch/frame_ref.h"

#include <cstddef>
#include <cstdint>
#include <vector>

namespace cnuas::fabric_switch {

// An ingress is paused while it waits for one egress or more. Every call appends the ports whose state
// changed to the list it is given, in order of their numbers.
class FlowControl {
 public:
  explicit FlowControl(std::size_t ports)
      : words_((ports + 63) / 64),
        waiting_(ports * words_),
        waiters_(ports),
        waits_for_(ports),
        overrun_(ports) {}

  bool paused(PortIndex ingress) const { return waits_for_[ingress] > 0; }
  bool awaited(PortIndex egress) const { return waiters_[egress] > 0; }

  // `ingress` waits for `egress` from now on; nothing when it does already.
  void pause(PortIndex ingress, PortIndex egress, std::vector<PortIndex>& paused);

  // Nobody waits for `egress` any more.
  void resume(PortIndex egress, std::vector<PortIndex>& resumed);

  // `ingress` waits for nothing any more.
  void forget(PortIndex ingress, std::vector<PortIndex>& resumed);

  // What came in by `ingress` since it was last paused, in bytes.
  std::uint64_t overrun(PortIndex ingress) const { return overrun_[ingress]; }
  void add_overrun(PortIndex ingress, std::uint64_t bytes) { overrun_[ingress] += bytes; }

 private:
  void let_go(PortIndex ingress, PortIndex egress, std::vector<PortIndex>& resumed);

  std::size_t words_;                     // of 64 ingresses, for each egress
  std::vector<std::uint64_t> waiting_;    // one bit for each egress and ingress
  std::vector<std::uint16_t> waiters_;    // by egress: bits set
  std::vector<std::uint16_t> waits_for_;  // by ingress: bits set
  std::vector<std::uint64_t> overrun_;    // by ingress
};

}  // namespace cnuas::fabric_switch
