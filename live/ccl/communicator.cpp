// What a communicator is: its state, its links, and the communicators that are split from it.
#include "live/ccl/communicator.h"

#include "core/wire/byte_order.h"
#include "live/ccl/communicator_turn.h"
#include "live/posix/clock.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <new>
#include <thread>
#include <utility>

namespace cnuas::live::collectives {
namespace {

constexpr std::size_t kReceiveAtOnce = 256;
constexpr auto kTellingAgain = std::chrono::microseconds(20);
constexpr std::int64_t kTellingNs = 200'000'000;
constexpr int kMostSplitAttempts = 4;
constexpr std::size_t kSplitRecordBytes = 12;  // color, key, nonce

bool complete(const cnuasccl_link_transport& link) {
  return link.send != nullptr && link.recv != nullptr && link.local_gpu != nullptr;
}

}  // namespace

Communicator::Communicator(Membership membership, Settings settings, Environment environment)
    : membership_(std::move(membership)),
      environment_(environment),
      settings_(settings),
      mailbox_(membership_),
      recorder_(settings.flight_entries) {}

Communicator::~Communicator() {
  if (link_) {
    const std::lock_guard lock(link_->mutex());
    mailbox_.drop_held();
  }
  detach();
}

// --- Asking -----------------------------------------------------------------------------------------------

void Communicator::state(cnuasccl_comm_state& out) {
  const int carrier = carrier_.load(std::memory_order_acquire);
  out.carrier = static_cast<cnuasccl_carrier>(carrier);
  out.poisoned = static_cast<cnuasccl_status_t>(poisoned_.load());
  out.collectives = collectives_.load();
  if (carrier == CNUASCCL_CARRIER_NONE) return;
  {
    const std::lock_guard lock(text_mutex_);
    copy_text(carrier_name_, out.carrier_name, sizeof out.carrier_name);
  }
  const Mailbox::Counters now = counters();
  out.frames_sent = now.frames_sent;
  out.bytes_sent = now.bytes_sent;
  out.frames_received = now.frames_received;
  out.bytes_received = now.bytes_received;
  out.frames_held = now.frames_held;
}

Mailbox::Counters Communicator::counters() {
  if (!link_) return {};
  const std::lock_guard lock(link_->mutex());
  return mailbox_.counters();
}

std::string Communicator::last_error() const {
  const std::lock_guard lock(text_mutex_);
  return last_error_;
}

void Communicator::note_error(const Failure& failure) {
  const std::lock_guard lock(text_mutex_);
  last_error_ = failure.text.empty() ? status_sentence(failure.status) : failure.text;
}

std::string Communicator::flight_dump() const {
  FlightRecorder::Context context{membership_.id(), &membership_, {}};
  {
    const std::lock_guard lock(text_mutex_);
    context.carrier = carrier_name_;
  }
  return recorder_.dump(context);
}

// --- Turns, poison, abort ---------------------------------------------------------------------------------

void Communicator::release() noexcept {
  for (;;) {
    if (abort_requested_ && poisoned_ == CNUASCCL_OK) abort_now();
    in_call_ = false;
    // An abort that came just now found the call still here, and left the telling to it.
    if (!abort_requested_ || poisoned_ != CNUASCCL_OK || in_call_.exchange(true)) return;
  }
}

Failure Communicator::abort() {
  abort_requested_ = true;
  if (!in_call_.exchange(true)) release();
  return {};
}

void Communicator::abort_now() noexcept {
  Failure why{CNUASCCL_ABORTED, {}};
  try {
    why.text = membership_.describe(membership_.rank()) + " was aborted";
  } catch (const std::bad_alloc&) {  // the status is enough
  }
  tell_peers(why.status, kNoRank);
  poison(why);
}

void Communicator::poison(const Failure& why) noexcept {
  try {
    const std::lock_guard lock(text_mutex_);
    poison_text_ = why.text.empty() ? status_sentence(why.status) : why.text;
  } catch (const std::bad_alloc&) {  // the status is enough
  }
  poisoned_ = why.status;
  if (!link_) return;
  const std::lock_guard lock(link_->mutex());
  mailbox_.fail({why.status, {}});  // so that nothing more is kept
}

Failure Communicator::ready() const {
  if (poisoned_ != CNUASCCL_OK) {
    const std::lock_guard lock(text_mutex_);
    return failure(CNUASCCL_POISONED, std::string("an earlier collective failed with ") +
                                          status_name(poisoned_) + ": " + poison_text_);
  }
  if (membership_.size() > 1 && !link_)
    return failure(CNUASCCL_NOT_SUPPORTED,
                   "the communicator has no link: cnuasccl_comm_set_link() gives it one");
  return {};
}

// Best effort, for a short time: a peer that takes nothing, or that there is no memory to tell, finds out by
// its own deadline.
void Communicator::tell_peers(cnuasccl_status_t status, Rank culprit) noexcept {
  if (!link_ || status == CNUASCCL_PEER_ABORTED) return;
  try {
    tell(status, culprit);
  } catch (const std::bad_alloc&) {
  }
}

void Communicator::tell(cnuasccl_status_t status, Rank culprit) {
  std::vector<Rank> left;
  for (Rank peer = 0; peer < membership_.size(); ++peer)
    if (peer != membership_.rank()) left.push_back(peer);
  const std::int64_t until_ns = monotonic_ns() + kTellingNs;
  for (;;) {
    {
      const std::lock_guard lock(link_->mutex());
      const auto told = [&](Rank peer) {
        return mailbox_.send_abort(peer, sequence_, status, culprit) != Link::Sent::again;
      };
      left.erase(std::remove_if(left.begin(), left.end(), told), left.end());
      // Peers may be waiting to send to this rank, and would not take what is sent to them.
      Failure ignored;
      if (!left.empty()) link_->receive(kReceiveAtOnce, ignored);
    }
    if (left.empty() || monotonic_ns() > until_ns) return;
    std::this_thread::sleep_for(kTellingAgain);
  }
}

// --- Links ------------------------------------------------------------------------------------------------

bool Communicator::attach(std::shared_ptr<Link> link) {
  const std::lock_guard lock(link->mutex());
  if (!link->attach(mailbox_)) return false;
  mailbox_.set_link(link.get());
  link_ = std::move(link);
  return true;
}

void Communicator::detach() {
  if (!link_) return;
  {
    const std::lock_guard lock(link_->mutex());
    link_->detach(mailbox_);
    mailbox_.set_link(nullptr);
  }
  link_.reset();
}

Failure Communicator::set_link(const cnuasccl_link_transport& link, const cnuasccl_link_extension* extension,
                               const cnuasccl_link_transport* fallback,
                               const cnuasccl_link_extension* fallback_extension) {
  const Turn turn(*this);
  if (Failure busy = turn.check(); busy.failed()) return busy;
  if (poisoned_ != CNUASCCL_OK) return ready();
  if (link_) return failure(CNUASCCL_INVALID_ARGUMENT, "the communicator has a link already");
  if (!complete(link) || (fallback != nullptr && !complete(*fallback)))
    return failure(CNUASCCL_INVALID_ARGUMENT, "a transport lacks one of send, recv and local_gpu");
  const GpuId gpu = membership_.gpu_of(membership_.rank());
  auto primary = std::make_shared<Link>(link, extension, "link");
  bool available = false;
  {
    const std::lock_guard lock(primary->mutex());
    available = primary->available();
    if (available) {
      const Failure wrong = primary->check_gpu(gpu);
      // The other ranks are in an exchange over the fallback; a link that fails is one that is not available.
      if (fallback != nullptr && wrong.status == CNUASCCL_LINK_FAILED) available = false;
      if (available && wrong.failed()) return wrong;
    }
  }
  if (fallback == nullptr) {
    if (!available)
      return failure(CNUASCCL_LINK_FAILED, "the link '" + primary->name() + "' is not available");
    const std::lock_guard lock(text_mutex_);
    carrier_name_ = primary->name();
    attach(std::move(primary));
    carrier_.store(CNUASCCL_CARRIER_LINK, std::memory_order_release);
    return {};
  }
  auto second = std::make_shared<Link>(*fallback, fallback_extension, "fallback");
  {
    const std::lock_guard lock(second->mutex());
    if (Failure wrong = second->check_gpu(gpu); wrong.failed()) return wrong;
  }
  return agree_on_link(available ? std::move(primary) : nullptr, std::move(second));
}

// The first link carries if it is available on all ranks. `primary` is null where it is not.
Failure Communicator::agree_on_link(std::shared_ptr<Link> primary, std::shared_ptr<Link> fallback) {
  attach(fallback);
  const std::byte own{static_cast<unsigned char>(primary ? 1 : 0)};
  std::vector<std::byte> all(membership_.size());
  if (Failure failed = exchange(ccl::EnvelopeKind::agreement, &own, all.data(), 1); failed.failed())
    return failed;
  const bool everywhere =
      std::all_of(all.begin(), all.end(), [](std::byte each) { return each == std::byte{1}; });
  if (everywhere) {
    detach();
    attach(std::move(primary));
  }
  const std::lock_guard lock(text_mutex_);
  carrier_name_ = link_->name();
  carrier_.store(everywhere ? CNUASCCL_CARRIER_LINK : CNUASCCL_CARRIER_FALLBACK, std::memory_order_release);
  return {};
}

Failure Communicator::share_link(Communicator& with) {
  const Turn turn(*this);
  if (Failure busy = turn.check(); busy.failed()) return busy;
  if (poisoned_ != CNUASCCL_OK) return ready();
  if (link_) return failure(CNUASCCL_INVALID_ARGUMENT, "the communicator has a link already");
  const int carrier = with.carrier_.load(std::memory_order_acquire);
  if (&with == this || carrier == CNUASCCL_CARRIER_NONE)
    return failure(CNUASCCL_INVALID_ARGUMENT, "the other communicator has no link to share");
  const GpuId gpu = membership_.gpu_of(membership_.rank());
  if (with.membership_.gpu_of(with.membership_.rank()) != gpu)
    return failure(CNUASCCL_WRONG_GPU, "the other communicator's link is that of another GPU");
  if (!attach(with.link_))
    return failure(CNUASCCL_INVALID_ARGUMENT, "the link has a communicator with this ID already");
  {
    const std::lock_guard lock(text_mutex_);
    carrier_name_ = link_->name();
  }
  carrier_.store(carrier, std::memory_order_release);
  std::vector<std::byte> all(membership_.size());
  const std::byte own{0};
  return exchange(ccl::EnvelopeKind::barrier, &own, all.data(), 1);
}

// --- Splitting --------------------------------------------------------------------------------------------

Failure Communicator::split(int color, int key, std::unique_ptr<Communicator>& child) {
  const Turn turn(*this);
  if (Failure busy = turn.check(); busy.failed()) return busy;
  if (Failure not_ready = ready(); not_ready.failed()) return not_ready;
  bool again = true;
  for (int attempt = 0; again && attempt < kMostSplitAttempts; ++attempt)
    if (Failure failed = make_child(color, key, child, again); failed.failed()) return failed;
  if (!again) return {};
  return failure(CNUASCCL_SYSTEM, "some rank could not make its new communicator");
}

// Two exchanges: who is of which color, and whether every rank has its child, so that none sends to a child
// that is not there yet. `again`: some rank has not.
Failure Communicator::make_child(int color, int key, std::unique_ptr<Communicator>& child, bool& again) {
  std::uint32_t nonce = 0;
  if (Failure none = draw_nonce(nonce); none.failed()) return none;
  std::array<std::byte, kSplitRecordBytes> own{};
  wire::store(own.data(), static_cast<std::uint32_t>(color));
  wire::store(own.data() + 4, static_cast<std::uint32_t>(key));
  wire::store(own.data() + 8, nonce);
  std::vector<std::byte> all(membership_.size() * kSplitRecordBytes);
  if (Failure failed = exchange(ccl::EnvelopeKind::split, own.data(), all.data(), own.size());
      failed.failed())
    return failed;

  std::vector<std::pair<std::int32_t, Rank>> members;  // key, rank in this communicator
  std::uint32_t id = 0;
  for (Rank rank = 0; rank < membership_.size(); ++rank) {
    const std::byte* record = all.data() + rank * kSplitRecordBytes;
    if (static_cast<std::int32_t>(wire::load<std::uint32_t>(record)) != color) continue;
    members.emplace_back(static_cast<std::int32_t>(wire::load<std::uint32_t>(record + 4)), rank);
    id ^= wire::load<std::uint32_t>(record + 8);
  }
  bool made = true;
  if (color >= 0) {
    std::sort(members.begin(), members.end());
    std::vector<GpuId> gpus;
    Rank mine = 0;
    for (const auto& [each, rank] : members) {
      if (rank == membership_.rank()) mine = static_cast<Rank>(gpus.size());
      gpus.push_back(membership_.gpu_of(rank));
    }
    Membership membership = Membership::from_gpus(std::move(gpus), mine);
    membership.fold_nonce(id);
    child = std::make_unique<Communicator>(std::move(membership), settings_, environment_);
    made = !link_ || child->attach(link_);
    if (link_ && made) {
      child->carrier_name_ = link_->name();
      child->carrier_.store(carrier_.load(), std::memory_order_release);
    }
  }
  std::vector<std::byte> answers(membership_.size());
  const std::byte answer{static_cast<unsigned char>(made ? 1 : 0)};
  Failure failed = exchange(ccl::EnvelopeKind::split, &answer, answers.data(), 1);
  again = !std::all_of(answers.begin(), answers.end(), [](std::byte each) { return each == std::byte{1}; });
  if (failed.failed() || again) child.reset();
  return failed;
}

}  // namespace cnuas::live::collectives
