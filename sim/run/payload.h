// The bytes of a collective, for runs that carry and check them: every rank's buffers, and the messages
// between them.
#pragma once

#include "core/ccl/executor.h"
#include "core/ccl/schedule.h"
#include "core/workload/workload.h"

#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <string>
#include <tuple>
#include <vector>

namespace cnuas::sim {

class Payload {
 public:
  // Fills every rank's input with values on which the order of floating-point operations shows: mixed
  // magnitudes and signs, drawn from `seed`. Keeps references.
  Payload(const CollectiveCall& call, const ccl::Schedule& schedule, std::uint64_t seed);

  // Memory that all buffers of a call take together.
  static std::uint64_t bytes_needed(const CollectiveCall& call, const ccl::Schedule& schedule);

  // The rank's executor has asked for this step. A send keeps a copy of what it sends; a receive takes the
  // next one.
  void carry_out(ccl::Rank rank, const ccl::Step& step);

  // Holds every rank's output against the collective's definition, reductions against the serial left fold:
  // bit by bit for canonical algorithms and wherever the order cannot matter (integers; minimum and maximum),
  // else that all ranks have the same bits. "" when right, otherwise what is wrong where.
  std::string check(bool canonical) const;

 private:
  using Bytes = std::vector<std::byte>;
  struct Buffers {
    Bytes input;
    Bytes output;
    Bytes scratch;
  };

  std::byte* at(ccl::Rank rank, const ccl::Location& location);
  Bytes folded(std::uint64_t offset, std::uint64_t count) const;
  std::string compare(ccl::Rank rank, std::uint64_t offset, const Bytes& expected) const;
  std::string check_reduction(bool canonical) const;
  std::string check_movement() const;

  const CollectiveCall& call_;
  const ccl::Schedule& schedule_;
  std::uint64_t element_;
  std::vector<Buffers> ranks_;
  std::map<std::tuple<ccl::Rank, ccl::Rank, std::uint8_t>, std::deque<Bytes>>
      messages_;  // source, destination, channel
};

}  // namespace cnuas::sim
