#include "tests/ccl/port_model.h"

#include "core/ccl/executor.h"
#include "core/engine/event_queue.h"

#include <cmath>
#include <deque>
#include <vector>

namespace cnuas::ccl {
namespace {

struct Message {
  Rank source = 0;
  Lane lane = 0;
  Rank destination = 0;
  std::uint8_t channel = 0;
  // Picoseconds of the whole ingress that are left, as of `updated`. Whole numbers unless it is shared.
  double left = 0;
  Picoseconds updated = 0;
  std::uint32_t plan = 0;  // counts the times its end has been planned anew
};

struct Event {
  enum class Kind : std::uint8_t { transmitted, arrived } kind;
  std::uint32_t message;
  std::uint32_t plan;
};

class Simulation {
 public:
  Simulation(const Schedule& schedule, std::uint32_t element_bytes, const PortModel& port)
      : element_bytes_(element_bytes),
        port_(port),
        egress_(schedule.problem().ranks),
        ingress_(schedule.problem().ranks) {
    executors_.reserve(schedule.problem().ranks);
    for (Rank rank = 0; rank < schedule.problem().ranks; ++rank)
      executors_.emplace_back(schedule, rank, false);
  }

  PortModelRun run() {
    Executor::Actions actions;
    for (Executor& executor : executors_) {
      executor.start(actions);
      start_sends(executor.rank(), actions);
    }
    while (!events_.empty()) {
      const auto event = events_.pop();
      const bool outdated = event.payload.kind == Event::Kind::transmitted &&
                            event.payload.plan != messages_[event.payload.message].plan;
      if (outdated) continue;
      now_ = event.time_ps;
      const Message message = messages_[event.payload.message];
      if (event.payload.kind == Event::Kind::arrived) {
        executors_[message.destination].arrived(message.source, message.channel, actions);
        start_sends(message.destination, actions);
      } else {
        transmitted(event.payload.message);
        executors_[message.source].sent(message.lane, actions);
        start_sends(message.source, actions);
      }
    }
    result_.time_ps = now_;
    for (const Executor& executor : executors_)
      if (!executor.finished()) result_.time_ps = kNever;
    return result_;
  }

 private:
  struct Egress {
    std::deque<std::uint32_t> waiting;
    bool busy = false;
  };

  void start_sends(Rank rank, Executor::Actions& actions) {
    for (const Executor::Action& action : actions) {
      Message message;
      message.source = rank;
      message.lane = action.lane;
      message.destination = action.step.peer;
      message.channel = action.step.channel;
      message.left =
          static_cast<double>(transmission_ps(action.step.count * element_bytes_, port_.rate_bytes_per_s));
      egress_[rank].waiting.push_back(static_cast<std::uint32_t>(messages_.size()));
      messages_.push_back(message);
      ++result_.messages;
    }
    actions.clear();
    serve(rank);
  }

  void serve(Rank rank) {
    Egress& egress = egress_[rank];
    if (egress.busy || egress.waiting.empty()) return;
    const std::uint32_t id = egress.waiting.front();
    egress.waiting.pop_front();
    egress.busy = true;
    const Rank to = messages_[id].destination;
    progress(to);
    messages_[id].updated = now_;
    ingress_[to].push_back(id);
    plan(to);
  }

  void transmitted(std::uint32_t id) {
    const Message& message = messages_[id];
    progress(message.destination);
    std::erase(ingress_[message.destination], id);
    plan(message.destination);
    events_.push(now_ + port_.latency_ps, 1, Event{Event::Kind::arrived, id, 0});
    egress_[message.source].busy = false;
    serve(message.source);
  }

  // Accounts for what has come in since the set of senders last changed.
  void progress(Rank rank) {
    const auto senders = static_cast<double>(ingress_[rank].size());
    for (const std::uint32_t id : ingress_[rank]) {
      Message& message = messages_[id];
      const auto elapsed = static_cast<double>(now_ - message.updated);
      if (elapsed > 0 && senders > 1) result_.shared = true;
      message.left = std::max(0.0, message.left - elapsed / senders);
      message.updated = now_;
    }
  }

  void plan(Rank rank) {
    const auto senders = static_cast<double>(ingress_[rank].size());
    for (const std::uint32_t id : ingress_[rank]) {
      Message& message = messages_[id];
      const double span = std::ceil(message.left * senders - 1e-6);
      events_.push(now_ + static_cast<Picoseconds>(std::max(0.0, span)), 0,
                   Event{Event::Kind::transmitted, id, ++message.plan});
    }
  }

  std::uint32_t element_bytes_;
  PortModel port_;
  std::vector<Executor> executors_;
  std::vector<Egress> egress_;
  std::vector<std::vector<std::uint32_t>> ingress_;  // messages that come in, by rank
  std::vector<Message> messages_;
  EventQueue<Event> events_;
  Picoseconds now_ = 0;
  PortModelRun result_;
};

}  // namespace

PortModelRun run_port_model(const Schedule& schedule, std::uint32_t element_bytes, const PortModel& port) {
  return Simulation(schedule, element_bytes, port).run();
}

}  // namespace cnuas::ccl
