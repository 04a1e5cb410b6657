// SimGrid as the simulator uses it: clock, platform, computation and flows, in the core's picoseconds. The
// only header of this project behind which SimGrid stands.
#pragma once

#include "core/engine/time.h"
#include "core/topology/fabric.h"
#include "core/topology/routes.h"
#include "core/workload/workload.h"

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace cnuas::sim {

// What every result states about how SimGrid was set.
struct KernelInfo {
  std::string version;                                       // "3.32"
  std::vector<std::pair<std::string, std::string>> options;  // name, value
};
KernelInfo kernel_info();

// Times beyond this are refused: SimGrid's clock is a double in seconds, and a double tells picoseconds apart
// up to 2^53 of them (9007 s); a tenth of that leaves the digits that sums of spans need.
inline constexpr Picoseconds kMaxKernelTime = 900 * kSecond;

// One per process: SimGrid's engine is a process-wide singleton.
//
// Nothing here is called back from within SimGrid's own processing: completions are collected and handed
// over, with wake-ups, through `woken`, in which new activities may be started and ended freely.
class Kernel {
 public:
  using Token = std::uint64_t;  // names an activity of the caller's

  // Builds hosts, links and routes of the fabric, with those of `background` (a flow with a rate gets a
  // source of its own behind a link of that rate, since a one-sided communication ignores its rate in this
  // version of SimGrid).
  Kernel(const Fabric& fabric, const RouteTable& routes, const std::vector<BackgroundFlow>& background,
         const std::vector<Straggler>& stragglers);
  ~Kernel();
  Kernel(const Kernel&) = delete;
  Kernel& operator=(const Kernel&) = delete;

  struct Callbacks {
    std::function<void(Token)> done;  // an activity is complete; only records, starts nothing
    std::function<void(Picoseconds now)>
        woken;  // at each wake_at() time, and after each instant in which one completed
  };

  // Runs until no activity and no wake-up is pending. `begin` is a wake-up time not before now().
  void run(Picoseconds begin, Callbacks callbacks);

  Picoseconds now() const;
  // Ask for woken() at this time, not before now(). Asking again for the same or a later time than one
  // already pending is harmless.
  void wake_at(Picoseconds time_ps);

  // Activities not yet complete. While there is one, SimGrid may have something to say before any given time.
  std::size_t in_flight() const;

  void start_flow(GpuIndex from, GpuIndex to, double bytes, Token token);
  // `duration_ps` is the time on an idle processor of normal speed.
  void start_compute(GpuIndex gpu, Picoseconds duration_ps, Token token);
  // Background flows are numbered as given; they never complete and do not count as in flight.
  void start_background(std::size_t index);
  void stop_background(std::size_t index);

  // Links between two GPUs as SimGrid routes, as LinkIndex: for the test that holds it to RouteTable.
  std::vector<LinkIndex> route(GpuIndex from, GpuIndex to) const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace cnuas::sim
