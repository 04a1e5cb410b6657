// Spelling of single steps, for the generators.
#pragma once

#include "core/ccl/schedule.h"

#include <cstdint>

namespace cnuas::ccl {

constexpr Location in_input(std::uint64_t offset) {
  return Location{Buffer::input, offset};
}
constexpr Location in_output(std::uint64_t offset) {
  return Location{Buffer::output, offset};
}
constexpr Location in_scratch(std::uint64_t offset) {
  return Location{Buffer::scratch, offset};
}

constexpr Dependency after(Lane lane, std::uint64_t steps) {
  return Dependency{lane, steps};
}

constexpr Step make_send(Rank peer, Location src, std::uint64_t count, Dependency first = {},
                         Dependency second = {}) {
  Step step;
  step.op = Op::send;
  step.peer = peer;
  step.src = src;
  step.count = count;
  step.deps = {first, second};
  return step;
}

constexpr Step make_recv(Rank peer, Location dst, std::uint64_t count, Dependency first = {},
                         Dependency second = {}) {
  Step step;
  step.op = Op::recv;
  step.peer = peer;
  step.dst = dst;
  step.count = count;
  step.deps = {first, second};
  return step;
}

// dst = received (+) src, or src (+) received.
constexpr Step make_recv_reduce(Rank peer, bool incoming_left, Location src, Location dst,
                                std::uint64_t count, Dependency first = {}, Dependency second = {}) {
  Step step = make_recv(peer, dst, count, first, second);
  step.op = Op::recv_reduce;
  step.incoming_left = incoming_left;
  step.src = src;
  return step;
}

constexpr Step make_copy(Location src, Location dst, std::uint64_t count, Dependency first = {},
                         Dependency second = {}) {
  Step step;
  step.op = Op::copy;
  step.src = src;
  step.dst = dst;
  step.count = count;
  step.deps = {first, second};
  return step;
}

// dst = src (+) dst, or dst (+) src.
constexpr Step make_reduce(bool incoming_left, Location src, Location dst, std::uint64_t count,
                           Dependency first = {}, Dependency second = {}) {
  Step step = make_copy(src, dst, count, first, second);
  step.op = Op::reduce;
  step.incoming_left = incoming_left;
  return step;
}

constexpr Step on_channel(std::uint8_t channel, Step step) {
  step.channel = channel;
  return step;
}

}  // namespace cnuas::ccl
