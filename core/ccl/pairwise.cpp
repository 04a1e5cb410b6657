#include "core/ccl/pairwise.h"

#include "core/ccl/blocks.h"
#include "core/ccl/make_step.h"

namespace cnuas::ccl {
namespace {

constexpr Lane kSend = 0;
constexpr Lane kReceive = 1;

class PairwiseAllToAll final : public Schedule {
 public:
  explicit PairwiseAllToAll(const Problem& problem)
      : Schedule(problem), ranks_(problem.ranks), blocks_(problem.count, problem.ranks) {}

  Lane lanes() const override { return 2; }

  std::uint64_t steps(Rank, Lane lane) const override { return lane == kSend ? ranks_ - 1 : ranks_; }

  // The receiving lane begins with the rank's own block, so that its step k is round k.
  Step step(Rank rank, Lane lane, std::uint64_t index) const override {
    if (lane == kSend) {
      const Rank peer = rank_after(rank, index + 1, ranks_);
      const Block block = blocks_.at(peer);
      return make_send(peer, in_input(block.offset), block.count, after(kReceive, index + 1));
    }
    const Block own = blocks_.at(rank);
    if (index == 0) return make_copy(in_input(own.offset), in_output(rank * own.count), own.count);
    const Rank peer = rank_before(rank, index, ranks_);
    return make_recv(peer, in_output(peer * own.count), own.count);
  }

  std::uint64_t scratch_elements(Rank) const override { return 0; }

 private:
  const Rank ranks_;
  const Blocks blocks_;
};

}  // namespace

std::unique_ptr<Schedule> pairwise_all_to_all(const Problem& problem) {
  return std::make_unique<PairwiseAllToAll>(problem);
}

}  // namespace cnuas::ccl
