// Ranks without threads: what runs next, and what arrives, is drawn from a seed, so that thousands of orders
// are tried, and any of them again. Sequences of collectives on communicators that overlap, through links
// that hold few frames. No deadlock, and the right bits.
#pragma once

#include "core/ccl/schedule.h"
#include "core/engine/random.h"
#include "live/ccl/link.h"
#include "live/ccl/mailbox.h"
#include "live/ccl/membership.h"
#include "live/ccl/operation.h"
#include "tests/ccl/shipped.h"
#include "tests/cnuasccl/reference.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include <gtest/gtest.h>

namespace cnuas::live::collectives {

using ccl::Collective;

// What carries frames between the ranks, which are numbered from 0.
class DrawnFabric {
 public:
  virtual ~DrawnFabric() = default;
  virtual GpuId gpu_of(int rank) const = 0;
  // Valid as long as the fabric.
  virtual cnuasccl_link_transport transport(int rank) const = 0;
  // Something that is on its way moves on. False if nothing is.
  virtual bool deliver(Random& random) = 0;
};

// A collective that all ranks of a communicator call, with everything about it.
struct Drawn {
  std::size_t communicator = 0;
  std::unique_ptr<ccl::Schedule> schedule;
  Call call;
  std::uint64_t seed = 0;
};

struct Communicators {
  std::vector<std::vector<int>> members;  // by communicator: ranks of the world
  std::vector<Drawn> calls;               // in the order that all keep
};

inline Communicators draw(Random& random, int ranks, int calls) {
  Communicators drawn;
  for (int i = 0; i < 3; ++i) {
    std::vector<int> members;
    for (int rank = 0; rank < ranks; ++rank)
      if (i == 0 || random.below(3) != 0) members.push_back(rank);
    if (members.size() > 1) drawn.members.push_back(members);
  }
  const std::vector<ccl::Shipped> shipped = ccl::all_shipped();
  std::vector<std::uint32_t> sequences(drawn.members.size(), 0);
  const auto limit = static_cast<std::uint32_t>(64 + 8 * random.below(20));
  for (int i = 0; i < calls; ++i) {
    Drawn each;
    each.communicator = random.below(drawn.members.size());
    const auto size = static_cast<ccl::Rank>(drawn.members[each.communicator].size());
    const ccl::Shipped& what = shipped[random.below(shipped.size())];
    const std::uint64_t count = random.below(60);
    each.schedule = *ccl::make_schedule({what.collective, what.algorithm, size, count,
                                         static_cast<ccl::Rank>(random.below(size)), 1 + random.below(5)});
    each.call.kind = static_cast<ccl::EnvelopeKind>(static_cast<int>(what.collective) + 1);
    each.call.sequence = sequences[each.communicator]++;
    each.call.type = ccl::DataType::float32;
    each.call.chunk_limit = limit;
    each.seed = random.below(1'000'000);
    drawn.calls.push_back(std::move(each));
  }
  return drawn;
}

// What a rank of a communicator must end with; empty for a reduction that is not the left fold.
inline Bytes expected(const ccl::Problem& problem, const std::vector<Bytes>& inputs, ccl::Rank rank) {
  const ccl::Block own = ccl::partition(problem.count, problem.ranks, rank);
  const auto part = [](const Bytes& bytes, const ccl::Block& block) {
    const auto first = bytes.begin() + static_cast<std::ptrdiff_t>(4 * block.offset);
    return Bytes(first, first + static_cast<std::ptrdiff_t>(4 * block.count));
  };
  Bytes all;
  switch (problem.collective) {
    case Collective::broadcast:
      return inputs[problem.root];
    case Collective::all_gather:
      for (const Bytes& each : inputs)
        all.insert(all.end(), each.begin(), each.end());
      return all;
    case Collective::all_to_all:
      for (const Bytes& each : inputs) {
        const Bytes mine = part(each, own);
        all.insert(all.end(), mine.begin(), mine.end());
      }
      return all;
    case Collective::all_reduce:
    case Collective::reduce_scatter:
      break;
  }
  if (!fold_guarantee(problem.collective, problem.algorithm, problem.ranks).canonical) return {};
  const Bytes fold = fold_all(inputs, CNUASCCL_FLOAT32, CNUASCCL_SUM);
  return problem.collective == Collective::all_reduce ? fold : part(fold, own);
}

inline std::vector<Bytes> inputs_of(const Drawn& drawn) {
  const ccl::Problem& problem = drawn.schedule->problem();
  std::vector<Bytes> inputs;
  for (ccl::Rank rank = 0; rank < problem.ranks; ++rank)
    inputs.push_back(
        contribution(drawn.seed, static_cast<int>(rank), CNUASCCL_FLOAT32, input_elements(problem, rank)));
  return inputs;
}

class RankRun {
 public:
  RankRun(int rank, const DrawnFabric& fabric, const Communicators& all)
      : rank_(rank), all_(all), link_(fabric.transport(rank), nullptr, "fabric") {
    for (std::size_t i = 0; i < all.members.size(); ++i) {
      const std::vector<int>& members = all.members[i];
      const auto found = std::find(members.begin(), members.end(), rank);
      sides_.emplace_back();
      if (found == members.end()) continue;
      std::vector<GpuId> gpus;
      for (const int member : members)
        gpus.push_back(fabric.gpu_of(member));
      sides_[i].membership = std::make_unique<Membership>(
          Membership::from_gpus(std::move(gpus), static_cast<ccl::Rank>(found - members.begin())));
      sides_[i].membership->fold_nonce(static_cast<std::uint32_t>(i + 100));
      sides_[i].mailbox = std::make_unique<Mailbox>(*sides_[i].membership);
      EXPECT_TRUE(link_.attach(*sides_[i].mailbox));
      sides_[i].mailbox->set_link(&link_);
    }
  }

  bool done() const { return next_ == all_.calls.size() && !operation_; }
  std::string where() const {
    return "rank " + std::to_string(rank_) +
           (operation_ ? ": " + operation_->describe_wait() : ": between calls");
  }

  // One round, as a call would make it. Whether anything came of it.
  bool round() {
    if (!operation_ && !begin()) return false;
    Mailbox& mailbox = *sides_[drawn_->communicator].mailbox;
    const std::uint64_t before = operation_->progress();
    const std::uint64_t sent_before = mailbox.counters().frames_sent;
    Failure why;
    std::size_t came = link_.receive(4, why);
    operation_->advance(why);
    mailbox.send_credits(why);
    EXPECT_FALSE(why.failed()) << why.text;
    EXPECT_FALSE(mailbox.failure().failed()) << mailbox.failure().text;
    // A credit alone is no progress of the operation, and yet it may let others go on.
    const bool moved =
        came > 0 || operation_->progress() != before || mailbox.counters().frames_sent != sent_before;
    if (!operation_->finished()) return moved;
    end();
    return true;
  }

 private:
  struct Side {
    std::unique_ptr<Membership> membership;  // null: not a member
    std::unique_ptr<Mailbox> mailbox;
  };

  bool begin() {
    while (next_ < all_.calls.size() && !sides_[all_.calls[next_].communicator].membership)
      ++next_;
    if (next_ == all_.calls.size()) return false;
    drawn_ = &all_.calls[next_++];
    Side& side = sides_[drawn_->communicator];
    const ccl::Rank rank = side.membership->rank();
    const ccl::Problem& problem = drawn_->schedule->problem();
    inputs_ = inputs_of(*drawn_);
    output_.assign(4 * output_elements(problem, rank), std::byte{0xCC});
    scratch_.assign(4 * drawn_->schedule->scratch_elements(rank), std::byte{0xDD});
    operation_ = std::make_unique<Operation>(*drawn_->schedule, *side.membership, drawn_->call,
                                             Memory{inputs_[rank].data(), output_.data(), scratch_.data()},
                                             side.mailbox.get(), &link_);
    operation_->start();
    side.mailbox->set_consumer(operation_.get(), drawn_->call.sequence);
    return true;
  }

  void end() {
    Side& side = sides_[drawn_->communicator];
    side.mailbox->set_consumer(nullptr, drawn_->call.sequence + 1);
    const ccl::Problem& problem = drawn_->schedule->problem();
    const Bytes right = expected(problem, inputs_, side.membership->rank());
    EXPECT_TRUE(right.empty() || output_ == right) << ccl::describe(problem) << ", " << where();
    operation_.reset();
  }

  const int rank_;
  const Communicators& all_;
  Link link_;
  std::vector<Side> sides_;
  std::size_t next_ = 0;
  const Drawn* drawn_ = nullptr;
  std::unique_ptr<Operation> operation_;
  std::vector<Bytes> inputs_;
  Bytes output_;
  Bytes scratch_;
};

// One order of everything, drawn from `random`; `seed` is for the message.
inline void run_drawn(std::uint64_t seed, Random& random, int ranks, DrawnFabric& fabric) {
  const Communicators all = draw(random, ranks, 12);
  std::vector<std::unique_ptr<RankRun>> runs;
  for (int rank = 0; rank < ranks; ++rank)
    runs.push_back(std::make_unique<RankRun>(rank, fabric, all));
  const auto left = [&] {
    return std::any_of(runs.begin(), runs.end(), [](const auto& each) { return !each->done(); });
  };
  // A favourite that runs more often than the others makes ranks race ahead.
  const std::size_t favourite = random.below(runs.size());
  while (left() && !testing::Test::HasFailure()) {
    const bool favoured = random.below(4) == 0;
    if (random.below(2) == 0) fabric.deliver(random);
    runs[favoured ? favourite : random.below(runs.size())]->round();
    if (random.below(64) != 0) continue;
    // Now and then everything is brought to rest: if then nobody can go on, nobody ever will.
    bool moved = fabric.deliver(random);
    for (const auto& each : runs)
      moved = (!each->done() && each->round()) || moved;
    if (moved || !left()) continue;
    std::string stuck;
    for (const auto& each : runs)
      stuck += "\n  " + each->where();
    FAIL() << "deadlock, seed " << seed << stuck;
  }
  EXPECT_FALSE(testing::Test::HasFailure()) << "seed " << seed;
}

}  // namespace cnuas::live::collectives
