#include "core/ccl/halving_doubling.h"

#include "core/ccl/make_step.h"

namespace cnuas::ccl {
namespace {

constexpr Lane kSend = 0;
constexpr Lane kReceive = 1;

class AllReduce final : public Schedule {
 public:
  explicit AllReduce(const Problem& problem)
      : Schedule(problem), core_(problem.ranks), blocks_(problem.count, core_.size()) {}

  Lane lanes() const override { return 2; }

  std::uint64_t steps(Rank rank, Lane) const override {
    return core_.is_extra(rank) ? 1 : 2 * core_.rounds() + folded_in(core_.core_of(rank));
  }

  Step step(Rank rank, Lane lane, std::uint64_t index) const override {
    const std::uint64_t count = problem().count;
    if (core_.is_extra(rank)) {
      if (lane == kSend) return make_send(rank - 1, in_input(0), count);
      return make_recv(rank - 1, in_output(0), count, after(kSend, 1));
    }
    const Rank core = core_.core_of(rank);
    if (lane == kSend) {
      if (index < 2 * core_.rounds()) return send_step(core, static_cast<unsigned>(index));
      return make_send(rank + 1, in_output(0), count, after(kReceive, index + folded_in(core)));
    }
    if (index < folded_in(core)) return make_recv_reduce(rank + 1, false, in_input(0), in_output(0), count);
    return receive_step(core, static_cast<unsigned>(index - folded_in(core)));
  }

  std::uint64_t scratch_elements(Rank) const override { return 0; }

 private:
  unsigned folded_in(Rank core) const { return core_.has_extra(core) ? 1 : 0; }

  Block region(Rank core, unsigned rounds) const {
    return halving_doubling_region(core_, blocks_, core, rounds);
  }
  // The bit of the core rank in which the partners of an exchange differ: up in halving, down in doubling.
  unsigned bit_of(unsigned exchange) const {
    return exchange < core_.rounds() ? exchange : 2 * core_.rounds() - 1 - exchange;
  }
  // Partials are in output, but for the contribution itself.
  Location partial(Rank core, unsigned exchange, std::uint64_t offset) const {
    return exchange == 0 && !core_.has_extra(core) ? in_input(offset) : in_output(offset);
  }

  Step send_step(Rank core, unsigned exchange) const {
    const unsigned bit = bit_of(exchange);
    const Rank partner = core ^ (Rank{1} << bit);
    const Block sent = region(exchange < core_.rounds() ? partner : core, bit + 1);
    return make_send(core_.rank_of(partner), partial(core, exchange, sent.offset), sent.count,
                     after(kReceive, folded_in(core) + exchange));
  }

  Step receive_step(Rank core, unsigned exchange) const {
    const unsigned bit = bit_of(exchange);
    const Rank partner = core ^ (Rank{1} << bit);
    if (exchange < core_.rounds()) {
      const Block kept = region(core, bit + 1);
      return make_recv_reduce(core_.rank_of(partner), partner < core, partial(core, exchange, kept.offset),
                              in_output(kept.offset), kept.count);
    }
    // Results replace partials that were sent in halving, the first one that which was sent last.
    const Block block = region(partner, bit + 1);
    return make_recv(core_.rank_of(partner), in_output(block.offset), block.count,
                     exchange == core_.rounds() ? after(kSend, exchange) : Dependency{});
  }

  const CoreRanks core_;
  const Blocks blocks_;
};

class ReduceScatter final : public Schedule {
 public:
  explicit ReduceScatter(const Problem& problem)
      : Schedule(problem), core_(problem.ranks), blocks_(problem.count, problem.ranks) {}

  Lane lanes() const override { return 2; }

  std::uint64_t steps(Rank rank, Lane lane) const override {
    if (core_.is_extra(rank)) return 1;
    const unsigned extra = folded_in(core_.core_of(rank));
    return core_.rounds() + (lane == kSend ? extra : 2 * extra);
  }

  Step step(Rank rank, Lane lane, std::uint64_t index) const override {
    if (core_.is_extra(rank)) {
      if (lane == kSend) return make_send(rank - 1, in_input(0), problem().count);
      return make_recv(rank - 1, in_output(0), blocks_.count(rank), after(kSend, 1));
    }
    return lane == kSend ? send_step(rank, index) : receive_step(rank, index);
  }

  // Partials stand where they stand in the vector; the first round's are the input, the last one's the
  // output.
  std::uint64_t scratch_elements(Rank rank) const override {
    if (core_.is_extra(rank)) return 0;
    return core_.rounds() == 1 && !core_.has_extra(core_.core_of(rank)) ? 0 : problem().count;
  }

 private:
  unsigned folded_in(Rank core) const { return core_.has_extra(core) ? 1 : 0; }

  Rank partner(Rank core, unsigned round) const { return core ^ (core_.size() >> (round + 1)); }
  Location partial(Rank core, unsigned round, std::uint64_t offset) const {
    return round == 0 && !core_.has_extra(core) ? in_input(offset) : in_scratch(offset);
  }

  Step send_step(Rank rank, std::uint64_t index) const {
    const Rank core = core_.core_of(rank);
    const unsigned round = static_cast<unsigned>(index);
    const Dependency ready = after(kReceive, folded_in(core) + index);
    if (round == core_.rounds()) {
      const Block block = blocks_.at(rank + 1);
      return make_send(rank + 1, in_scratch(block.offset), block.count, ready);
    }
    const Rank other = partner(core, round);
    const Block given = halving_region(core_, blocks_, other, round + 1);
    return make_send(core_.rank_of(other), partial(core, round, given.offset), given.count, ready);
  }

  Step receive_step(Rank rank, std::uint64_t index) const {
    const Rank core = core_.core_of(rank);
    if (index < folded_in(core))
      return make_recv_reduce(rank + 1, false, in_input(0), in_scratch(0), problem().count);
    const unsigned round = static_cast<unsigned>(index) - folded_in(core);
    if (round == core_.rounds()) {
      const Block own = blocks_.at(rank);
      return make_copy(in_scratch(own.offset), in_output(0), own.count);
    }
    const Rank other = partner(core, round);
    const Block kept = halving_region(core_, blocks_, core, round + 1);
    const bool last = round + 1 == core_.rounds() && !core_.has_extra(core);
    return make_recv_reduce(core_.rank_of(other), other < core, partial(core, round, kept.offset),
                            last ? in_output(0) : in_scratch(kept.offset), kept.count);
  }

  const CoreRanks core_;
  const Blocks blocks_;
};

}  // namespace

Block halving_doubling_region(const CoreRanks& core, const Blocks& blocks, Rank core_rank, unsigned rounds) {
  std::uint64_t first = 0;
  std::uint64_t length = core.size();
  for (unsigned bit = 0; bit < rounds; ++bit) {
    length /= 2;
    if ((core_rank >> bit & 1) == 1) first += length;
  }
  return blocks.range(first, first + length);
}

Block halving_region(const CoreRanks& core, const Blocks& blocks, Rank core_rank, unsigned rounds) {
  const Rank length = core.size() >> rounds;
  const Rank first = core_rank & ~(length - 1);
  return blocks.range(core.rank_of(first), core.rank_of(first + length));
}

std::unique_ptr<Schedule> halving_doubling_all_reduce(const Problem& problem) {
  return std::make_unique<AllReduce>(problem);
}
std::unique_ptr<Schedule> halving_reduce_scatter(const Problem& problem) {
  return std::make_unique<ReduceScatter>(problem);
}

}  // namespace cnuas::ccl
