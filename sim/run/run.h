// Drives one run: every GPU through its phases, every rank's executor through its schedule, over whatever
// moves the messages; keeps the core's events and SimGrid in step.
#pragma once

#include "core/ccl/executor.h"
#include "core/engine/error.h"
#include "core/workload/workload.h"
#include "sim/run/fabric_context.h"
#include "sim/run/message.h"
#include "sim/run/outcome.h"
#include "sim/run/payload.h"
#include "sim/run/timeline.h"
#include "sim/run/traffic.h"
#include "sim/simgrid/kernel.h"

#include <algorithm>
#include <array>
#include <cassert>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace cnuas::sim {

// What both fidelities are given.
struct RunContext : FabricContext {
  Kernel& kernel;
  bool carry_payload = false;  // real bytes, folded and checked; else sizes alone
  // Called every some ten thousand events with the virtual time since the run began and the events so far.
  std::function<void(Picoseconds, std::uint64_t)> progress;
};

// A GPU sends the messages of one collective one at a time, in the order in which they became ready.
//
// Mover moves them. It is made with (RunContext&, Timeline&, MessageSink&, options...) and has
//   Picoseconds open(Picoseconds now)       sets itself up; the phases begin at the time returned
//   void start(const Message&)              takes effect in settle()
//   void settle()                           once at the end of each instant, repeated while it makes events
//   for now void handle(const Event&)               an event of its own kinds bool wants_launch(); void
//   launch()      activities to start in SimGrid, whose clock must be at the present moment void
//   simgrid_done(Kernel::Token)        one of them is complete void background(std::size_t i, bool on) a
//   background flow starts or ends now; true: SimGrid runs it Result<void> close(Outcome&)            after
//   the last event: counters, and what must hold of them
template <class Mover>
class Run final : public MessageSink {
 public:
  template <class... Options>
  Run(RunContext& context, const std::vector<Phase>& phases, Options&&... options)
      : context_(context),
        phases_(phases),
        mover_(context, timeline_, *this, std::forward<Options>(options)...),
        program_(context.fabric.gpus.size(), 0),
        computing_(context.fabric.gpus.size()),
        background_running_(context.workload.background.size(), false) {
    outcome_.link_bytes.assign(link_count(context.fabric), 0);
    outcome_.phases.resize(phases.size());
  }

  Result<Outcome> execute();
  Mover& mover() { return mover_; }

  void sent(const Message& message) override;
  void arrived(std::uint32_t job, ccl::Rank from, ccl::Rank to, std::uint8_t channel) override;

 private:
  static constexpr std::uint64_t kProgressEvery = 1 << 16;
  static constexpr std::uint32_t kNoRank = ~0u;
  static constexpr std::uint64_t kMostPayload = std::uint64_t{4} << 30;  // bytes of all ranks together
  // Tokens of SimGrid's activities: the mover's are below, computations from here on.
  static constexpr Kernel::Token kComputeToken = Kernel::Token{1} << 32;

  enum Kind : std::uint8_t {
    begin_gpu,      // a: GPU
    computed,       // a: number of the computation
    mover_done,     // a: the mover's token
    background_on,  // a: number of the flow
    background_off,
    traffic_due,  // a: job, b: sender
  };

  // One rank of a collective: its program, and its port as this collective uses it.
  struct RankState {
    RankState(const ccl::Schedule& schedule, ccl::Rank rank, bool local_steps)
        : executor(schedule, rank, local_steps) {}

    ccl::Executor executor;
    bool started = false;
    bool sending = false;
    Picoseconds free_ps = 0;  // when the last message left, rounded, and how much after that it really did
    double free_late_ps = 0;
    std::uint8_t waiting = 0;  // entries of queue; each lane has at most one message outstanding
    std::array<Message, ccl::kMaxLanes> queue{};  // in the order in which they became ready
  };

  // One phase under way.
  struct Job {
    const CollectiveCall* call = nullptr;  // none: computation
    Picoseconds duration_ps = 0;
    std::unique_ptr<ccl::Schedule> schedule;
    std::vector<GpuIndex> gpus;          // by rank
    std::vector<std::uint32_t> rank_of;  // by GPU; kNoRank if it takes no part
    std::vector<RankState> ranks;
    std::uint32_t element_bytes = 0;
    std::optional<Traffic> traffic;
    std::unique_ptr<Payload> payload;  // none: sizes alone
    std::size_t unfinished = 0;
    bool overlap = false;
    bool begun = false;
  };
  struct Computation {
    std::uint32_t job;
    GpuIndex gpu;
  };

  // How long one GPU has computed. Computations that overlap share its processor, and their time counts once.
  struct Computing {
    std::uint32_t running = 0;
    Picoseconds since_ps = 0;  // when the first of those that run now began
    Picoseconds total_ps = 0;  // before that
  };

  Result<void> set_up();
  Result<std::vector<GpuIndex>> positions(const std::vector<GpuId>& ids) const;
  Result<void> set_up_collective(Job& job, const CollectiveCall& call);

  void pump(Picoseconds kernel_now);
  void enter_simgrid();
  void run_instant(Picoseconds time);
  void handle(const Event& event);
  void switch_background(std::uint32_t index, bool on);
  void stop();
  void count_event();

  void begin_phases(GpuIndex gpu);
  void begin_compute(std::uint32_t index, GpuIndex gpu);
  void compute_done(const Computation& computation);
  void begin_rank(std::uint32_t index, ccl::Rank rank);
  void phase_over(std::uint32_t index, GpuIndex gpu);

  void act(std::uint32_t index, ccl::Rank rank);
  void transmit(Message message, const RankState& port);
  void send_traffic(std::uint32_t index, std::uint32_t sender);
  void traffic_arrived(std::uint32_t index, std::uint32_t number);
  void mix(std::uint64_t value);
  std::string why_unfinished(const Job& job) const;

  RunContext& context_;
  const std::vector<Phase>& phases_;
  Timeline timeline_;
  Mover mover_;
  Picoseconds open_ps_ = 0;  // when the phases begin
  Picoseconds end_ps_ = 0;
  std::vector<Job> jobs_;
  std::vector<std::uint32_t> program_;  // by GPU: next phase
  std::size_t unfinished_ = 0;          // (phase, GPU) pairs
  std::vector<Computation> computations_;
  std::vector<Computing> computing_;  // by GPU
  std::vector<bool> background_running_;
  std::vector<Kernel::Token> done_;              // reported by SimGrid, not yet handled
  std::vector<std::function<void()>> deferred_;  // needs SimGrid's clock to be at the present moment
  ccl::Executor::Actions actions_;
  Outcome outcome_;
};

}  // namespace cnuas::sim

#include "sim/run/run_loop.h"
#include "sim/run/run_phases.h"
