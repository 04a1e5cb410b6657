#include "core/ccl/executor.h"

#include <cassert>

namespace cnuas::ccl {

Executor::Executor(const Schedule& schedule, Rank rank, bool local_steps)
    : schedule_(schedule),
      rank_(rank),
      local_steps_(local_steps),
      lanes_(schedule.lanes()),
      lanes_left_(schedule.lanes()) {
  assert(lanes_ <= kMaxLanes);
}

void Executor::start(Actions& out) {
  for (Lane lane = 0; lane < lanes_; ++lane) {
    lane_[lane].total = schedule_.steps(rank_, lane);
    load(lane);
  }
  advance(out);
}

void Executor::sent(Lane lane, Actions& out) {
  assert(lane < lanes_ && lane_[lane].state == State::sending);
  complete(lane);
  advance(out);
}

void Executor::arrived(Rank peer, std::uint8_t channel, Actions& out) {
  for (Lane lane = 0; lane < lanes_; ++lane) {
    const LaneState& state = lane_[lane];
    if (state.state != State::receiving || state.step.peer != peer || state.step.channel != channel) continue;
    if (local_steps_) out.push_back(Action{lane, state.step});
    complete(lane);
    advance(out);
    return;
  }
  early_.add(peer, channel);
}

bool Executor::waits_for_message(Lane lane, Step& step) const {
  if (lane_[lane].state != State::receiving) return false;
  step = lane_[lane].step;
  return true;
}

void Executor::load(Lane lane) {
  LaneState& state = lane_[lane];
  if (state.completed == state.total) {
    state.state = State::done;
    --lanes_left_;
    return;
  }
  state.step = schedule_.step(rank_, lane, state.completed);
  state.state = State::ready;
}

void Executor::complete(Lane lane) {
  ++lane_[lane].completed;
  load(lane);
}

bool Executor::dependencies_met(const Step& step) const {
  for (const Dependency& dependency : step.deps)
    if (lane_[dependency.lane].completed < dependency.steps) return false;
  return true;
}

bool Executor::run(Lane lane, Actions& out) {
  LaneState& state = lane_[lane];
  if (state.state != State::ready && state.state != State::blocked) return false;
  if (!dependencies_met(state.step)) {
    state.state = State::blocked;
    return false;
  }
  switch (state.step.op) {
    case Op::send:
    case Op::switch_reduce:
    case Op::multicast:
      state.state = State::sending;
      out.push_back(Action{lane, state.step});
      return false;
    case Op::recv:
    case Op::recv_reduce:
      if (!early_.take(state.step.peer, state.step.channel)) {
        state.state = State::receiving;
        return false;
      }
      break;
    case Op::nop:
      complete(lane);
      return true;
    case Op::copy:
    case Op::reduce:
      break;
  }
  if (local_steps_) out.push_back(Action{lane, state.step});
  complete(lane);
  return true;
}

void Executor::advance(Actions& out) {
  bool progress = true;
  while (progress) {
    progress = false;
    for (Lane lane = 0; lane < lanes_; ++lane)
      while (run(lane, out))
        progress = true;
  }
}

}  // namespace cnuas::ccl
