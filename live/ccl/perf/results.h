// What the ranks' reports come to, as nccl-tests' table and as JSON.
#pragma once

#include "core/engine/error.h"
#include "live/ccl/perf/options.h"
#include "live/ccl/perf/plan.h"
#include "live/ccl/perf/report.h"

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <span>
#include <string>
#include <vector>

namespace cnuas::live::perf {

class Results {
 public:
  Results(const Options& options, std::span<const Row> rows);

  void print_head() const;
  // Prints each row as soon as all ranks have reported it.
  void take(std::size_t rank, const Report& report);
  // Prints what all rows come to.
  void print_foot() const;
  // Of all rows that are complete. Errors: io.
  Result<void> write_json(const std::string& path) const;

  std::uint64_t wrong() const { return wrong_; }

 private:
  struct Side {
    std::vector<double> times_ns;  // by rank
    std::size_t reports = 0;
    std::uint64_t wrong = 0;
  };
  struct Outcome {
    Side sides[2];  // out of place, in place
    cnuasccl_algorithm_t algorithm = CNUASCCL_AUTO;
  };

  bool complete(const Outcome& outcome) const;
  double time_ns(const Side& side) const;
  double average_bandwidth() const;
  void print(std::size_t row) const;
  void print_side(const Row& row, const Side& side) const;

  const Options& options_;
  std::span<const Row> rows_;
  std::vector<Outcome> outcomes_;
  std::size_t printed_ = 0;
  std::uint64_t wrong_ = 0;
};

}  // namespace cnuas::live::perf
