#include "core/ccl/verify_pairing.h"

#include <string_view>

namespace cnuas::ccl {
namespace {

std::string_view name_of(Buffer buffer) {
  switch (buffer) {
    case Buffer::input:
      return "input";
    case Buffer::output:
      return "output";
    case Buffer::scratch:
      return "scratch";
  }
  return "?";
}

std::uint64_t elements_of(const Schedule& schedule, Rank rank, Buffer buffer) {
  switch (buffer) {
    case Buffer::input:
      return input_elements(schedule.problem(), rank);
    case Buffer::output:
      return output_elements(schedule.problem(), rank);
    case Buffer::scratch:
      return schedule.scratch_elements(rank);
  }
  return 0;
}

// One step and its place.
struct At {
  const Schedule& schedule;
  Rank rank;
  Lane lane;
  std::uint64_t index;
  const Step& step;

  tl::unexpected<Error> wrong(std::string message) const {
    return fail(ErrorCode::mismatch, std::move(message), place_of(rank, lane, index));
  }
};

Result<void> check_peer(const At& at) {
  const Rank ranks = at.schedule.problem().ranks;
  if (at.step.peer >= ranks)
    return at.wrong("names rank " + std::to_string(at.step.peer) + " as its peer, but there are only " +
                    std::to_string(ranks) + " ranks");
  if (at.step.peer == at.rank) return at.wrong("names its own rank as its peer");
  return {};
}

Result<void> check_range(const At& at, std::string_view verb, const Location& location) {
  if (location.buffer > Buffer::scratch) return at.wrong("names a buffer that does not exist");
  const std::uint64_t size = elements_of(at.schedule, at.rank, location.buffer);
  if (location.offset <= size && at.step.count <= size - location.offset) return {};
  return at.wrong(std::string(verb) + " " + std::to_string(at.step.count) + " elements at offset " +
                  std::to_string(location.offset) + " of " + std::string(name_of(location.buffer)) +
                  ", which has " + std::to_string(size));
}

Result<void> check_dependencies(const At& at) {
  for (const Dependency& dependency : at.step.deps) {
    if (dependency.steps == 0) continue;
    if (dependency.lane >= at.schedule.lanes())
      return at.wrong("depends on lane " + std::to_string(dependency.lane) + ", but there are only " +
                      std::to_string(at.schedule.lanes()) + " lanes");
    const std::uint64_t steps = at.schedule.steps(at.rank, dependency.lane);
    if (dependency.steps > steps)
      return at.wrong("depends on " + std::to_string(dependency.steps) + " steps of lane " +
                      std::to_string(dependency.lane) + ", which has only " + std::to_string(steps));
    if (dependency.lane == at.lane && dependency.steps > at.index)
      return at.wrong("depends on itself: on " + std::to_string(dependency.steps) + " steps of its own lane");
  }
  return {};
}

Result<void> check_step(const At& at) {
  if (auto result = check_dependencies(at); !result) return result;
  const auto reads = [&] { return check_range(at, "reads", at.step.src); };
  const auto writes = [&] { return check_range(at, "writes", at.step.dst); };
  switch (at.step.op) {
    case Op::nop:
      return {};
    case Op::send:
      return check_peer(at).and_then(reads);
    case Op::recv:
      return check_peer(at).and_then(writes);
    case Op::recv_reduce:
      return check_peer(at).and_then(reads).and_then(writes);
    case Op::copy:
    case Op::reduce:
      return reads().and_then(writes);
    case Op::switch_reduce:
    case Op::multicast:
      return fail(ErrorCode::unsupported, "is carried out by a switch, which cannot be verified",
                  place_of(at.rank, at.lane, at.index));
  }
  return at.wrong("has an operation that does not exist");
}

// The `number`-th step of a lane that sends or receives on a channel. Precondition: there is one.
std::uint64_t find_step(const Schedule& schedule, Rank rank, Lane lane, bool sending, Rank peer,
                        std::uint8_t channel, std::uint64_t number) {
  for (std::uint64_t index = 0;; ++index) {
    const Step step = schedule.step(rank, lane, index);
    const bool matches = sending ? sends(step.op) : receives(step.op);
    if (matches && step.peer == peer && step.channel == channel && number-- == 0) return index;
  }
}

tl::unexpected<Error> unpaired(const Schedule& schedule, const Channel& channel) {
  const bool sending = channel.sends > channel.receives;
  const Rank rank = sending ? channel.source : channel.destination;
  const Rank peer = sending ? channel.destination : channel.source;
  const Lane lane = sending ? channel.send_lane : channel.receive_lane;
  const std::uint64_t paired = sending ? channel.receives : channel.sends;
  const std::uint64_t index = find_step(schedule, rank, lane, sending, peer, channel.number, paired);
  return fail(ErrorCode::mismatch,
              deed_of(schedule.step(rank, lane, index)) + ", but rank " + std::to_string(peer) +
                  (sending ? " receives only " : " sends only ") + std::to_string(paired) + " messages there",
              place_of(rank, lane, index));
}

}  // namespace

std::string place_of(Rank rank, Lane lane, std::uint64_t step) {
  return "rank " + std::to_string(rank) + ", lane " + std::to_string(lane) + ", step " + std::to_string(step);
}

std::string deed_of(const Step& step) {
  const std::string other =
      "rank " + std::to_string(step.peer) + " on channel " + std::to_string(step.channel);
  switch (step.op) {
    case Op::send:
      return "sends to " + other;
    case Op::recv:
    case Op::recv_reduce:
      return "receives from " + other;
    case Op::copy:
      return "copies";
    case Op::reduce:
      return "reduces";
    case Op::nop:
    case Op::switch_reduce:
    case Op::multicast:
      break;
  }
  return std::string(name(step.op));
}

Result<void> Channels::add(Rank rank, Lane lane, std::uint64_t index, const Step& step) {
  const Key key = key_of(rank, step);
  const auto [it, is_new] = ids_.try_emplace(key, static_cast<Id>(channels_.size()));
  if (is_new) {
    Channel channel;
    channel.source = key.source;
    channel.destination = key.destination;
    channel.number = key.number;
    channels_.push_back(channel);
  }
  Channel& channel = channels_[it->second];
  std::uint64_t& count = sends(step.op) ? channel.sends : channel.receives;
  Lane& its_lane = sends(step.op) ? channel.send_lane : channel.receive_lane;
  if (count > 0 && its_lane != lane)
    return fail(ErrorCode::mismatch,
                deed_of(step) + ", as lane " + std::to_string(its_lane) +
                    " does: messages of one channel have no order across lanes",
                place_of(rank, lane, index));
  its_lane = lane;
  ++count;
  return {};
}

Result<Channels> check_steps(const Schedule& schedule) {
  Channels channels;
  for (Rank rank = 0; rank < schedule.problem().ranks; ++rank) {
    for (Lane lane = 0; lane < schedule.lanes(); ++lane) {
      const std::uint64_t steps = schedule.steps(rank, lane);
      if (steps > kMostSteps)
        return fail(ErrorCode::out_of_range, "a lane of " + std::to_string(steps) + " steps is too long",
                    place_of(rank, lane, 0));
      for (std::uint64_t index = 0; index < steps; ++index) {
        const Step step = schedule.step(rank, lane, index);
        if (auto result = check_step(At{schedule, rank, lane, index, step}); !result)
          return tl::unexpected<Error>(std::move(result.error()));
        if (!sends(step.op) && !receives(step.op)) continue;
        if (auto result = channels.add(rank, lane, index, step); !result)
          return tl::unexpected<Error>(std::move(result.error()));
      }
    }
  }
  for (Channels::Id id = 0; id < channels.size(); ++id)
    if (channels.at(id).sends != channels.at(id).receives) return unpaired(schedule, channels.at(id));
  return channels;
}

}  // namespace cnuas::ccl
