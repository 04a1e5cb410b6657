// Runs one rank's part of a schedule. A state machine without I/O and without data: it says what to do next
// and is told what has happened; what carries the messages (flows, frames, sockets) and what holds the data
// is the driver's.
#pragma once

#include "core/ccl/early_messages.h"
#include "core/ccl/schedule.h"

#include <array>
#include <cstdint>
#include <vector>

namespace cnuas::ccl {

class Executor {
 public:
  // What the driver has to do, in the order given.
  struct Action {
    Lane lane = 0;
    Step step;  // send: start it, and call sent(lane) once the source may be overwritten.
                // recv, recv_reduce: take the next message from (step.peer, step.channel) and store or fold
                // it, now. copy, reduce: carry it out now.
  };
  using Actions = std::vector<Action>;

  // With local_steps false only sends are reported: for drivers that carry sizes and no data.
  // Keeps a reference: the schedule must outlive the executor.
  Executor(const Schedule& schedule, Rank rank, bool local_steps);

  // Each appends to `out` what has become possible. start() once, first.
  void start(Actions& out);
  // The send of `lane` is complete. Precondition: one is under way.
  void sent(Lane lane, Actions& out);
  // A whole message from `peer` on `channel` is here, in order. It may be early: it then counts until its
  // step comes.
  void arrived(Rank peer, std::uint8_t channel, Actions& out);

  bool finished() const { return lanes_left_ == 0; }
  Rank rank() const { return rank_; }

  // Where a lane stands: steps completed, and the step it waits in. For diagnosis ("rank 3 waits for 2").
  std::uint64_t completed(Lane lane) const { return lane_[lane].completed; }
  // The message a lane waits for, if its present step is a receive that nothing but the message keeps from
  // running.
  bool waits_for_message(Lane lane, Step& step) const;
  // Messages that have arrived and were not yet asked for.
  std::uint64_t early_messages() const { return early_.total(); }

 private:
  enum class State : std::uint8_t { ready, sending, receiving, blocked, done };
  struct LaneState {
    std::uint64_t completed = 0;
    std::uint64_t total = 0;
    Step step;  // the present one, valid unless done
    State state = State::ready;
  };

  // Makes the next step of a lane its present one.
  void load(Lane lane);
  void complete(Lane lane);
  bool dependencies_met(const Step& step) const;
  // Takes the present step of a lane as far as it goes; true if it is complete.
  bool run(Lane lane, Actions& out);
  // Runs lanes until none can go on.
  void advance(Actions& out);

  const Schedule& schedule_;
  Rank rank_;
  bool local_steps_;
  Lane lanes_;
  Lane lanes_left_;
  std::array<LaneState, kMaxLanes> lane_{};
  EarlyMessages early_;
};

}  // namespace cnuas::ccl
