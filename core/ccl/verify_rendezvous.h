// The dynamic half of verification: all ranks run on symbols, and no message is buffered anywhere.
#pragma once

#include "core/ccl/schedule.h"
#include "core/ccl/verify_expressions.h"
#include "core/ccl/verify_memory.h"
#include "core/ccl/verify_pairing.h"
#include "core/engine/error.h"

#include <array>
#include <cstdint>
#include <string>
#include <vector>

namespace cnuas::ccl {

// Which memory a rank's input and output are.
enum class Aliasing : std::uint8_t { apart, in_place };

// A send and its receive complete together, when both have been reached. Whatever can complete does: steps
// only ever wait for others to complete, so the order does not matter for how far the ranks get. It does not
// matter for the data either, since two accesses that are not ordered are an error.
class Rendezvous {
 public:
  // Keeps references. Precondition: check_steps() has passed and gave `channels`.
  Rendezvous(const Schedule& schedule, const Channels& channels, Aliasing aliasing, Expressions& expressions);

  // Once. Errors: mismatch: a hazard, an undefined read, a fold of different elements, a deadlock.
  Result<void> run();

  // Appends to `out` what the rank's output holds; false, with the offset, if part of it is undefined.
  bool read_output(Rank rank, Pieces& out, std::uint64_t& undefined_at) const;

  std::uint64_t messages() const { return messages_; }
  std::uint64_t elements_sent() const { return elements_sent_; }

 private:
  struct LaneState {
    std::uint32_t index = 0;
    std::uint32_t steps = 0;
    bool loaded = false;  // `step` and `channel` are those of index
    bool posted = false;  // waits for the other side of its message
    Step step;
    Channels::Id channel = 0;
    // seen[index * lanes + l]: steps of lane l that were complete when the step began, or are implied.
    std::vector<std::uint32_t> seen;
  };
  struct RankState {
    std::array<SymbolicMemory, 3> memory;  // by Buffer; in place, one of input and output stands for both
    std::vector<LaneState> lanes;
    bool queued = false;
  };
  // Whether a lane stands at the send, and at the receive, of a channel's next message.
  struct Posted {
    bool send = false;
    bool receive = false;
  };
  struct Place {
    SymbolicMemory* memory;
    std::uint64_t offset;
  };

  void define_inputs(Rank rank);
  Buffer canonical(Rank rank, Buffer buffer, std::uint64_t& offset) const;
  Place place(Rank rank, const Location& location);
  bool same_place(Rank rank, const Location& a, const Location& b) const;
  bool overlap(Rank rank, const Location& a, const Location& b, std::uint64_t count) const;

  void enqueue(Rank rank);
  // Takes all lanes of a rank as far as they go.
  Result<void> advance(Rank rank);
  Result<bool> advance_lane(Rank rank, Lane lane);
  bool dependencies_met(const RankState& state, const Step& step) const;
  void begin(RankState& state, Lane lane);
  void complete(RankState& state, Lane lane);

  Access access(Rank rank, Lane lane) const;
  Result<void> run_local(Rank rank, Lane lane);
  Result<void> run_message(Channels::Id channel);
  Result<void> read(Rank rank, Lane lane, const Location& location, Pieces& out);
  Result<void> write(Rank rank, Lane lane, const Location& location, const Pieces& pieces);
  // Folds two runs of pieces of equal length into folded_.
  Result<void> fold(Rank rank, Lane lane, const Pieces& left, const Pieces& right);

  tl::unexpected<Error> wrong(Rank rank, Lane lane, std::string message) const;
  tl::unexpected<Error> describe(Rank rank, Lane lane, const char* verb, const Location& location,
                                 const Fault& fault) const;
  tl::unexpected<Error> deadlock() const;

  const Schedule& schedule_;
  const Channels& channels_;
  const Aliasing aliasing_;
  Expressions& expressions_;
  const Lane lanes_;
  std::vector<RankState> ranks_;
  std::vector<Posted> posted_;  // by channel
  std::vector<Rank> queue_;
  std::uint64_t messages_ = 0;
  std::uint64_t elements_sent_ = 0;
  // Reused between steps.
  Pieces incoming_;
  Pieces operand_;
  Pieces folded_;
};

}  // namespace cnuas::ccl
