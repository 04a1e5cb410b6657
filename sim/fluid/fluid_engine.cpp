#include "sim/fluid/fluid_engine.h"

#include "core/ccl/executor.h"
#include "core/engine/event_queue.h"
#include "sim/fluid/transport.h"

#include <algorithm>
#include <array>
#include <cassert>
#include <optional>
#include <string>

namespace cnuas::sim {

namespace {

constexpr std::uint64_t kProgressEvery = 1 << 16;

// What leaves ports before what arrives, so that a port is free for what an arrival of the same moment sets
// off.
constexpr unsigned kLeaving = 0;
constexpr unsigned kArriving = 1;

enum class EventKind : std::uint8_t {
  flow_done,     // subject: flow, detail: version
  simgrid_done,  // subject: Transport's token
  empty_done,  // a message without bytes has left: subject: job, detail: source, rank: destination, channel,
               // lane
  delivered,   // the same, without lane
  computed,    // subject: number of the computation
  begin,       // subject: GPU
  background_on,  // subject: number of the flow
  background_off,
};

struct Event {
  std::uint32_t subject = 0;
  std::uint32_t detail = 0;
  std::uint32_t rank = 0;
  EventKind kind = EventKind::begin;
  std::uint8_t channel = 0;
  ccl::Lane lane = 0;
};

// Tokens of SimGrid's activities: flows have Transport's numbers, computations start here.
constexpr Kernel::Token kComputeToken = Kernel::Token{1} << 32;

// One rank of a collective: its program, and its port as this collective uses it.
struct RankState {
  RankState(const ccl::Schedule& schedule, ccl::Rank rank) : executor(schedule, rank, false) {}

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
  bool overlap = false;
  bool begun = false;
};
constexpr std::uint32_t kNoRank = ~0u;

}  // namespace

class FluidEngine::Run {
 public:
  Run(FluidEngine& engine, const std::vector<Phase>& phases)
      : engine_(engine),
        fabric_(engine.fabric_),
        kernel_(engine.kernel_),
        transport_(engine.fabric_, engine.routes_, engine.kernel_, engine.options_.simgrid_flows),
        phases_(phases),
        program_(engine.fabric_.gpus.size(), 0),
        computing_(engine.fabric_.gpus.size(), 0),
        background_running_(engine.background_.size(), false) {
    outcome_.link_bytes.assign(link_count(fabric_), 0);
    outcome_.phases.resize(phases.size());
  }

  Result<FluidOutcome> execute() {
    if (Result<void> ready = set_up(); !ready) return tl::unexpected<Error>(ready.error());
    begin_ = now_ = kernel_.now();
    for (GpuIndex gpu = 0; gpu < fabric_.gpus.size(); ++gpu) {
      queue_.push(begin_, kArriving, Event{gpu, 0, 0, EventKind::begin, 0, 0});
    }
    for (std::uint32_t i = 0; i < engine_.background_.size(); ++i) {
      const BackgroundFlow& flow = engine_.background_[i];
      push(begin_ + flow.start_ps, kLeaving, Event{i, 0, 0, EventKind::background_on, 0, 0});
      if (flow.duration_ps) {
        push(begin_ + flow.start_ps + *flow.duration_ps, kLeaving,
             Event{i, 0, 0, EventKind::background_off, 0, 0});
      }
    }
    kernel_.run(begin_, {[this](Kernel::Token token) { done_.push_back(token); },
                         [this](Picoseconds now) { pump(now); }});
    if (error_) return tl::unexpected<Error>(*error_);
    if (unfinished_ > 0) return fail(ErrorCode::mismatch, diagnose());
    outcome_.time_ps = end_ - begin_;
    outcome_.compute_ps = *std::max_element(computing_.begin(), computing_.end());
    return std::move(outcome_);
  }

 private:
  // --- setting up ---

  Result<void> set_up() {
    jobs_.resize(phases_.size());
    for (std::size_t i = 0; i < phases_.size(); ++i) {
      Job& job = jobs_[i];
      job.overlap = phases_[i].overlap;
      job.rank_of.assign(fabric_.gpus.size(), kNoRank);
      const auto* compute = std::get_if<ComputePhase>(&phases_[i].work);
      const auto* call = std::get_if<CollectiveCall>(&phases_[i].work);
      for (const GpuId id : compute ? compute->ranks : call->ranks) {
        const Result<GpuIndex> gpu = find_gpu(fabric_, id);
        if (!gpu) return tl::unexpected<Error>(gpu.error());
        job.rank_of[*gpu] = static_cast<std::uint32_t>(job.gpus.size());
        job.gpus.push_back(*gpu);
      }
      unfinished_ += job.gpus.size();
      if (compute) {
        job.duration_ps = compute->duration_ps;
      } else if (Result<void> ready = set_up_collective(job, *call); !ready) {
        return ready;
      }
    }
    return {};
  }

  static Result<void> set_up_collective(Job& job, const CollectiveCall& call) {
    job.call = &call;
    job.element_bytes = size_of(call.type);
    Result<std::unique_ptr<ccl::Schedule>> schedule = ccl::make_schedule(problem_of(call));
    if (!schedule) return tl::unexpected<Error>(schedule.error());
    job.schedule = std::move(*schedule);
    job.ranks.reserve(job.gpus.size());
    for (ccl::Rank rank = 0; rank < job.gpus.size(); ++rank)
      job.ranks.emplace_back(*job.schedule, rank);
    return {};
  }

  // --- the loop ---

  void push(Picoseconds time, unsigned priority, const Event& event) {
    if (time > begin_ + kMaxKernelTime || time > kMaxKernelTime) {
      error_ = Error{ErrorCode::out_of_range,
                     "the simulated time exceeds " + std::to_string(kMaxKernelTime / kSecond) +
                         " s, beyond which picoseconds are no longer exact; use smaller sizes, fewer of "
                         "them, or faster links",
                     {}};
      return;
    }
    queue_.push(time, priority, event);
  }

  void pump(Picoseconds kernel_now) {
    for (const Kernel::Token token : done_) {
      const EventKind kind = token >= kComputeToken ? EventKind::computed : EventKind::simgrid_done;
      queue_.push(std::max(now_, kernel_now), kLeaving,
                  Event{static_cast<std::uint32_t>(token), 0, 0, kind, 0, 0});
    }
    done_.clear();
    for (;;) {
      if (error_) return stop();
      if (!deferred_.empty() || transport_.wants_launch()) {
        if (kernel_.now() < now_) return kernel_.wake_at(now_);
        enter_simgrid();
      }
      const Picoseconds next = queue_.next_time();
      if (unfinished_ == 0 || next == kNever) break;
      // SimGrid may end something before `next`, and that may change it.
      if (next > kernel_.now() && kernel_.in_flight() > 0) return kernel_.wake_at(next);
      run_instant(next);
    }
    if (unfinished_ > 0 && kernel_.in_flight() > 0) return;
    stop();
    if (kernel_.now() < now_) kernel_.wake_at(now_);  // leave SimGrid's clock where the run ended
  }

  void stop() {
    queue_.clear();
    for (std::size_t i = 0; i < background_running_.size(); ++i) {
      if (background_running_[i]) kernel_.stop_background(i);
      background_running_[i] = false;
    }
  }

  // SimGrid's clock is at now_: start there what this instant asked for.
  void enter_simgrid() {
    for (const auto& action : deferred_)
      action();
    deferred_.clear();
    transport_.launch();
  }

  void run_instant(Picoseconds time) {
    now_ = time;
    do {
      while (queue_.next_time() == time)
        handle(queue_.pop().payload);
      changed_.clear();
      transport_.settle(time, changed_);
      for (const FlowNetwork::Completion& each : changed_) {
        push(each.time_ps, kLeaving, Event{each.flow, each.version, 0, EventKind::flow_done, 0, 0});
      }
    } while (!error_ && queue_.next_time() == time);
  }

  void handle(const Event& event) {
    switch (event.kind) {
      case EventKind::flow_done: {
        Message message;
        if (transport_.finish(event.subject, event.detail, message)) transmitted(message);
        break;
      }
      case EventKind::simgrid_done:
        transmitted(transport_.finish_in_simgrid(event.subject));
        break;
      case EventKind::empty_done:
        transmitted(message_between(event.subject, event.detail, event.rank, 0, event.lane, event.channel));
        break;
      case EventKind::computed:
        computed(event.subject);
        break;
      case EventKind::delivered:
        deliver(event);
        break;
      case EventKind::begin:
        begin_phases(event.subject);
        break;
      case EventKind::background_on: {
        const BackgroundFlow& flow = engine_.background_[event.subject];
        background_running_[event.subject] = true;
        transport_.occupy(*find_gpu(fabric_, flow.from), *find_gpu(fabric_, flow.to));
        deferred_.push_back([this, i = event.subject] { kernel_.start_background(i); });
        break;
      }
      case EventKind::background_off: {
        const BackgroundFlow& flow = engine_.background_[event.subject];
        background_running_[event.subject] = false;
        transport_.vacate(*find_gpu(fabric_, flow.from), *find_gpu(fabric_, flow.to));
        deferred_.push_back([this, i = event.subject] { kernel_.stop_background(i); });
        break;
      }
    }
  }

  void count_event() {
    if (++outcome_.events % kProgressEvery == 0 && engine_.progress)
      engine_.progress(now_ - begin_, outcome_.events);
  }

  // --- each GPU's way through the phases ---

  void begin_phases(GpuIndex gpu) {
    while (program_[gpu] < jobs_.size()) {
      const std::uint32_t index = program_[gpu]++;
      Job& job = jobs_[index];
      if (job.rank_of[gpu] == kNoRank) continue;
      if (!job.begun) outcome_.phases[index].begin_ps = now_ - begin_;
      job.begun = true;
      const bool overlap = job.overlap;
      if (job.call == nullptr) {
        begin_compute(index, gpu);
      } else {
        begin_rank(index, job.rank_of[gpu]);
      }
      if (!overlap) return;
    }
  }

  void begin_compute(std::uint32_t index, GpuIndex gpu) {
    computing_[gpu] += jobs_[index].duration_ps;
    const auto number = static_cast<std::uint32_t>(computations_.size());
    computations_.push_back({index, gpu});
    deferred_.push_back([this, number, gpu, index] {
      kernel_.start_compute(gpu, jobs_[index].duration_ps, kComputeToken + number);
    });
  }

  void computed(std::uint32_t number) {
    count_event();
    mix(static_cast<std::uint64_t>(now_ - begin_));
    phase_over(computations_[number].job, computations_[number].gpu);
  }

  void begin_rank(std::uint32_t index, ccl::Rank rank) {
    RankState& state = jobs_[index].ranks[rank];
    state.started = true;
    state.executor.start(actions_);
    act(index, rank);
  }

  void phase_over(std::uint32_t index, GpuIndex gpu) {
    --unfinished_;
    end_ = now_;
    outcome_.phases[index].end_ps = now_ - begin_;
    if (!jobs_[index].overlap) queue_.push(now_, kArriving, Event{gpu, 0, 0, EventKind::begin, 0, 0});
  }

  // --- messages ---

  // Carries out what the rank's executor has asked for in actions_.
  void act(std::uint32_t index, ccl::Rank rank) {
    Job& job = jobs_[index];
    RankState& state = job.ranks[rank];
    for (const ccl::Executor::Action& action : actions_) {
      assert(action.step.op == ccl::Op::send);
      const Message message =
          message_between(index, rank, action.step.peer, action.step.count * job.element_bytes, action.lane,
                          action.step.channel);
      if (state.sending) {
        state.queue[state.waiting++] = message;
      } else {
        state.sending = true;
        transmit(message, state);
      }
    }
    actions_.clear();
    if (state.started && state.executor.finished()) {
      state.started = false;
      phase_over(index, job.gpus[rank]);
    }
  }

  Message message_between(std::uint32_t job, ccl::Rank from, ccl::Rank to, std::uint64_t bytes,
                          ccl::Lane lane, std::uint8_t channel) const {
    return Message{job, from, to, jobs_[job].gpus[from], jobs_[job].gpus[to], bytes, 0, lane, channel};
  }

  void transmit(Message message, const RankState& port) {
    if (message.bytes > 0) {
      message.late_ps = port.free_ps == now_ ? port.free_late_ps : 0;
      transport_.start(message);
    } else {
      queue_.push(
          now_, kLeaving,
          Event{message.job, message.from, message.to, EventKind::empty_done, message.channel, message.lane});
    }
  }

  void transmitted(const Message& message) {
    count_event();
    account(message);
    const Picoseconds arrival = now_ + engine_.routes_.latency_ps(message.from_gpu, message.to_gpu);
    push(arrival, kArriving,
         Event{message.job, message.from, message.to, EventKind::delivered, message.channel, 0});
    RankState& state = jobs_[message.job].ranks[message.from];
    state.free_ps = now_;
    state.free_late_ps = message.late_ps;
    if (state.waiting > 0) {
      const Message next = state.queue[0];
      std::move(state.queue.begin() + 1, state.queue.begin() + state.waiting, state.queue.begin());
      --state.waiting;
      transmit(next, state);
    } else {
      state.sending = false;
    }
    state.executor.sent(message.lane, actions_);
    act(message.job, message.from);
  }

  void account(const Message& message) {
    FluidOutcome::PhaseOutcome& phase = outcome_.phases[message.job];
    ++phase.messages;
    const LinkProfile& port = fabric_.gpus[message.from_gpu].link;
    phase.wire_bytes += port.packets ? port.packets->wire_bytes(message.bytes) : message.bytes;
    outcome_.link_bytes[gpu_uplink(message.from_gpu)] += message.bytes;
    outcome_.link_bytes[gpu_downlink(message.to_gpu)] += message.bytes;
    const SwitchIndex first = fabric_.gpus[message.from_gpu].attached;
    for (const LinkIndex link :
         engine_.routes_.between_switches(first, fabric_.gpus[message.to_gpu].attached)) {
      outcome_.link_bytes[link] += message.bytes;
    }
  }

  void deliver(const Event& event) {
    count_event();
    mix(static_cast<std::uint64_t>(now_ - begin_));
    mix(static_cast<std::uint64_t>(event.detail) << 32 | event.rank);
    jobs_[event.subject].ranks[event.rank].executor.arrived(event.detail, event.channel, actions_);
    act(event.subject, event.rank);
  }

  // Order matters, so equal digests mean equal arrivals at equal times in equal order.
  void mix(std::uint64_t value) {
    outcome_.digest = (outcome_.digest ^ value) * 0x9E3779B97F4A7C15u;
    outcome_.digest ^= outcome_.digest >> 29;
  }

  std::string diagnose() const {
    for (const Job& job : jobs_) {
      for (const RankState& state : job.ranks) {
        ccl::Step step;
        for (ccl::Lane lane = 0; job.schedule && lane < job.schedule->lanes(); ++lane) {
          if (state.executor.finished() || !state.executor.waits_for_message(lane, step)) continue;
          return "the schedule does not finish: rank " + std::to_string(state.executor.rank()) +
                 " waits for a message from rank " + std::to_string(step.peer);
        }
      }
    }
    return "the schedule does not finish";
  }

  struct Computation {
    std::uint32_t job;
    GpuIndex gpu;
  };

  FluidEngine& engine_;
  const Fabric& fabric_;
  Kernel& kernel_;
  Transport transport_;
  const std::vector<Phase>& phases_;
  EventQueue<Event> queue_;
  Picoseconds begin_ = 0;  // on the kernel's clock
  Picoseconds now_ = 0;
  Picoseconds end_ = 0;
  std::vector<Job> jobs_;
  std::vector<std::uint32_t> program_;  // by GPU: next phase
  std::size_t unfinished_ = 0;          // (phase, GPU) pairs
  std::vector<Computation> computations_;
  std::vector<Picoseconds> computing_;  // by GPU
  std::vector<bool> background_running_;
  std::vector<Kernel::Token> done_;              // reported by SimGrid, not yet handled
  std::vector<std::function<void()>> deferred_;  // needs SimGrid's clock to be at now_
  std::vector<FlowNetwork::Completion> changed_;
  ccl::Executor::Actions actions_;
  std::optional<Error> error_;
  FluidOutcome outcome_;
};

FluidEngine::FluidEngine(const Fabric& fabric, const RouteTable& routes, Kernel& kernel,
                         const std::vector<BackgroundFlow>& background, FluidOptions options)
    : fabric_(fabric), routes_(routes), kernel_(kernel), background_(background), options_(options) {}

FluidEngine::~FluidEngine() = default;

Result<FluidOutcome> FluidEngine::run(const std::vector<Phase>& phases) {
  return Run(*this, phases).execute();
}

}  // namespace cnuas::sim
