// Numbered messages whose every byte is known, so that a receiver sees what is lost, doubled, out of order or
// changed. Little-endian:
//
//   0   4    "CNPT"
//   4   4    run: drawn by the sender when it starts
//   8   8    number, counted from 0
//   16  8    messages in all, once the sender knows: with the last one at the latest; else 0
//   24  4    bytes of this message
//   28  4    0
//   32  ...  SplitMix64 from a seed of run and number
#include "core/engine/random.h"
#include "core/wire/byte_order.h"
#include "live/endpoint/main/session.h"
#include "live/posix/clock.h"

#include <algorithm>
#include <cstring>
#include <map>
#include <optional>
#include <span>
#include <vector>

#include <sys/random.h>

namespace cnuas::live::endpoint {

namespace {

constexpr std::size_t kHeadBytes = 32;
constexpr char kMagic[4] = {'C', 'N', 'P', 'T'};

struct Head {
  std::uint32_t run = 0;
  std::uint64_t number = 0;
  std::uint64_t total = 0;
  std::uint32_t bytes = 0;
};

void write_message(const Head& head, std::span<std::byte> out) {
  std::memcpy(out.data(), kMagic, sizeof(kMagic));
  wire::store(&out[4], head.run);
  wire::store(&out[8], head.number);
  wire::store(&out[16], head.total);
  wire::store(&out[24], head.bytes);
  wire::store(&out[28], std::uint32_t{0});
  Random random((std::uint64_t{head.run} << 32) + head.number);
  for (std::size_t at = kHeadBytes; at < out.size(); at += 8) {
    std::byte word[8];
    wire::store(word, random.next());
    std::memcpy(&out[at], word, std::min<std::size_t>(8, out.size() - at));
  }
}

// Nothing when it is no message of a pattern. Only the head is looked at.
std::optional<Head> read_head(std::span<const std::byte> message) {
  if (message.size() < kHeadBytes || std::memcmp(message.data(), kMagic, sizeof(kMagic)) != 0)
    return std::nullopt;
  return Head{wire::load<std::uint32_t>(&message[4]), wire::load<std::uint64_t>(&message[8]),
              wire::load<std::uint64_t>(&message[16]), wire::load<std::uint32_t>(&message[24])};
}

// Follows one run of one sender.
class Checker {
 public:
  Checker(std::uint32_t run, Tally& tally) : run_(run), tally_(tally) {}
  std::uint32_t run() const { return run_; }

  void take(const Head& head, std::span<const std::byte> message) {
    expected_.resize(message.size());
    write_message(head, expected_);
    if (head.bytes != message.size() || !std::equal(message.begin(), message.end(), expected_.begin())) {
      ++tally_.corrupt;
      return;
    }
    if (head.total > 0) total_ = head.total;
    if (head.number == next_) {
      ++next_;
    } else if (head.number > next_) {
      remember_missing(head.number);
      next_ = head.number + 1;
    } else if (forget_missing(head.number)) {
      ++tally_.out_of_order;
    } else {
      ++tally_.duplicated;
    }
  }

  bool complete() const { return total_ > 0 && next_ >= total_ && missing_.empty(); }
  // The last message has come, so nothing else will.
  bool ended() const { return total_ > 0 && next_ >= total_; }

  void finish() {
    for (const auto& [first, end] : missing_)
      tally_.lost += end - first;
    if (total_ > next_) tally_.lost += total_ - next_;
    tally_.lost += forgotten_;
  }

 private:
  static constexpr std::size_t kMostGaps = 4096;

  void remember_missing(std::uint64_t end) {
    if (missing_.size() >= kMostGaps) {
      forgotten_ += end - next_;  // lost for good: should one of them come, it counts as doubled
      return;
    }
    missing_.emplace(next_, end);
  }

  // True when it was missing.
  bool forget_missing(std::uint64_t number) {
    auto gap = missing_.upper_bound(number);
    if (gap == missing_.begin()) return false;
    --gap;
    const auto [first, end] = *gap;
    if (number >= end) return false;
    missing_.erase(gap);
    if (first < number) missing_.emplace(first, number);
    if (number + 1 < end) missing_.emplace(number + 1, end);
    return true;
  }

  std::uint32_t run_;
  Tally& tally_;
  std::uint64_t next_ = 0;
  std::uint64_t total_ = 0;
  std::uint64_t forgotten_ = 0;
  std::map<std::uint64_t, std::uint64_t> missing_;  // from, to before
  std::vector<std::byte> expected_;
};

std::uint32_t draw_run() {
  std::uint32_t run = 0;
  if (::getrandom(&run, sizeof(run), 0) != sizeof(run))
    run = static_cast<std::uint32_t>(monotonic_now() / kNanosecond);
  return run;
}

}  // namespace

void run_pattern_sender(Session& session) {
  const Options& options = session.options();
  Tally& tally = session.tally();
  std::vector<std::byte> message(cnuaslink_max_message(session.link()));
  const std::uint32_t run = draw_run();
  const auto send = [&](std::uint64_t number, std::uint64_t total) {
    const std::size_t size = std::max(kHeadBytes, options.bytes[number % options.bytes.size()]);
    const std::span<std::byte> out = std::span(message).first(size);
    write_message({run, number, total, static_cast<std::uint32_t>(size)}, out);
    return session.send(options.to.value, out.data(), out.size(), tally.sent);
  };
  while (session.goes_on(tally.sent)) {
    if (!send(tally.sent, options.count)) break;
    session.discard();
  }
  // Ended by time or by a signal: one more says that it was the last.
  if (options.count == 0) send(tally.sent, tally.sent + 1);
}

void run_pattern_checker(Session& session) {
  const Options& options = session.options();
  Tally& tally = session.tally();
  GpuId from = options.from;
  std::optional<Checker> checker;
  cnuaslink_message message;
  while (session.goes_on(tally.received)) {
    if (!session.receive(message)) {
      if (options.idle_ps > 0 && monotonic_now() - session.last_received_ps() >= options.idle_ps) break;
      continue;
    }
    const std::span<const std::byte> payload(session.payload(), message.bytes);
    const std::optional<Head> head = read_head(payload);
    if (!head || (from != kNoGpu && message.source != from.value)) {
      ++tally.unexpected;
      continue;
    }
    from = GpuId{message.source};
    if (!checker) checker.emplace(head->run, tally);
    if (head->run != checker->run()) {
      ++tally.unexpected;
      continue;
    }
    checker->take(*head, payload);
    if (checker->ended()) break;
  }
  if (checker) checker->finish();
}

}  // namespace cnuas::live::endpoint
