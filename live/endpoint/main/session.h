// A link of a running cnuas-endpoint, when it has to end, and what it has done.
#pragma once

#include "core/engine/time.h"
#include "core/switch/latency_histogram.h"
#include "live/endpoint/cnuaslink.h"
#include "live/endpoint/main/options.h"

#include <cstdint>
#include <limits>
#include <memory>
#include <string>

namespace cnuas::live::endpoint {

// What the modes count; the link has counters of its own.
struct Tally {
  std::uint64_t sent = 0;
  std::uint64_t sent_bytes = 0;  // payload
  std::uint64_t received = 0;
  std::uint64_t received_bytes = 0;
  // pattern
  std::uint64_t lost = 0;
  std::uint64_t duplicated = 0;
  std::uint64_t out_of_order = 0;
  std::uint64_t corrupt = 0;
  std::uint64_t unexpected = 0;  // messages that are none of the pattern, or no echo
  // ping
  std::uint64_t unanswered = 0;
  fabric_switch::LatencyHistogram round_trip;
  Picoseconds least_ps = std::numeric_limits<Picoseconds>::max();
  Picoseconds most_ps = 0;

  bool clean() const { return lost + duplicated + out_of_order + corrupt + unanswered == 0; }
};

struct CloseLink {
  void operator()(cnuaslink* link) const { cnuaslink_close(link); }
};

class Session {
 public:
  explicit Session(const Options& options) : options_(options) {}

  // Connects. Prints why not, and returns false.
  bool open(cnuaslink_options link_options);
  static cnuaslink_options link_options(const Options& options);
  // Until the switch knows the GPU to send to, so that the first messages are not lost when two endpoints are
  // started at once; at most Options::wait_ps, and not at all where the switch cannot be asked. Says when it
  // has waited in vain.
  void await_receiver();

  // Whether to go on: no signal, no limit reached (messages of `counted`), the link not failed. Shows
  // progress.
  bool goes_on(std::uint64_t counted);
  // What a call on the link has come to. OK: true. A wait that was too short: false. Anything else ends the
  // session: false, and goes_on() will be so too.
  bool well(cnuaslink_result result);

  // One message of any source, waiting for a moment, at most until `until_ps`. Its payload() is there until
  // the next, give_back() or discard().
  bool receive(cnuaslink_message& message, Picoseconds until_ps = kNever);
  const std::byte* payload() const { return static_cast<const std::byte*>(borrowed_); }
  void give_back();
  // Takes and counts what has come for nobody, without waiting.
  void discard();
  // Sends, waiting as long as goes_on() lets it.
  bool send(std::uint16_t to, const void* data, std::size_t bytes, std::uint64_t counted);

  const Options& options() const { return options_; }
  cnuaslink* link() { return link_.get(); }
  Tally& tally() { return tally_; }
  Picoseconds last_received_ps() const { return last_received_ps_; }

  // The summary, to standard output; the exit code.
  int finish();

 private:
  void show_progress(Picoseconds now);
  void clear_progress();

  const Options& options_;
  std::unique_ptr<cnuaslink, CloseLink> link_;
  const void* borrowed_ = nullptr;
  Tally tally_;
  cnuaslink_result failure_ = CNUASLINK_OK;
  Picoseconds began_ps_ = 0;
  Picoseconds ended_ps_ = 0;
  Picoseconds last_received_ps_ = 0;
  Picoseconds next_progress_ps_ = 0;
  std::uint64_t asked_ = 0;
  bool time_is_over_ = false;
  bool shows_progress_ = false;
  bool progress_shown_ = false;
};

// SIGINT and SIGTERM end goes_on().
void end_at_signals();

// Each runs until it is done or session.goes_on() says no.
void run_echo(Session& session);
void run_blast(Session& session);
void run_sink(Session& session);
void run_pattern_sender(Session& session);
void run_pattern_checker(Session& session);
void run_one_slot(Session& session);
void run_ping(Session& session);

}  // namespace cnuas::live::endpoint
