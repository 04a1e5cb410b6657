#include "core/ccl/sole_rank.h"

#include "core/ccl/make_step.h"

namespace cnuas::ccl {
namespace {

class SoleRank final : public Schedule {
 public:
  using Schedule::Schedule;

  Lane lanes() const override { return 1; }
  std::uint64_t steps(Rank, Lane) const override { return 1; }
  Step step(Rank, Lane, std::uint64_t) const override {
    return make_copy(in_input(0), in_output(0), problem().count);
  }
  std::uint64_t scratch_elements(Rank) const override { return 0; }
};

}  // namespace

std::unique_ptr<Schedule> sole_rank(const Problem& problem) {
  return std::make_unique<SoleRank>(problem);
}

}  // namespace cnuas::ccl
