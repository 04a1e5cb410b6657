// Messages to an echo, one at a time, and how long each takes to come back.
#include "core/wire/byte_order.h"
#include "live/endpoint/main/session.h"
#include "live/posix/clock.h"

#include <algorithm>
#include <cstring>
#include <span>
#include <vector>

namespace cnuas::live::endpoint {

namespace {

constexpr std::size_t kNumberBytes = 8;  // what an echo is recognised by; the rest of it is zero

bool is_echo_of(std::span<const std::byte> sent, const cnuaslink_message& message, const std::byte* received,
                GpuId from) {
  return message.source == from.value && message.bytes == sent.size() &&
         std::memcmp(sent.data(), received, sent.size()) == 0;
}

// The echo of `sent`; false when it has not come in time, or the session is to end.
bool await_echo(Session& session, std::span<const std::byte> sent, Picoseconds until_ps) {
  cnuaslink_message message;
  Tally& tally = session.tally();
  while (session.goes_on(tally.round_trip.count()) && monotonic_now() < until_ps) {
    if (!session.receive(message, until_ps)) continue;
    if (is_echo_of(sent, message, session.payload(), session.options().to)) return true;
    ++tally.unexpected;
  }
  return false;
}

void pause_between(Session& session, Picoseconds until_ps) {
  cnuaslink_message message;
  while (session.goes_on(session.tally().sent) && monotonic_now() < until_ps) {
    if (session.receive(message, until_ps)) ++session.tally().unexpected;
  }
}

}  // namespace

void run_ping(Session& session) {
  const Options& options = session.options();
  Tally& tally = session.tally();
  std::vector<std::byte> payload(cnuaslink_max_message(session.link()));
  while (session.goes_on(tally.sent)) {
    const std::size_t size = std::max(kNumberBytes, options.bytes[tally.sent % options.bytes.size()]);
    const std::span<std::byte> message = std::span(payload).first(size);
    wire::store(message.data(), tally.sent);
    const Picoseconds began_ps = monotonic_now();
    if (!session.send(options.to.value, message.data(), size, tally.sent)) return;
    if (await_echo(session, message, began_ps + options.reply_timeout_ps)) {
      const Picoseconds took_ps = monotonic_now() - began_ps;
      tally.round_trip.record(took_ps);
      tally.least_ps = std::min(tally.least_ps, took_ps);
      tally.most_ps = std::max(tally.most_ps, took_ps);
    } else {
      ++tally.unanswered;
    }
    if (options.interval_ps > 0) pause_between(session, began_ps + options.interval_ps);
  }
}

}  // namespace cnuas::live::endpoint
