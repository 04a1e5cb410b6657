// How a communicator carries out collectives.
#include "live/ccl/communicator.h"
#include "live/ccl/communicator_turn.h"
#include "live/posix/clock.h"

#include <algorithm>
#include <chrono>
#include <cstring>
#include <map>
#include <memory>
#include <new>
#include <thread>
#include <utility>

namespace cnuas::live::collectives {
namespace {

constexpr std::size_t kMostPlans = 16;
constexpr std::size_t kReceiveAtOnce = 256;
constexpr std::int64_t kMicro = 1'000;
constexpr std::int64_t kMilli = 1'000'000;
// An abort is noticed, and a link that was full is tried again, within these.
constexpr std::int64_t kLongestWaitNs = 10 * kMilli;
constexpr std::int64_t kFirstRetryNs = 20 * kMicro;
constexpr std::int64_t kLastRetryNs = kMilli;

std::int64_t unix_ns() {
  const auto now = std::chrono::system_clock::now().time_since_epoch();
  return std::chrono::duration_cast<std::chrono::nanoseconds>(now).count();
}

ccl::EnvelopeKind kind_of(ccl::Collective collective) {
  switch (collective) {
    case ccl::Collective::all_reduce:
      return ccl::EnvelopeKind::all_reduce;
    case ccl::Collective::broadcast:
      return ccl::EnvelopeKind::broadcast;
    case ccl::Collective::all_gather:
      return ccl::EnvelopeKind::all_gather;
    case ccl::Collective::reduce_scatter:
      return ccl::EnvelopeKind::reduce_scatter;
    case ccl::Collective::all_to_all:
      break;
  }
  return ccl::EnvelopeKind::all_to_all;
}

// A link is used between these, and frames go to the operation.
class Running {
 public:
  Running(Link& link, Mailbox& mailbox, Operation& operation)
      : link_(link), mailbox_(mailbox), operation_(operation), use_(link) {}
  ~Running() {
    const std::lock_guard lock(link_.mutex());
    mailbox_.set_consumer(nullptr, operation_.identity().sequence + 1);
  }
  Running(const Running&) = delete;
  Running& operator=(const Running&) = delete;

  void begin() {
    const std::lock_guard lock(link_.mutex());
    operation_.start();
    mailbox_.set_consumer(&operation_, operation_.identity().sequence);
  }

 private:
  Link& link_;
  Mailbox& mailbox_;
  Operation& operation_;
  Link::Use use_;
};
}  // namespace

Failure Communicator::configure(const cnuasccl_config& config) {
  const Turn turn(*this);
  if (Failure busy = turn.check(); busy.failed()) return busy;
  if (Failure wrong = apply(config, environment_, settings_); wrong.failed()) return wrong;
  plans_.clear();
  next_plan_ = 0;
  recorder_.resize(settings_.flight_entries);
  return {};
}

Failure Communicator::choice_of(const ccl::Problem& problem, ccl::DataType type, Choice& out,
                                std::string* explanation) {
  const Turn turn(*this);
  if (Failure busy = turn.check(); busy.failed()) return busy;
  if (explanation != nullptr) *explanation = explain(problem, type, settings_, racks());
  return plan(problem, type, out);
}

// A GPU's rack is the upper byte of its ID.
ccl::Racks Communicator::racks() const {
  ccl::Racks racks;
  std::map<unsigned, std::uint32_t> numbers;
  for (Rank rank = 0; rank < membership_.size(); ++rank) {
    const auto next = static_cast<std::uint32_t>(numbers.size());
    racks.of_rank.push_back(numbers.emplace(membership_.gpu_of(rank).rack(), next).first->second);
  }
  const std::uint64_t rate =
      settings_.uplink_bytes_per_s > 0 ? settings_.uplink_bytes_per_s : settings_.port.rate_bytes_per_s;
  racks.uplink_bytes_per_s.assign(numbers.size(), rate);
  return racks;
}

// The choice for a problem, made once and kept for the next time.
Failure Communicator::plan(const ccl::Problem& problem, ccl::DataType type, Choice& out) {
  for (const Planned& each : plans_) {
    if (each.problem.collective != problem.collective || each.problem.count != problem.count ||
        each.problem.root != problem.root || each.type != type)
      continue;
    out = each.choice;
    return {};
  }
  if (Failure none = choose(problem, type, settings_, racks(), out); none.failed()) return none;
  Call call;
  call.type = type;
  call.chunk_limit = settings_.chunk_limit;
  if (Failure large = check_messages(*out.schedule, membership_.rank(), call); large.failed()) return large;
  if (plans_.size() < kMostPlans) {
    plans_.push_back(Planned{problem, type, out});
  } else {
    plans_[next_plan_] = Planned{problem, type, out};
    next_plan_ = (next_plan_ + 1) % kMostPlans;
  }
  return {};
}

Failure Communicator::collective(const Request& request) {
  const Turn turn(*this);
  if (Failure busy = turn.check(); busy.failed()) return busy;
  if (Failure not_ready = ready(); not_ready.failed()) return not_ready;
  Choice choice;
  if (Failure none = plan(request.problem, request.type, choice); none.failed()) return none;
  Call call;
  call.kind = kind_of(request.problem.collective);
  call.type = request.type;
  call.op = request.op;
  FlightEntry entry;
  entry.canonical = choice.canonical;
  entry.in_place = request.in_place;
  return run(*choice.schedule, call, Memory{request.send, request.recv, nullptr}, entry);
}

Failure Communicator::exchange(ccl::EnvelopeKind kind, const std::byte* own, std::byte* all,
                               std::size_t bytes) {
  const ccl::Problem problem{ccl::Collective::all_gather,
                             ccl::Algorithm::recursive_doubling,
                             membership_.size(),
                             std::uint64_t{membership_.size()} * bytes,
                             0,
                             1};
  const auto schedule = make_schedule(problem);
  if (!schedule) return failure(CNUASCCL_TOO_LARGE, schedule.error().message);
  Call call;
  call.kind = kind;
  return run(**schedule, call, Memory{own, all, nullptr}, FlightEntry{});
}

Failure Communicator::barrier() {
  const Turn turn(*this);
  if (Failure busy = turn.check(); busy.failed()) return busy;
  if (Failure not_ready = ready(); not_ready.failed()) return not_ready;
  std::vector<std::byte> all(membership_.size());
  const std::byte own{0};
  return exchange(ccl::EnvelopeKind::barrier, &own, all.data(), 1);
}

Failure Communicator::run(const ccl::Schedule& schedule, const Call& given, const Memory& buffers,
                          FlightEntry entry) {
  Call call = given;
  call.sequence = sequence_;
  call.chunk_limit = settings_.chunk_limit;
  call.checksum = settings_.checksum.value_or(!link_ || !link_->keeps_bytes());
  entry.kind = call.kind;
  entry.sequence = call.sequence;
  entry.signature = signature_of(schedule.problem(), call);
  entry.began_ns = unix_ns();
  const std::int64_t began = monotonic_ns();
  recorder_.begin(entry);  // without memory for that, nothing has begun
  ++collectives_;
  const Mailbox::Counters before = counters();
  Failure why;
  try {
    Memory memory = buffers;
    // The schedules of all_to_all write to blocks whose own contents are still to be sent.
    const bool copies = call.kind == ccl::EnvelopeKind::all_to_all && entry.in_place;
    const std::size_t input = copies ? schedule.problem().count * size_of(call.type) : 0;
    memory.scratch =
        scratch_.take(input + schedule.scratch_elements(membership_.rank()) * size_of(call.type));
    if (copies) {
      if (input > 0) std::memcpy(memory.scratch, buffers.input, input);
      memory.input = memory.scratch;
      memory.scratch += input;
    }
    Operation operation(schedule, membership_, call, memory, link_ ? &mailbox_ : nullptr, link_.get());
    why = membership_.size() == 1 ? drive_alone(operation) : drive(operation);
    if (why.failed()) entry.culprit = culprit(operation, why);
  } catch (const std::bad_alloc&) {
    why = {CNUASCCL_NO_MEMORY, {}};  // a text would need some
  }
  if (why.failed()) {
    tell_peers(why.status, entry.culprit);
    poison(why);
  }
  ++sequence_;
  entry.took_ns = monotonic_ns() - began;
  entry.status = why.status;
  entry.text = why.text;
  const Mailbox::Counters after = counters();
  entry.frames_sent = after.frames_sent - before.frames_sent;
  entry.frames_received = after.frames_received - before.frames_received;
  recorder_.end(entry);
  return why;
}

// On whose account a collective failed.
Rank Communicator::culprit(const Operation& operation, const Failure& why) {
  if (!link_ || why.status == CNUASCCL_LINK_FAILED || why.status == CNUASCCL_ABORTED) return kNoRank;
  const std::lock_guard lock(link_->mutex());
  return mailbox_.failure().failed() ? mailbox_.culprit() : operation.awaited().peer;
}

Failure Communicator::drive_alone(Operation& operation) {
  operation.start();
  if (operation.finished()) return {};
  return failure(CNUASCCL_NOT_SUPPORTED, operation.describe_wait());
}

Failure Communicator::drive(Operation& operation) {
  Running running(*link_, mailbox_, operation);
  running.begin();
  Patience patience;
  patience.last_ns = monotonic_ns();
  patience.retry_ns = kFirstRetryNs;
  Failure broken;  // the link, while waiting
  for (;;) {
    std::int64_t pause_ns = 0;
    {
      const std::lock_guard lock(link_->mutex());
      bool done = false;
      Failure why = round(operation, std::move(broken), done);
      if (done || why.failed()) return why;
      why = wait_for(operation, patience, pause_ns);
      if (why.failed()) return why;
    }
    broken = {};
    if (pause_ns > 0) {
      broken = link_->wait(pause_ns);
    } else if (link_->crowded()) {
      std::this_thread::yield();
    }
  }
}

// What went wrong, and what this rank was doing; and after what another rank reports, what was seen of it
// here.
Failure Communicator::described(Failure why, const Operation& operation) const {
  why.text += "; " + operation.describe_wait();
  const Operation::Awaited awaited = operation.awaited();
  if (why.status == CNUASCCL_PEER_ABORTED) {
    const Failure suspect = mailbox_.suspicion(awaited.peer, awaited.channel);
    if (suspect.failed()) why.text += "; " + suspect.text;
  }
  return why;
}

// Takes in what has come, and does what that makes possible. What came before the link broke may be all that
// was needed, so that counts first.
Failure Communicator::round(Operation& operation, Failure broken, bool& done) {
  Failure receiving;
  link_->receive(kReceiveAtOnce, receiving);
  Failure sending;
  if (!mailbox_.failure().failed()) operation.advance(sending);
  if (!sending.failed()) mailbox_.send_credits(sending);
  done = operation.finished();
  if (done) return {};
  if (mailbox_.failure().failed()) return described(mailbox_.failure(), operation);
  for (Failure* each : {&broken, &receiving, &sending}) {
    if (!each->failed()) continue;
    return described(std::move(*each), operation);
  }
  if (abort_requested_) return failure(CNUASCCL_ABORTED, "aborted; " + operation.describe_wait());
  return {};
}

// How long to wait before the next round, 0 after one that has got on; fails when there was none for too
// long.
Failure Communicator::wait_for(const Operation& operation, Patience& patience, std::int64_t& pause_ns) const {
  const std::int64_t now = monotonic_ns();
  pause_ns = 0;
  if (operation.progress() != patience.seen) {
    patience.seen = operation.progress();
    patience.last_ns = now;
    patience.retry_ns = kFirstRetryNs;
    return {};
  }
  const std::int64_t waited = now - patience.last_ns;
  if (waited >= settings_.timeout_ns) return timed_out(operation, waited);
  pause_ns = kLongestWaitNs;
  if (operation.link_is_full() || mailbox_.owes_credits()) {
    pause_ns = patience.retry_ns;
    patience.retry_ns = std::min(2 * patience.retry_ns, kLastRetryNs);
  }
  pause_ns = std::min(pause_ns, settings_.timeout_ns - waited);
  return {};
}

Failure Communicator::timed_out(const Operation& operation, std::int64_t waited_ns) const {
  std::string text =
      "nothing for " + std::to_string(waited_ns / kMilli) + " ms: " + operation.describe_wait();
  const Operation::Awaited awaited = operation.awaited();
  // A frame that was refused, or that nobody claims, may well be the one that was waited for.
  const Failure suspect = mailbox_.suspicion(awaited.peer, awaited.channel);
  if (suspect.failed()) return failure(suspect.status, text + "; " + suspect.text);
  return failure(CNUASCCL_TIMEOUT, std::move(text));
}

}  // namespace cnuas::live::collectives
