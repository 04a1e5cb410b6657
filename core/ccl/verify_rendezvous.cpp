#include "core/ccl/verify_rendezvous.h"

#include <algorithm>
#include <utility>

namespace cnuas::ccl {

Rendezvous::Rendezvous(const Schedule& schedule, const Channels& channels, Aliasing aliasing,
                       Expressions& expressions)
    : schedule_(schedule),
      channels_(channels),
      aliasing_(aliasing),
      expressions_(expressions),
      lanes_(schedule.lanes()),
      ranks_(schedule.problem().ranks),
      posted_(channels.size()) {
  for (Rank rank = 0; rank < schedule.problem().ranks; ++rank) {
    define_inputs(rank);
    ranks_[rank].lanes.resize(lanes_);
    for (Lane lane = 0; lane < lanes_; ++lane)
      ranks_[rank].lanes[lane].steps = static_cast<std::uint32_t>(schedule.steps(rank, lane));
  }
}

void Rendezvous::define_inputs(Rank rank) {
  const Problem& problem = schedule_.problem();
  const bool gathers = problem.collective == Collective::all_gather;
  const std::uint64_t element = gathers ? partition(problem.count, problem.ranks, rank).offset : 0;
  const Place input = place(rank, Location{Buffer::input, 0});
  input.memory->define(input.offset, Piece{input_elements(problem, rank), Expressions::leaf(rank), element});
}

Buffer Rendezvous::canonical(Rank rank, Buffer buffer, std::uint64_t& offset) const {
  const Problem& problem = schedule_.problem();
  if (aliasing_ == Aliasing::apart || buffer == Buffer::scratch) return buffer;
  switch (problem.collective) {
    case Collective::all_gather:
      if (buffer == Buffer::input) offset += partition(problem.count, problem.ranks, rank).offset;
      return Buffer::output;
    case Collective::reduce_scatter:
      if (buffer == Buffer::output) offset += partition(problem.count, problem.ranks, rank).offset;
      return Buffer::input;
    case Collective::all_reduce:
    case Collective::broadcast:
      return Buffer::output;
    case Collective::all_to_all:
      break;
  }
  return buffer;
}

Rendezvous::Place Rendezvous::place(Rank rank, const Location& location) {
  std::uint64_t offset = location.offset;
  const Buffer buffer = canonical(rank, location.buffer, offset);
  return Place{&ranks_[rank].memory[static_cast<std::size_t>(buffer)], offset};
}

bool Rendezvous::same_place(Rank rank, const Location& a, const Location& b) const {
  std::uint64_t offset_a = a.offset;
  std::uint64_t offset_b = b.offset;
  return canonical(rank, a.buffer, offset_a) == canonical(rank, b.buffer, offset_b) && offset_a == offset_b;
}

bool Rendezvous::overlap(Rank rank, const Location& a, const Location& b, std::uint64_t count) const {
  std::uint64_t offset_a = a.offset;
  std::uint64_t offset_b = b.offset;
  if (canonical(rank, a.buffer, offset_a) != canonical(rank, b.buffer, offset_b)) return false;
  return std::max(offset_a, offset_b) < std::min(offset_a, offset_b) + count;
}

bool Rendezvous::read_output(Rank rank, Pieces& out, std::uint64_t& undefined_at) const {
  std::uint64_t first = 0;
  const Buffer buffer = canonical(rank, Buffer::output, first);
  const std::uint64_t end = first + output_elements(schedule_.problem(), rank);
  std::uint64_t next = first;
  for (const SymbolicMemory::Segment& segment :
       ranks_[rank].memory[static_cast<std::size_t>(buffer)].segments()) {
    if (segment.end() <= next) continue;
    if (next >= end || segment.offset > next) break;
    Piece piece = segment.piece;
    piece.element += next - segment.offset;
    piece.count = std::min(segment.end(), end) - next;
    next += piece.count;
    out.push_back(piece);
  }
  undefined_at = next - first;
  return next == end;
}

// ---- Progress ----

void Rendezvous::enqueue(Rank rank) {
  if (ranks_[rank].queued) return;
  ranks_[rank].queued = true;
  queue_.push_back(rank);
}

Result<void> Rendezvous::run() {
  const Rank ranks = schedule_.problem().ranks;
  for (Rank rank = ranks; rank-- > 0;)
    enqueue(rank);
  while (!queue_.empty()) {
    const Rank rank = queue_.back();
    queue_.pop_back();
    ranks_[rank].queued = false;
    if (auto result = advance(rank); !result) return result;
  }
  for (const RankState& state : ranks_)
    for (const LaneState& lane : state.lanes)
      if (lane.index < lane.steps) return deadlock();
  return {};
}

Result<void> Rendezvous::advance(Rank rank) {
  bool progress = true;
  while (progress) {
    progress = false;
    for (Lane lane = 0; lane < lanes_; ++lane) {
      Result<bool> moved = advance_lane(rank, lane);
      while (moved && *moved) {
        progress = true;
        moved = advance_lane(rank, lane);
      }
      if (!moved) return tl::unexpected<Error>(std::move(moved.error()));
    }
  }
  return {};
}

// True if a step has completed.
Result<bool> Rendezvous::advance_lane(Rank rank, Lane lane) {
  RankState& state = ranks_[rank];
  LaneState& at = state.lanes[lane];
  if (at.posted || at.index == at.steps) return false;
  if (!at.loaded) {
    at.step = schedule_.step(rank, lane, at.index);
    at.loaded = true;
  }
  if (!dependencies_met(state, at.step)) return false;
  begin(state, lane);
  const bool sending = sends(at.step.op);
  if (!sending && !receives(at.step.op)) {
    if (auto result = run_local(rank, lane); !result) return tl::unexpected<Error>(std::move(result.error()));
    complete(state, lane);
    return true;
  }
  at.channel = channels_.find(rank, at.step);
  at.posted = true;
  Posted& posted = posted_[at.channel];
  (sending ? posted.send : posted.receive) = true;
  if (!posted.send || !posted.receive) return false;
  const Rank peer = at.step.peer;
  if (auto result = run_message(at.channel); !result) return tl::unexpected<Error>(std::move(result.error()));
  enqueue(peer);
  return true;
}

bool Rendezvous::dependencies_met(const RankState& state, const Step& step) const {
  return std::all_of(step.deps.begin(), step.deps.end(), [&](const Dependency& dependency) {
    return dependency.steps == 0 || state.lanes[dependency.lane].index >= dependency.steps;
  });
}

// What a step has seen: what the one before it had seen, itself, and what its dependencies imply.
void Rendezvous::begin(RankState& state, Lane lane) {
  LaneState& at = state.lanes[lane];
  const std::size_t own = static_cast<std::size_t>(at.index) * lanes_;
  at.seen.resize(own + lanes_, 0);
  if (at.index > 0)
    std::copy_n(at.seen.begin() + static_cast<std::ptrdiff_t>(own - lanes_), lanes_,
                at.seen.begin() + static_cast<std::ptrdiff_t>(own));
  at.seen[own + lane] = at.index;
  for (const Dependency& dependency : at.step.deps) {
    if (dependency.steps == 0 || dependency.lane == lane) continue;
    const std::vector<std::uint32_t>& theirs = state.lanes[dependency.lane].seen;
    const std::size_t last = static_cast<std::size_t>(dependency.steps - 1) * lanes_;
    for (Lane other = 0; other < lanes_; ++other)
      at.seen[own + other] = std::max(at.seen[own + other], theirs[last + other]);
    at.seen[own + dependency.lane] =
        std::max(at.seen[own + dependency.lane], static_cast<std::uint32_t>(dependency.steps));
  }
}

void Rendezvous::complete(RankState& state, Lane lane) {
  LaneState& at = state.lanes[lane];
  ++at.index;
  at.loaded = false;
  at.posted = false;
}

// ---- Execution ----

Access Rendezvous::access(Rank rank, Lane lane) const {
  const LaneState& at = ranks_[rank].lanes[lane];
  return Access{lane, at.index, at.seen.data() + static_cast<std::size_t>(at.index) * lanes_};
}

Result<void> Rendezvous::read(Rank rank, Lane lane, const Location& location, Pieces& out) {
  out.clear();
  const Place from = place(rank, location);
  const std::uint64_t count = ranks_[rank].lanes[lane].step.count;
  if (const auto fault = from.memory->read(from.offset, count, access(rank, lane), out))
    return describe(rank, lane, "reads", location, *fault);
  return {};
}

Result<void> Rendezvous::write(Rank rank, Lane lane, const Location& location, const Pieces& pieces) {
  const Place to = place(rank, location);
  if (const auto fault = to.memory->write(to.offset, access(rank, lane), pieces))
    return describe(rank, lane, "writes", location, *fault);
  return {};
}

Result<void> Rendezvous::run_local(Rank rank, Lane lane) {
  const Step& step = ranks_[rank].lanes[lane].step;
  if (step.op == Op::nop) return {};
  if (step.op == Op::copy && same_place(rank, step.src, step.dst)) return {};
  if (overlap(rank, step.src, step.dst, step.count))
    return wrong(rank, lane, deed_of(step) + " between places that overlap");
  if (auto result = read(rank, lane, step.src, incoming_); !result) return result;
  if (step.op == Op::copy) return write(rank, lane, step.dst, incoming_);
  if (auto result = read(rank, lane, step.dst, operand_); !result) return result;
  auto result =
      step.incoming_left ? fold(rank, lane, incoming_, operand_) : fold(rank, lane, operand_, incoming_);
  if (!result) return result;
  return write(rank, lane, step.dst, folded_);
}

Result<void> Rendezvous::run_message(Channels::Id id) {
  const Channel& channel = channels_.at(id);
  const Rank from = channel.source;
  const Rank to = channel.destination;
  const Step sent = ranks_[from].lanes[channel.send_lane].step;
  const Step taken = ranks_[to].lanes[channel.receive_lane].step;
  if (sent.count != taken.count)
    return wrong(to, channel.receive_lane,
                 deed_of(taken) + " " + std::to_string(taken.count) + " elements, but " +
                     place_of(from, channel.send_lane, ranks_[from].lanes[channel.send_lane].index) +
                     " sends " + std::to_string(sent.count));
  if (auto result = read(from, channel.send_lane, sent.src, incoming_); !result) return result;
  const Pieces* result_pieces = &incoming_;
  if (taken.op == Op::recv_reduce) {
    if (!same_place(to, taken.src, taken.dst) && overlap(to, taken.src, taken.dst, taken.count))
      return wrong(to, channel.receive_lane, deed_of(taken) + " and folds between places that overlap");
    if (auto result = read(to, channel.receive_lane, taken.src, operand_); !result) return result;
    auto result = taken.incoming_left ? fold(to, channel.receive_lane, incoming_, operand_)
                                      : fold(to, channel.receive_lane, operand_, incoming_);
    if (!result) return result;
    result_pieces = &folded_;
  }
  if (auto result = write(to, channel.receive_lane, taken.dst, *result_pieces); !result) return result;
  ++messages_;
  elements_sent_ += sent.count;
  posted_[id] = Posted{};
  complete(ranks_[from], channel.send_lane);
  complete(ranks_[to], channel.receive_lane);
  return {};
}

Result<void> Rendezvous::fold(Rank rank, Lane lane, const Pieces& left, const Pieces& right) {
  folded_.clear();
  std::size_t l = 0;
  std::size_t r = 0;
  std::uint64_t left_done = 0;  // of the present piece
  std::uint64_t right_done = 0;
  while (l < left.size() && r < right.size()) {
    const std::uint64_t element = left[l].element + left_done;
    if (right[r].element + right_done != element)
      return wrong(rank, lane,
                   "folds element " + std::to_string(right[r].element + right_done) + " onto element " +
                       std::to_string(element));
    const std::uint64_t count = std::min(left[l].count - left_done, right[r].count - right_done);
    folded_.push_back(Piece{count, expressions_.fold(left[l].expression, right[r].expression), element});
    left_done += count;
    right_done += count;
    if (left_done == left[l].count) {
      ++l;
      left_done = 0;
    }
    if (right_done == right[r].count) {
      ++r;
      right_done = 0;
    }
  }
  return {};
}

}  // namespace cnuas::ccl
