// Run's phases, ranks and messages. Included by run.h only.
#pragma once

#include "sim/run/run.h"

namespace cnuas::sim {

template <class Mover>
Result<void> Run<Mover>::set_up() {
  jobs_.resize(phases_.size());
  for (std::size_t i = 0; i < phases_.size(); ++i) {
    Job& job = jobs_[i];
    job.overlap = phases_[i].overlap;
    job.rank_of.assign(context_.fabric.gpus.size(), kNoRank);
    const auto* compute = std::get_if<ComputePhase>(&phases_[i].work);
    const auto* call = std::get_if<CollectiveCall>(&phases_[i].work);
    const auto* traffic = std::get_if<TrafficPhase>(&phases_[i].work);
    const std::vector<GpuId>& members = compute ? compute->ranks : call ? call->ranks : traffic->senders;
    Result<std::vector<GpuIndex>> gpus = positions(members);
    if (!gpus) return tl::unexpected<Error>(gpus.error());
    job.gpus = std::move(*gpus);
    for (std::uint32_t rank = 0; rank < job.gpus.size(); ++rank)
      job.rank_of[job.gpus[rank]] = rank;
    job.unfinished = job.gpus.size();
    unfinished_ += job.gpus.size();
    if (compute) {
      job.duration_ps = compute->duration_ps;
    } else if (traffic) {
      Result<std::vector<GpuIndex>> receivers = positions(traffic->receivers);
      if (!receivers) return tl::unexpected<Error>(receivers.error());
      job.traffic.emplace(*traffic, job.gpus, std::move(*receivers), context_.seed + i);
    } else if (Result<void> ready = set_up_collective(job, *call); !ready) {
      return ready;
    }
  }
  return {};
}

template <class Mover>
Result<std::vector<GpuIndex>> Run<Mover>::positions(const std::vector<GpuId>& ids) const {
  std::vector<GpuIndex> result;
  result.reserve(ids.size());
  for (const GpuId id : ids) {
    const Result<GpuIndex> gpu = find_gpu(context_.fabric, id);
    if (!gpu) return tl::unexpected<Error>(gpu.error());
    result.push_back(*gpu);
  }
  return result;
}

template <class Mover>
Result<void> Run<Mover>::set_up_collective(Job& job, const CollectiveCall& call) {
  job.call = &call;
  job.element_bytes = size_of(call.type);
  Result<std::unique_ptr<ccl::Schedule>> schedule = ccl::make_schedule(problem_of(call));
  if (!schedule) return tl::unexpected<Error>(schedule.error());
  job.schedule = std::move(*schedule);
  if (context_.carry_payload) {
    const std::uint64_t needed = Payload::bytes_needed(call, *job.schedule);
    if (needed > kMostPayload) {
      return fail(ErrorCode::out_of_range, "carrying real data would take " + std::to_string(needed) +
                                               " B for the buffers of all ranks; use smaller sizes");
    }
    job.payload = std::make_unique<Payload>(call, *job.schedule, context_.seed);
  }
  job.ranks.reserve(job.gpus.size());
  for (ccl::Rank rank = 0; rank < job.gpus.size(); ++rank)
    job.ranks.emplace_back(*job.schedule, rank, context_.carry_payload);
  return {};
}

template <class Mover>
void Run<Mover>::begin_phases(GpuIndex gpu) {
  while (program_[gpu] < jobs_.size()) {
    const std::uint32_t index = program_[gpu]++;
    Job& job = jobs_[index];
    if (job.rank_of[gpu] == kNoRank) continue;
    if (!job.begun) outcome_.phases[index].begin_ps = timeline_.now_ps - open_ps_;
    job.begun = true;
    const bool overlap = job.overlap;
    if (job.traffic) {
      job.traffic->begin(job.rank_of[gpu], timeline_.now_ps);
      send_traffic(index, job.rank_of[gpu]);
    } else if (job.call == nullptr) {
      begin_compute(index, gpu);
    } else {
      begin_rank(index, job.rank_of[gpu]);
    }
    if (!overlap) return;
  }
}

template <class Mover>
void Run<Mover>::begin_compute(std::uint32_t index, GpuIndex gpu) {
  Computing& here = computing_[gpu];
  if (here.running++ == 0) here.since_ps = timeline_.now_ps;
  const auto number = static_cast<std::uint32_t>(computations_.size());
  computations_.push_back({index, gpu});
  deferred_.push_back([this, number, gpu, index] {
    context_.kernel.start_compute(gpu, jobs_[index].duration_ps, kComputeToken + number);
  });
}

template <class Mover>
void Run<Mover>::compute_done(const Computation& computation) {
  Computing& here = computing_[computation.gpu];
  if (--here.running == 0) here.total_ps += timeline_.now_ps - here.since_ps;
  count_event();
  mix(static_cast<std::uint64_t>(timeline_.now_ps - open_ps_));
  phase_over(computation.job, computation.gpu);
}

template <class Mover>
void Run<Mover>::begin_rank(std::uint32_t index, ccl::Rank rank) {
  RankState& state = jobs_[index].ranks[rank];
  state.started = true;
  state.executor.start(actions_);
  act(index, rank);
}

template <class Mover>
void Run<Mover>::phase_over(std::uint32_t index, GpuIndex gpu) {
  --unfinished_;
  --jobs_[index].unfinished;
  end_ps_ = timeline_.now_ps;
  outcome_.phases[index].end_ps = timeline_.now_ps - open_ps_;
  if (!jobs_[index].overlap) timeline_.push(timeline_.now_ps, kArriving, Event{gpu, 0, 0, begin_gpu, 0, 0});
}

// Carries out what the rank's executor has asked for in actions_.
template <class Mover>
void Run<Mover>::act(std::uint32_t index, ccl::Rank rank) {
  Job& job = jobs_[index];
  RankState& state = job.ranks[rank];
  for (const ccl::Executor::Action& action : actions_) {
    if (job.payload) job.payload->carry_out(rank, action.step);
    if (action.step.op != ccl::Op::send) continue;
    const ccl::Rank peer = action.step.peer;
    const Message message{index,
                          rank,
                          peer,
                          job.gpus[rank],
                          job.gpus[peer],
                          action.step.count * job.element_bytes,
                          0,
                          action.lane,
                          action.step.channel};
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

template <class Mover>
void Run<Mover>::transmit(Message message, const RankState& port) {
  message.late_ps = port.free_ps == timeline_.now_ps ? port.free_late_ps : 0;
  mover_.start(message);
}

// The sender's next message, if it is due; otherwise when it is.
template <class Mover>
void Run<Mover>::send_traffic(std::uint32_t index, std::uint32_t sender) {
  Traffic& traffic = *jobs_[index].traffic;
  if (!traffic.more(sender)) return;
  const Picoseconds due = traffic.due_ps(sender);
  if (due > timeline_.now_ps)
    return timeline_.push(due, kArriving, Event{index, sender, 0, traffic_due, 0, 0});
  mover_.start(traffic.next(index, sender, timeline_.now_ps));
}

template <class Mover>
void Run<Mover>::traffic_arrived(std::uint32_t index, std::uint32_t number) {
  Traffic& traffic = *jobs_[index].traffic;
  const GpuIndex gpu = traffic.gpu(traffic.sender_of(number));
  // Whatever is lost, the phase lasts at least until here.
  outcome_.phases[index].end_ps = timeline_.now_ps - open_ps_;
  end_ps_ = timeline_.now_ps;
  if (traffic.arrived(number, timeline_.now_ps)) phase_over(index, gpu);
}

template <class Mover>
void Run<Mover>::sent(const Message& message) {
  count_event();
  ++outcome_.phases[message.job].messages;
  if (jobs_[message.job].traffic)
    return send_traffic(message.job, jobs_[message.job].rank_of[message.from_gpu]);
  RankState& state = jobs_[message.job].ranks[message.from];
  state.free_ps = timeline_.now_ps;
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

template <class Mover>
void Run<Mover>::arrived(std::uint32_t job, ccl::Rank from, ccl::Rank to, std::uint8_t channel) {
  count_event();
  mix(static_cast<std::uint64_t>(timeline_.now_ps - open_ps_));
  mix(static_cast<std::uint64_t>(from) << 32 | to);
  if (jobs_[job].traffic) return traffic_arrived(job, from);
  jobs_[job].ranks[to].executor.arrived(from, channel, actions_);
  act(job, to);
}

// Order matters, so equal digests mean equal arrivals at equal times in equal order.
template <class Mover>
void Run<Mover>::mix(std::uint64_t value) {
  outcome_.digest = (outcome_.digest ^ value) * 0x9E3779B97F4A7C15u;
  outcome_.digest ^= outcome_.digest >> 29;
}

template <class Mover>
std::string Run<Mover>::why_unfinished(const Job& job) const {
  if (job.traffic) {
    const TrafficOutcome outcome = job.traffic->outcome();
    return std::to_string(outcome.arrived) + " of " + std::to_string(outcome.messages) +
           " messages sent arrived";
  }
  if (job.call == nullptr) return "a computation did not end";
  for (const RankState& state : job.ranks) {
    if (state.executor.finished()) continue;
    ccl::Step step;
    for (ccl::Lane lane = 0; lane < job.schedule->lanes(); ++lane) {
      if (!state.executor.waits_for_message(lane, step)) continue;
      return "rank " + std::to_string(state.executor.rank()) + " waits for a message from rank " +
             std::to_string(step.peer);
    }
  }
  return "a rank still sends";
}

}  // namespace cnuas::sim
