#include "core/ccl/direct.h"

#include "core/ccl/blocks.h"
#include "core/ccl/make_step.h"
#include "core/ccl/ordered_fold.h"

namespace cnuas::ccl {
namespace {

constexpr Lane kSend = 0;
constexpr Lane kReceive = 1;

class Direct : public Schedule {
 public:
  explicit Direct(const Problem& problem)
      : Schedule(problem), ranks_(problem.ranks), blocks_(problem.count, problem.ranks) {}

  Lane lanes() const final { return 2; }

 protected:
  // Whom a rank sends to, and whom it receives from, in round 0 .. N-2 of the rotation.
  Rank target(Rank rank, std::uint64_t round) const { return rank_after(rank, round + 1, ranks_); }
  Rank source(Rank rank, std::uint64_t round) const { return rank_before(rank, round + 1, ranks_); }
  std::uint64_t rounds() const { return ranks_ - 1; }

  const Rank ranks_;
  const Blocks blocks_;
};

class DirectReduceScatter : public Direct {
 public:
  using Direct::Direct;

  std::uint64_t steps(Rank, Lane lane) const override {
    return lane == kSend ? rounds() : rounds() + OrderedFold::steps(ranks_);
  }

  Step step(Rank rank, Lane lane, std::uint64_t index) const override {
    return lane == kSend ? scatter_send(rank, index) : scatter_receive(rank, index, in_output(0));
  }

  std::uint64_t scratch_elements(Rank rank) const final {
    return OrderedFold::scratch_elements(ranks_, blocks_.count(rank));
  }

 protected:
  Step scatter_send(Rank rank, std::uint64_t index) const {
    const Rank peer = target(rank, index);
    const Block block = blocks_.at(peer);
    return make_send(peer, in_input(block.offset), block.count);
  }

  Step scatter_receive(Rank rank, std::uint64_t index, Location result) const {
    const Block own = blocks_.at(rank);
    const OrderedFold fold(ranks_, rank, own.count, in_input(own.offset), result);
    if (index >= rounds()) return fold.step(index - rounds());
    const Rank peer = source(rank, index);
    return make_recv(peer, fold.slot(peer), own.count);
  }
};

// The reduce_scatter, with each result in its place of the vector, and then every result to everyone.
class DirectAllReduce final : public DirectReduceScatter {
 public:
  using DirectReduceScatter::DirectReduceScatter;

  std::uint64_t steps(Rank, Lane lane) const override {
    return lane == kSend ? 2 * rounds() : folded() + rounds();
  }

  Step step(Rank rank, Lane lane, std::uint64_t index) const override {
    if (lane == kSend) {
      if (index < rounds()) return scatter_send(rank, index);
      const Block own = blocks_.at(rank);
      return make_send(target(rank, index - rounds()), in_output(own.offset), own.count,
                       index == rounds() ? after(kReceive, folded()) : Dependency{});
    }
    if (index < folded()) return scatter_receive(rank, index, in_output(blocks_.offset(rank)));
    const std::uint64_t round = index - folded();
    const Rank peer = source(rank, round);
    const Block block = blocks_.at(peer);
    // In place, this overwrites contributions, the first one that which is scattered last.
    return make_recv(peer, in_output(block.offset), block.count,
                     round == 0 ? after(kSend, rounds()) : Dependency{});
  }

 private:
  // Steps of the receiving lane until the rank's own block is final.
  std::uint64_t folded() const { return rounds() + OrderedFold::steps(ranks_); }
};

class DirectAllGather final : public Direct {
 public:
  using Direct::Direct;

  std::uint64_t steps(Rank, Lane lane) const override { return lane == kSend ? rounds() : rounds() + 1; }

  Step step(Rank rank, Lane lane, std::uint64_t index) const override {
    const Block own = blocks_.at(rank);
    if (lane == kSend) return make_send(target(rank, index), in_input(0), own.count);
    if (index == 0) return make_copy(in_input(0), in_output(own.offset), own.count);
    const Rank peer = source(rank, index - 1);
    const Block block = blocks_.at(peer);
    return make_recv(peer, in_output(block.offset), block.count);
  }

  std::uint64_t scratch_elements(Rank) const override { return 0; }
};

class DirectAllToAll final : public Direct {
 public:
  using Direct::Direct;

  std::uint64_t steps(Rank, Lane lane) const override { return lane == kSend ? rounds() : rounds() + 1; }

  Step step(Rank rank, Lane lane, std::uint64_t index) const override {
    if (lane == kSend) {
      const Rank peer = target(rank, index);
      const Block block = blocks_.at(peer);
      return make_send(peer, in_input(block.offset), block.count);
    }
    const Block own = blocks_.at(rank);
    if (index == 0) return make_copy(in_input(own.offset), in_output(rank * own.count), own.count);
    const Rank peer = source(rank, index - 1);
    return make_recv(peer, in_output(peer * own.count), own.count);
  }

  std::uint64_t scratch_elements(Rank) const override { return 0; }
};

class DirectBroadcast final : public Direct {
 public:
  using Direct::Direct;

  std::uint64_t steps(Rank rank, Lane lane) const override {
    if (lane == kReceive) return 1;
    return rank == problem().root ? rounds() : 0;
  }

  Step step(Rank rank, Lane lane, std::uint64_t index) const override {
    const std::uint64_t count = problem().count;
    if (lane == kSend) return make_send(target(rank, index), in_input(0), count);
    if (rank == problem().root) return make_copy(in_input(0), in_output(0), count);
    return make_recv(problem().root, in_output(0), count);
  }

  std::uint64_t scratch_elements(Rank) const override { return 0; }
};

}  // namespace

std::unique_ptr<Schedule> direct_all_reduce(const Problem& problem) {
  return std::make_unique<DirectAllReduce>(problem);
}
std::unique_ptr<Schedule> direct_reduce_scatter(const Problem& problem) {
  return std::make_unique<DirectReduceScatter>(problem);
}
std::unique_ptr<Schedule> direct_all_gather(const Problem& problem) {
  return std::make_unique<DirectAllGather>(problem);
}
std::unique_ptr<Schedule> direct_all_to_all(const Problem& problem) {
  return std::make_unique<DirectAllToAll>(problem);
}
std::unique_ptr<Schedule> direct_broadcast(const Problem& problem) {
  return std::make_unique<DirectBroadcast>(problem);
}

}  // namespace cnuas::ccl
