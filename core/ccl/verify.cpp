#include "core/ccl/verify.h"

#include "core/ccl/executor.h"
#include "core/ccl/verify_expressions.h"
#include "core/ccl/verify_pairing.h"
#include "core/ccl/verify_rendezvous.h"

#include <algorithm>
#include <deque>
#include <utility>
#include <vector>

namespace cnuas::ccl {
namespace {

Result<void> check_problem(const Schedule& schedule) {
  const Problem& problem = schedule.problem();
  if (problem.ranks == 0) return fail(ErrorCode::invalid_argument, "a collective needs at least 1 rank");
  if (problem.collective == Collective::broadcast && problem.root >= problem.ranks)
    return fail(ErrorCode::invalid_argument, "the root is not one of the ranks");
  if (schedule.lanes() > kMaxLanes)
    return fail(ErrorCode::mismatch, "has " + std::to_string(schedule.lanes()) + " lanes, but " +
                                         std::to_string(kMaxLanes) + " are the most");
  return {};
}

// What a rank's output must hold, if the collective does not reduce.
Pieces expected_output(const Problem& problem, Rank rank) {
  Pieces pieces;
  if (problem.collective == Collective::broadcast) {
    pieces.push_back(Piece{problem.count, Expressions::leaf(problem.root), 0});
    return pieces;
  }
  const Block own = partition(problem.count, problem.ranks, rank);
  for (Rank source = 0; source < problem.ranks; ++source) {
    const Block block = partition(problem.count, problem.ranks, source);
    const bool gathers = problem.collective == Collective::all_gather;
    pieces.push_back(Piece{gathers ? block.count : own.count, Expressions::leaf(source),
                           gathers ? block.offset : own.offset});
  }
  return pieces;
}

std::string rank_element(Rank rank, std::uint64_t offset) {
  return "element " + std::to_string(offset) + " of rank " + std::to_string(rank) + "'s output";
}

// The result of one run, checked and classified.
class Results {
 public:
  Results(const Problem& problem, const Expressions& expressions, Aliasing aliasing)
      : problem_(problem),
        expressions_(expressions),
        suffix_(aliasing == Aliasing::in_place ? " (in place)" : "") {}

  Result<void> check(const Rendezvous& run, Proof& proof) {
    for (Rank rank = 0; rank < problem_.ranks; ++rank) {
      Pieces output;
      std::uint64_t undefined_at = 0;
      if (!run.read_output(rank, output, undefined_at))
        return wrong(rank, rank_element(rank, undefined_at) + " is never written");
      auto result =
          reduces(problem_.collective) ? check_reduced(rank, output, proof) : check_moved(rank, output);
      if (!result) return result;
      if (rank == 0) first_ = std::move(output);
    }
    return {};
  }

 private:
  tl::unexpected<Error> wrong(Rank rank, std::string message) const {
    return fail(ErrorCode::mismatch, std::move(message) + suffix_, "rank " + std::to_string(rank));
  }

  Result<void> check_reduced(Rank rank, const Pieces& output, Proof& proof) {
    const bool scatters = problem_.collective == Collective::reduce_scatter;
    std::uint64_t element = scatters ? partition(problem_.count, problem_.ranks, rank).offset : 0;
    std::uint64_t offset = 0;
    for (const Piece& piece : output) {
      if (piece.element != element)
        return wrong(rank, rank_element(rank, offset) + " holds element " + std::to_string(piece.element));
      if (auto flaw = flaw_of(piece.expression); !flaw.empty())
        return wrong(rank, rank_element(rank, offset) + " " + flaw);
      if (!expressions_.is_left_fold(piece.expression)) proof.canonical = false;
      element += piece.count;
      offset += piece.count;
    }
    if (!scatters && rank > 0 && !same(output, first_)) proof.same_everywhere = false;
    if (rank == 0 && !output.empty() && !expressions_.is_leaf(output.front().expression))
      proof.fold_order = expressions_.text(output.front().expression, 200);
    return {};
  }

  // Many pieces share an expression; each is examined once.
  std::string flaw_of(Expressions::Id id) {
    if (id < sound_.size() && sound_[id]) return {};
    std::string flaw = expressions_.flaw(id);
    if (flaw.empty()) {
      if (id >= sound_.size()) sound_.resize(id + 1, false);
      sound_[id] = true;
    }
    return flaw;
  }

  Result<void> check_moved(Rank rank, const Pieces& output) {
    const Pieces expected = expected_output(problem_, rank);
    std::uint64_t offset = 0;
    std::size_t at = 0;
    std::uint64_t done = 0;  // of expected[at]
    for (const Piece& piece : output) {
      for (std::uint64_t taken = 0; taken < piece.count;) {
        while (done == expected[at].count) {
          ++at;
          done = 0;
        }
        const Piece& want = expected[at];
        if (piece.expression != want.expression || piece.element + taken != want.element + done)
          return wrong(rank, rank_element(rank, offset) + " holds element " +
                                 std::to_string(piece.element + taken) + " of " +
                                 expressions_.text(piece.expression, 60) + " instead of element " +
                                 std::to_string(want.element + done) + " of " +
                                 expressions_.text(want.expression, 60));
        const std::uint64_t count = std::min(piece.count - taken, want.count - done);
        taken += count;
        done += count;
        offset += count;
      }
    }
    return {};
  }

  // Do two runs of pieces hold the same expressions, however they are cut?
  static bool same(const Pieces& a, const Pieces& b) {
    std::size_t i = 0;
    std::size_t j = 0;
    std::uint64_t end_a = 0;
    std::uint64_t end_b = 0;
    while (i < a.size() && j < b.size()) {
      if (a[i].expression != b[j].expression) return false;
      const std::uint64_t next_a = end_a + a[i].count;
      const std::uint64_t next_b = end_b + b[j].count;
      if (next_a <= next_b) {
        ++i;
        end_a = next_a;
      }
      if (next_b <= next_a) {
        ++j;
        end_b = next_b;
      }
    }
    return i == a.size() && j == b.size();
  }

  const Problem& problem_;
  const Expressions& expressions_;
  const std::string suffix_;
  Pieces first_;  // rank 0's output
  std::vector<bool> sound_;
};

// Runs executors with messages that arrive at once, one after the other, and sends that complete at once.
std::uint64_t max_early_messages(const Schedule& schedule) {
  struct Message {
    Rank source;
    Rank destination;
    std::uint8_t channel;
  };
  std::vector<Executor> executors;
  const Rank ranks = schedule.problem().ranks;
  executors.reserve(ranks);
  for (Rank rank = 0; rank < ranks; ++rank)
    executors.emplace_back(schedule, rank, false);
  std::deque<Message> on_the_way;
  Executor::Actions actions;
  const auto carry_out = [&](Rank rank) {
    for (std::size_t i = 0; i < actions.size(); ++i) {
      const Executor::Action action = actions[i];
      on_the_way.push_back(Message{rank, action.step.peer, action.step.channel});
      executors[rank].sent(action.lane, actions);
    }
    actions.clear();
  };
  std::uint64_t most = 0;
  for (Rank rank = 0; rank < ranks; ++rank) {
    executors[rank].start(actions);
    carry_out(rank);
  }
  while (!on_the_way.empty()) {
    const Message message = on_the_way.front();
    on_the_way.pop_front();
    Executor& executor = executors[message.destination];
    executor.arrived(message.source, message.channel, actions);
    most = std::max(most, executor.early_messages());
    carry_out(message.destination);
  }
  return most;
}

}  // namespace

Result<Proof> verify(const Schedule& schedule) {
  if (auto result = check_problem(schedule); !result) return tl::unexpected<Error>(std::move(result.error()));
  auto channels = check_steps(schedule);
  if (!channels) return tl::unexpected<Error>(std::move(channels.error()));
  const Problem& problem = schedule.problem();
  Expressions expressions(problem.ranks);
  Proof proof;
  proof.canonical = true;
  for (const Aliasing aliasing : {Aliasing::apart, Aliasing::in_place}) {
    if (aliasing == Aliasing::in_place && problem.collective == Collective::all_to_all) break;
    Rendezvous rendezvous(schedule, *channels, aliasing, expressions);
    if (auto result = rendezvous.run(); !result) return tl::unexpected<Error>(std::move(result.error()));
    Results results(problem, expressions, aliasing);
    if (auto result = results.check(rendezvous, proof); !result)
      return tl::unexpected<Error>(std::move(result.error()));
    proof.messages = rendezvous.messages();
    proof.elements_sent = rendezvous.elements_sent();
  }
  proof.max_early_messages = max_early_messages(schedule);
  return proof;
}

}  // namespace cnuas::ccl
