// A schedule written out step by step.
#pragma once

#include "core/ccl/make_step.h"
#include "core/ccl/schedule.h"

#include <cstdint>
#include <utility>
#include <vector>

namespace cnuas::ccl {

class TableSchedule final : public Schedule {
 public:
  using LaneSteps = std::vector<Step>;
  using RankLanes = std::vector<LaneSteps>;

  // Steps by rank, lane and index; missing lanes are empty.
  TableSchedule(const Problem& problem, std::vector<RankLanes> table, std::uint64_t scratch = 0)
      : Schedule(problem), table_(std::move(table)), scratch_(scratch) {
    for (const RankLanes& lanes : table_)
      lanes_ = lanes.size() > lanes_ ? static_cast<Lane>(lanes.size()) : lanes_;
    table_.resize(problem.ranks);
    for (RankLanes& lanes : table_)
      lanes.resize(lanes_);
  }

  Lane lanes() const override { return lanes_; }
  std::uint64_t steps(Rank rank, Lane lane) const override { return table_[rank][lane].size(); }
  Step step(Rank rank, Lane lane, std::uint64_t index) const override { return table_[rank][lane][index]; }
  std::uint64_t scratch_elements(Rank) const override { return scratch_; }

 private:
  std::vector<RankLanes> table_;
  std::uint64_t scratch_;
  Lane lanes_ = 1;
};

}  // namespace cnuas::ccl
