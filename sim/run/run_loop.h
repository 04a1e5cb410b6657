// Run's event loop. Included by run.h only.
#pragma once

#include "sim/run/run.h"

namespace cnuas::sim {

template <class Mover>
Result<Outcome> Run<Mover>::execute() {
  if (Result<void> ready = set_up(); !ready) return tl::unexpected<Error>(ready.error());
  timeline_.begin_ps = timeline_.now_ps = context_.kernel.now();
  open_ps_ = mover_.open(timeline_.now_ps);
  for (GpuIndex gpu = 0; gpu < context_.fabric.gpus.size(); ++gpu) {
    timeline_.push(open_ps_, kArriving, Event{gpu, 0, 0, begin_gpu, 0, 0});
  }
  for (std::uint32_t i = 0; i < context_.workload.background.size(); ++i) {
    const BackgroundFlow& flow = context_.workload.background[i];
    timeline_.push(open_ps_ + flow.start_ps, kLeaving, Event{i, 0, 0, background_on, 0, 0});
    if (flow.duration_ps) {
      timeline_.push(open_ps_ + flow.start_ps + *flow.duration_ps, kLeaving,
                     Event{i, 0, 0, background_off, 0, 0});
    }
  }
  context_.kernel.run(timeline_.begin_ps, {[this](Kernel::Token token) { done_.push_back(token); },
                                           [this](Picoseconds now) { pump(now); }});
  if (timeline_.error) return tl::unexpected<Error>(*timeline_.error);
  for (std::size_t i = 0; i < jobs_.size(); ++i) {
    if (jobs_[i].traffic) outcome_.phases[i].traffic = jobs_[i].traffic->outcome();
    if (jobs_[i].payload && jobs_[i].unfinished == 0) {
      const ccl::Problem& problem = jobs_[i].schedule->problem();
      const bool canonical = fold_guarantee(problem.collective, problem.algorithm, problem.ranks).canonical;
      outcome_.phases[i].wrong_data = jobs_[i].payload->check(canonical);
    }
    if (jobs_[i].unfinished > 0) outcome_.phases[i].incomplete = why_unfinished(jobs_[i]);
  }
  outcome_.time_ps = std::max<Picoseconds>(0, end_ps_ - open_ps_);
  for (const Computing& gpu : computing_)
    outcome_.compute_ps = std::max(outcome_.compute_ps, gpu.total_ps);
  if (Result<void> closed = mover_.close(outcome_); !closed) return tl::unexpected<Error>(closed.error());
  return std::move(outcome_);
}

template <class Mover>
void Run<Mover>::pump(Picoseconds kernel_now) {
  for (const Kernel::Token token : done_) {
    const std::uint8_t kind = token >= kComputeToken ? computed : mover_done;
    timeline_.queue.push(std::max(timeline_.now_ps, kernel_now), kLeaving,
                         Event{static_cast<std::uint32_t>(token), 0, 0, kind, 0, 0});
  }
  done_.clear();
  for (;;) {
    if (timeline_.error) return stop();
    if (!deferred_.empty() || mover_.wants_launch()) {
      if (context_.kernel.now() < timeline_.now_ps) return context_.kernel.wake_at(timeline_.now_ps);
      enter_simgrid();
    }
    const Picoseconds next = timeline_.queue.next_time();
    if (unfinished_ == 0 || next == kNever) break;
    // SimGrid may end something before `next`, and that may change it.
    if (next > context_.kernel.now() && context_.kernel.in_flight() > 0) return context_.kernel.wake_at(next);
    run_instant(next);
  }
  if (unfinished_ > 0 && context_.kernel.in_flight() > 0) return;
  stop();
  // Leave SimGrid's clock where the run ended.
  if (context_.kernel.now() < timeline_.now_ps) context_.kernel.wake_at(timeline_.now_ps);
}

template <class Mover>
void Run<Mover>::stop() {
  timeline_.queue.clear();
  for (std::size_t i = 0; i < background_running_.size(); ++i) {
    if (background_running_[i]) context_.kernel.stop_background(i);
    background_running_[i] = false;
  }
}

// SimGrid's clock is at the present moment: start there what this instant asked for.
template <class Mover>
void Run<Mover>::enter_simgrid() {
  for (const auto& action : deferred_)
    action();
  deferred_.clear();
  mover_.launch();
}

template <class Mover>
void Run<Mover>::run_instant(Picoseconds time) {
  timeline_.now_ps = time;
  do {
    while (timeline_.queue.next_time() == time)
      handle(timeline_.queue.pop().payload);
    mover_.settle();
  } while (!timeline_.error && timeline_.queue.next_time() == time);
}

template <class Mover>
void Run<Mover>::handle(const Event& event) {
  if (event.kind >= kFirstMoverKind) return mover_.handle(event);
  switch (static_cast<Kind>(event.kind)) {
    case begin_gpu:
      return begin_phases(event.a);
    case computed:
      return compute_done(computations_[event.a]);
    case mover_done:
      return mover_.simgrid_done(event.a);
    case background_on:
      return switch_background(event.a, true);
    case background_off:
      return switch_background(event.a, false);
    case traffic_due:
      return send_traffic(event.a, event.b);
  }
}

template <class Mover>
void Run<Mover>::switch_background(std::uint32_t index, bool on) {
  mover_.background(index, on);
  background_running_[index] = on;
  deferred_.push_back([this, index, on] {
    if (on) {
      context_.kernel.start_background(index);
    } else {
      context_.kernel.stop_background(index);
    }
  });
}

template <class Mover>
void Run<Mover>::count_event() {
  if (++outcome_.events % kProgressEvery == 0 && context_.progress) {
    context_.progress(timeline_.now_ps - open_ps_, outcome_.events);
  }
}

}  // namespace cnuas::sim
