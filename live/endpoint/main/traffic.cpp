// The modes that send and receive without looking at what it is: echo, blast, sink, one-slot.
#include "live/endpoint/main/session.h"
#include "live/posix/clock.h"

#include <algorithm>
#include <ctime>
#include <vector>

namespace cnuas::live::endpoint {

namespace {

// Once a `hold_ps` has passed, or the session is to end. The link is not touched meanwhile.
void stand_still(Session& session, Picoseconds hold_ps) {
  const Picoseconds until_ps = monotonic_now() + hold_ps;
  const Tally& tally = session.tally();
  while (session.goes_on(tally.received)) {
    const Picoseconds left_ps = std::min(until_ps - monotonic_now(), 50 * kMillisecond);
    if (left_ps <= 0) return;
    const timespec left{0, static_cast<long>(left_ps / kNanosecond)};
    ::nanosleep(&left, nullptr);
  }
}

// When message number `sent` is due at a rate.
Picoseconds due_at(Picoseconds began_ps, std::uint64_t sent, double rate_per_s) {
  return began_ps +
         static_cast<Picoseconds>(static_cast<double>(sent) / rate_per_s * static_cast<double>(kSecond));
}

}  // namespace

void run_echo(Session& session) {
  cnuaslink_message message;
  const Tally& tally = session.tally();
  while (session.goes_on(tally.received)) {
    if (session.receive(message)) session.send(message.source, session.payload(), message.bytes, tally.sent);
  }
}

void run_sink(Session& session) {
  cnuaslink_message message;
  const Picoseconds idle_ps = session.options().idle_ps;
  while (session.goes_on(session.tally().received)) {
    if (session.receive(message) || idle_ps == 0) continue;
    if (monotonic_now() - session.last_received_ps() >= idle_ps) return;
  }
}

// The link reads one packet at a time, and none while one is held (one_slot_options in main.cpp).
void run_one_slot(Session& session) {
  cnuaslink_message message;
  while (session.goes_on(session.tally().received)) {
    if (!session.receive(message)) continue;
    stand_still(session, session.options().hold_ps);
    session.give_back();
  }
}

void run_blast(Session& session) {
  const Options& options = session.options();
  Tally& tally = session.tally();
  const std::vector<std::byte> payload(*std::max_element(options.bytes.begin(), options.bytes.end()));
  std::vector<cnuaslink_outgoing> batch;
  const Picoseconds began_ps = monotonic_now();
  std::size_t size = 0;
  while (session.goes_on(tally.sent)) {
    std::uint64_t most = options.batch;
    if (options.count > 0) most = std::min(most, options.count - tally.sent);
    if (options.rate_per_s > 0) {
      most = 1;
      cnuaslink_message message;
      const Picoseconds due_ps = due_at(began_ps, tally.sent, options.rate_per_s);
      while (session.goes_on(tally.sent) && monotonic_now() < due_ps)
        session.receive(message, due_ps);
      if (!session.goes_on(tally.sent)) return;
    }
    batch.clear();
    for (std::uint64_t i = 0; i < most; ++i)
      batch.push_back({options.to.value, CNUASLINK_DATA, payload.data(),
                       options.bytes[(size + i) % options.bytes.size()]});
    std::size_t sent = 0;
    session.well(cnuaslink_send_many(session.link(), batch.data(), batch.size(), &sent, 50'000'000));
    for (std::size_t i = 0; i < sent; ++i)
      tally.sent_bytes += batch[i].bytes;
    tally.sent += sent;
    size = (size + sent) % options.bytes.size();
    session.discard();
  }
}

}  // namespace cnuas::live::endpoint
