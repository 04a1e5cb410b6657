// One measurement: a subject is started, processes at its ends send and receive, and all of them end.
#pragma once

#include "core/engine/error.h"
#include "tests/benchmarks/switchd/subject.h"

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>

namespace cnuas::benchmark {

using StartSubject = std::function<Result<std::unique_ptr<Subject>>(const std::string& directory)>;

struct Throughput {
  double frames_per_s = 0;
  double cpu_us_per_frame = 0;  // of the subject's process, user and system
  double others = 0;            // processors that everything else on the machine took meanwhile
  std::uint64_t sent = 0;
  std::uint64_t lost = 0;         // of those, not received
  std::uint64_t unaccounted = 0;  // of those, not in the counters of a switch daemon either
};
// One sender and one receiver for so long, not counting the time that they take to get going.
Result<Throughput> measure_throughput(const StartSubject& start, std::size_t frame_bytes, double seconds);

struct RoundTrip {
  double p50_us = 0;
  double p99_us = 0;
  std::uint64_t count = 0;
  std::uint64_t lost = 0;
};
// One frame at a time, to a process that answers with another one of the same length.
Result<RoundTrip> measure_round_trip(const StartSubject& start, std::size_t frame_bytes, double seconds);

struct BesideNeighbour {
  double frames_per_s = 0;  // of the good port
  std::uint64_t neighbour_sent = 0;
  std::uint64_t neighbour_received = 0;
  std::uint64_t neighbour_dropped = 0;  // as the daemon counts, for all reasons
  std::uint64_t good_lost = 0;
};
// The throughput of two ports while another one sends to a fourth at a rate that both could carry many times.
// Its reader either reads everything, or nothing until the end. For switch daemons.
Result<BesideNeighbour> measure_beside_neighbour(const StartSubject& start, std::size_t frame_bytes,
                                                 double seconds, bool neighbour_stalls);

}  // namespace cnuas::benchmark
