#include "sim/run/payload.h"

#include "core/ccl/fold.h"
#include "core/engine/random.h"

#include <cassert>
#include <cmath>
#include <cstring>

namespace cnuas::sim {

namespace {

template <class T>
void store(std::vector<std::byte>& buffer, std::uint64_t index, T value) {
  std::memcpy(buffer.data() + index * sizeof(T), &value, sizeof(T));
}

// Magnitudes over 16 powers of two and both signs: a sum in another order rounds differently.
void fill(std::vector<std::byte>& buffer, ccl::DataType type, Random random) {
  if (type != ccl::DataType::float32 && type != ccl::DataType::float64) {
    for (std::byte& each : buffer)
      each = static_cast<std::byte>(random.next() & 0xFF);
    return;
  }
  const std::uint64_t count = buffer.size() / size_of(type);
  for (std::uint64_t i = 0; i < count; ++i) {
    const double value = std::ldexp(random.unit() - 0.5, static_cast<int>(random.below(16)) - 8);
    if (type == ccl::DataType::float32) {
      store(buffer, i, static_cast<float>(value));
    } else {
      store(buffer, i, value);
    }
  }
}

}  // namespace

std::uint64_t Payload::bytes_needed(const CollectiveCall& call, const ccl::Schedule& schedule) {
  std::uint64_t elements = 0;
  for (ccl::Rank rank = 0; rank < schedule.problem().ranks; ++rank) {
    elements += input_elements(schedule.problem(), rank) + output_elements(schedule.problem(), rank) +
                schedule.scratch_elements(rank);
  }
  return elements * size_of(call.type);
}

Payload::Payload(const CollectiveCall& call, const ccl::Schedule& schedule, std::uint64_t seed)
    : call_(call), schedule_(schedule), element_(size_of(call.type)), ranks_(schedule.problem().ranks) {
  Random random(seed);
  for (ccl::Rank rank = 0; rank < ranks_.size(); ++rank) {
    Buffers& buffers = ranks_[rank];
    buffers.input.resize(input_elements(schedule.problem(), rank) * element_);
    buffers.output.resize(output_elements(schedule.problem(), rank) * element_);
    buffers.scratch.resize(schedule.scratch_elements(rank) * element_);
    fill(buffers.input, call.type, random.split());
  }
}

std::byte* Payload::at(ccl::Rank rank, const ccl::Location& location) {
  Buffers& buffers = ranks_[rank];
  Bytes& buffer = location.buffer == ccl::Buffer::input    ? buffers.input
                  : location.buffer == ccl::Buffer::output ? buffers.output
                                                           : buffers.scratch;
  return buffer.data() + location.offset * element_;
}

void Payload::carry_out(ccl::Rank rank, const ccl::Step& step) {
  const std::uint64_t bytes = step.count * element_;
  switch (step.op) {
    case ccl::Op::send: {
      const std::byte* source = at(rank, step.src);
      messages_[{rank, step.peer, step.channel}].emplace_back(source, source + bytes);
      return;
    }
    case ccl::Op::recv:
    case ccl::Op::recv_reduce: {
      std::deque<Bytes>& queue = messages_[{step.peer, rank, step.channel}];
      assert(!queue.empty() && queue.front().size() == bytes);
      const Bytes received = std::move(queue.front());
      queue.pop_front();
      std::byte* out = at(rank, step.dst);
      if (step.op == ccl::Op::recv) {
        if (bytes > 0) std::memcpy(out, received.data(), bytes);
      } else if (step.incoming_left) {
        fold(call_.type, call_.op, received.data(), at(rank, step.src), out, step.count);
      } else {
        fold(call_.type, call_.op, at(rank, step.src), received.data(), out, step.count);
      }
      return;
    }
    case ccl::Op::copy:
      if (bytes > 0) std::memmove(at(rank, step.dst), at(rank, step.src), bytes);
      return;
    case ccl::Op::reduce: {
      std::byte* out = at(rank, step.dst);
      if (step.incoming_left) {
        fold(call_.type, call_.op, at(rank, step.src), out, out, step.count);
      } else {
        fold(call_.type, call_.op, out, at(rank, step.src), out, step.count);
      }
      return;
    }
    case ccl::Op::nop:
    case ccl::Op::switch_reduce:
    case ccl::Op::multicast:
      return;
  }
}

std::string Payload::check(bool canonical) const {
  return reduces(call_.collective) ? check_reduction(canonical) : check_movement();
}

Payload::Bytes Payload::folded(std::uint64_t offset, std::uint64_t count) const {
  const auto begin = static_cast<std::ptrdiff_t>(offset * element_);
  const auto end = static_cast<std::ptrdiff_t>((offset + count) * element_);
  Bytes result(ranks_[0].input.begin() + begin, ranks_[0].input.begin() + end);
  for (ccl::Rank rank = 1; rank < ranks_.size(); ++rank)
    fold(call_.type, call_.op, result.data(), ranks_[rank].input.data() + begin, result.data(), count);
  return result;
}

std::string Payload::compare(ccl::Rank rank, std::uint64_t offset, const Bytes& expected) const {
  const std::byte* output = ranks_[rank].output.data() + offset * element_;
  for (std::uint64_t i = 0; i < expected.size(); ++i) {
    if (output[i] == expected[i]) continue;
    return "rank " + std::to_string(rank) + ", element " + std::to_string(offset + i / element_) +
           " of its output";
  }
  return {};
}

std::string Payload::check_reduction(bool canonical) const {
  const ccl::Problem& problem = schedule_.problem();
  const bool exact = canonical ||
                     (call_.type != ccl::DataType::float32 && call_.type != ccl::DataType::float64) ||
                     call_.op == ccl::Operator::min || call_.op == ccl::Operator::max;
  for (ccl::Rank rank = 0; rank < ranks_.size(); ++rank) {
    std::string wrong;
    if (call_.collective == ccl::Collective::reduce_scatter) {
      const ccl::Block block = ccl::partition(problem.count, problem.ranks, rank);
      if (exact) wrong = compare(rank, 0, folded(block.offset, block.count));
    } else {
      wrong = compare(rank, 0, exact ? folded(0, problem.count) : ranks_[0].output);
    }
    if (!wrong.empty()) return wrong + (exact ? " is not the left fold" : " differs from rank 0's");
  }
  return {};
}

std::string Payload::check_movement() const {
  const ccl::Problem& problem = schedule_.problem();
  for (ccl::Rank rank = 0; rank < ranks_.size(); ++rank) {
    if (call_.collective == ccl::Collective::broadcast) {
      const std::string wrong = compare(rank, 0, ranks_[problem.root].input);
      if (!wrong.empty()) return wrong + " is not the root's";
      continue;
    }
    for (ccl::Rank source = 0; source < ranks_.size(); ++source) {
      const ccl::Block mine = ccl::partition(problem.count, problem.ranks, rank);
      const ccl::Block theirs = ccl::partition(problem.count, problem.ranks, source);
      const bool gather = call_.collective == ccl::Collective::all_gather;
      const Bytes& input = ranks_[source].input;
      const auto begin = input.begin() + static_cast<std::ptrdiff_t>(gather ? 0 : mine.offset * element_);
      const auto length = static_cast<std::ptrdiff_t>((gather ? theirs.count : mine.count) * element_);
      const std::string wrong =
          compare(rank, gather ? theirs.offset : source * mine.count, Bytes(begin, begin + length));
      if (!wrong.empty()) return wrong + " is not what rank " + std::to_string(source) + " has sent";
    }
  }
  return {};
}

}  // namespace cnuas::sim
