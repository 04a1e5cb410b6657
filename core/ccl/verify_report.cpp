#include "core/ccl/verify_rendezvous.h"

#include <algorithm>
#include <utility>

namespace cnuas::ccl {
namespace {

std::string range_text(const Location& location, std::uint64_t offset) {
  static constexpr const char* kBuffers[] = {"input", "output", "scratch"};
  return "element " + std::to_string(offset) + " of " + kBuffers[static_cast<std::size_t>(location.buffer)];
}

}  // namespace

tl::unexpected<Error> Rendezvous::wrong(Rank rank, Lane lane, std::string message) const {
  if (aliasing_ == Aliasing::in_place) message += " (in place)";
  return fail(ErrorCode::mismatch, std::move(message), place_of(rank, lane, ranks_[rank].lanes[lane].index));
}

tl::unexpected<Error> Rendezvous::describe(Rank rank, Lane lane, const char* verb, const Location& location,
                                           const Fault& fault) const {
  // The fault counts from the start of the memory, which in place is not that of the buffer.
  std::uint64_t offset = location.offset;
  canonical(rank, location.buffer, offset);
  const std::string what =
      deed_of(ranks_[rank].lanes[lane].step) + ": " + verb + " " +
      range_text(location, location.offset + (fault.offset > offset ? fault.offset - offset : 0));
  if (fault.kind == Fault::Kind::undefined) return wrong(rank, lane, what + ", which nothing has written");
  const bool other_reads = fault.kind == Fault::Kind::unordered_with_read;
  return wrong(rank, lane,
               what + ", which lane " + std::to_string(fault.lane) + ", step " + std::to_string(fault.step) +
                   (other_reads ? " reads" : " writes") + ", and nothing orders the two");
}

// Follows what the first stuck lane waits for until a lane comes up again. Every stuck lane waits for a stuck
// one: pairing has been checked, so the other side of each message is still to come.
tl::unexpected<Error> Rendezvous::deadlock() const {
  struct Stuck {
    Rank rank;
    Lane lane;
    bool operator==(const Stuck&) const = default;
  };
  const auto next = [&](const Stuck& stuck) {
    const RankState& state = ranks_[stuck.rank];
    const LaneState& at = state.lanes[stuck.lane];
    if (at.posted) {
      const Channel& channel = channels_.at(at.channel);
      return sends(at.step.op) ? Stuck{channel.destination, channel.receive_lane}
                               : Stuck{channel.source, channel.send_lane};
    }
    for (const Dependency& dependency : at.step.deps)
      if (dependency.steps > 0 && state.lanes[dependency.lane].index < dependency.steps)
        return Stuck{stuck.rank, dependency.lane};
    return stuck;
  };
  std::vector<Stuck> chain;
  for (Rank rank = 0; rank < ranks_.size() && chain.empty(); ++rank)
    for (Lane lane = 0; lane < lanes_ && chain.empty(); ++lane)
      if (ranks_[rank].lanes[lane].index < ranks_[rank].lanes[lane].steps) chain.push_back({rank, lane});
  auto cycle = chain.end();
  do {
    const Stuck waits_for = next(chain.back());
    cycle = std::find(chain.begin(), chain.end(), waits_for);
    if (cycle == chain.end())
      chain.push_back(waits_for);
    else
      break;
  } while (true);
  chain.erase(chain.begin(), cycle);

  constexpr std::size_t kMostNamed = 8;
  std::string text = "deadlock: ";
  for (std::size_t i = 0; i < chain.size() && i < kMostNamed; ++i) {
    const LaneState& at = ranks_[chain[i].rank].lanes[chain[i].lane];
    text += place_of(chain[i].rank, chain[i].lane, at.index) + " (" + deed_of(at.step) + ") waits for ";
  }
  if (chain.size() > kMostNamed) text += "... (" + std::to_string(chain.size()) + " lanes in all) ... for ";
  text += "rank " + std::to_string(chain.front().rank) + ", lane " + std::to_string(chain.front().lane);
  return wrong(chain.front().rank, chain.front().lane, std::move(text));
}

}  // namespace cnuas::ccl
