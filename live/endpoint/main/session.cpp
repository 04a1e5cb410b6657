#include "live/endpoint/main/session.h"

#include "live/endpoint/main/summary.h"
#include "live/posix/clock.h"

#include <algorithm>
#include <csignal>
#include <cstdio>
#include <ctime>

#include <unistd.h>

namespace cnuas::live::endpoint {

namespace {

constexpr std::int64_t kMomentNs = 50'000'000;  // after which signals and limits are looked at
constexpr Picoseconds kProgressEvery = 500 * kMillisecond;
constexpr Picoseconds kPatienceWithABusyPort = 500 * kMillisecond;
constexpr std::uint64_t kAskedBetweenClocks = 32;

volatile std::sig_atomic_t told_to_end = 0;

void tell_to_end(int) {
  told_to_end = 1;
}

}  // namespace

void end_at_signals() {
  struct sigaction action {};
  action.sa_handler = tell_to_end;  // without SA_RESTART: waiting ends, too
  ::sigaction(SIGINT, &action, nullptr);
  ::sigaction(SIGTERM, &action, nullptr);
  action.sa_handler = SIG_IGN;  // a reader of the summary that has gone is an error to report
  ::sigaction(SIGPIPE, &action, nullptr);
}

cnuaslink_options Session::link_options(const Options& options) {
  cnuaslink_options link;
  cnuaslink_options_init(&link, sizeof link);
  link.run_dir = options.run_dir.c_str();
  link.port = options.port;
  if (!options.socket_path.empty()) link.socket_path = options.socket_path.c_str();
  link.gpu_id = options.gpu.value;
  link.flags = CNUASLINK_RAW;  // every payload as it is
  if (options.reconnect) link.flags |= CNUASLINK_AUTO_RECONNECT;
  if (options.silent) link.flags |= CNUASLINK_SILENT;
  link.byte_order = options.little_endian ? CNUASLINK_LITTLE_ENDIAN : CNUASLINK_BIG_ENDIAN;
  return link;
}

bool Session::open(cnuaslink_options link_options) {
  cnuaslink* link = nullptr;
  cnuaslink_error error;
  cnuaslink_result result = CNUASLINK_BUSY;
  // The switch may not have noticed yet that the endpoint before this one has gone.
  const Picoseconds patience_ps = monotonic_now() + kPatienceWithABusyPort;
  while ((result = cnuaslink_open(&link_options, &link, &error)) == CNUASLINK_BUSY &&
         monotonic_now() < patience_ps && told_to_end == 0) {
    const timespec pause{0, 20'000'000};
    ::nanosleep(&pause, nullptr);
  }
  if (result != CNUASLINK_OK) {
    std::fprintf(stderr, "error: %s%s%s\n", cnuaslink_strerror(result), error.text[0] != '\0' ? ": " : "",
                 error.text);
    return false;
  }
  link_.reset(link);
  shows_progress_ = !options_.quiet && ::isatty(STDERR_FILENO) == 1;
  began_ps_ = last_received_ps_ = monotonic_now();
  next_progress_ps_ = began_ps_ + kProgressEvery;
  return true;
}

void Session::await_receiver() {
  if (options_.to == kNoGpu || options_.to == kBroadcast) return;
  cnuaslink_peer peer;
  const Picoseconds until_ps = monotonic_now() + options_.wait_ps;
  while (cnuaslink_peer_transport(link_.get(), options_.to.value, &peer) == CNUASLINK_OK &&
         peer.transport == CNUASLINK_TRANSPORT_NONE && told_to_end == 0) {
    if (monotonic_now() >= until_ps) {
      std::fprintf(stderr, "warning: GPU %s is not there: %s\n", to_string(options_.to).c_str(), peer.reason);
      break;
    }
    const timespec pause{0, 20'000'000};
    ::nanosleep(&pause, nullptr);
    cnuaslink_progress(link_.get());
  }
  began_ps_ = last_received_ps_ = monotonic_now();
}

bool Session::goes_on(std::uint64_t counted) {
  if (told_to_end != 0 || failure_ != CNUASLINK_OK || time_is_over_) return false;
  if (options_.count > 0 && counted >= options_.count) return false;
  if (!shows_progress_ && options_.duration_ps == 0) return true;
  if (++asked_ % kAskedBetweenClocks != 1) return true;
  const Picoseconds now = monotonic_now();
  time_is_over_ = options_.duration_ps > 0 && now - began_ps_ >= options_.duration_ps;
  if (time_is_over_) return false;
  if (shows_progress_ && now >= next_progress_ps_) show_progress(now);
  return true;
}

bool Session::well(cnuaslink_result result) {
  if (result == CNUASLINK_OK) return true;
  asked_ = 0;  // time has passed: the next question looks at the clock
  if (result != CNUASLINK_AGAIN && result != CNUASLINK_TIMEOUT) failure_ = result;
  return false;
}

bool Session::receive(cnuaslink_message& message, Picoseconds until_ps) {
  std::int64_t timeout_ns = kMomentNs;
  if (until_ps != kNever) {
    const Picoseconds left_ps = until_ps - monotonic_now();
    timeout_ns = left_ps <= 0 ? 0 : std::min<std::int64_t>(kMomentNs, left_ps / kNanosecond + 1);
  }
  give_back();
  if (!well(cnuaslink_borrow(link_.get(), CNUASLINK_ANY, &borrowed_, &message, timeout_ns))) return false;
  ++tally_.received;
  tally_.received_bytes += message.bytes;
  if (options_.idle_ps > 0) last_received_ps_ = monotonic_now();
  return true;
}

void Session::give_back() {
  cnuaslink_give_back(link_.get(), borrowed_);
  borrowed_ = nullptr;
}

void Session::discard() {
  cnuaslink_message message;
  for (give_back(); cnuaslink_borrow(link_.get(), CNUASLINK_ANY, &borrowed_, &message, 0) == CNUASLINK_OK;
       give_back()) {
    ++tally_.received;
    tally_.received_bytes += message.bytes;
  }
}

bool Session::send(std::uint16_t to, const void* data, std::size_t bytes, std::uint64_t counted) {
  while (!well(cnuaslink_send(link_.get(), to, data, bytes, kMomentNs))) {
    if (!goes_on(counted)) return false;
  }
  ++tally_.sent;
  tally_.sent_bytes += bytes;
  return true;
}

void Session::show_progress(Picoseconds now) {
  const double seconds = static_cast<double>(now - began_ps_) / static_cast<double>(kSecond);
  std::fprintf(stderr, "\r%8.1f s   %llu sent   %llu received\x1b[K", seconds,
               static_cast<unsigned long long>(tally_.sent),
               static_cast<unsigned long long>(tally_.received));
  next_progress_ps_ = now + kProgressEvery;
  progress_shown_ = true;
}

void Session::clear_progress() {
  if (progress_shown_) std::fputs("\r\x1b[K", stderr);
}

int Session::finish() {
  ended_ps_ = monotonic_now();
  clear_progress();
  cnuaslink_state state;
  state.struct_bytes = sizeof(state);
  cnuaslink_status(link_.get(), &state);
  const Summary summary{options_, tally_, state, ended_ps_ - began_ps_, failure_};
  const std::string text = options_.json ? to_json(summary) : to_table(summary);
  const bool written = std::fputs(text.c_str(), stdout) >= 0 && std::fflush(stdout) == 0;
  if (failure_ != CNUASLINK_OK) {
    std::fprintf(stderr, "error: %s%s%s\n", cnuaslink_strerror(failure_),
                 state.error.text[0] != '\0' ? ": " : "", state.error.text);
    return kInputOutput;
  }
  if (!written) {
    std::fputs("error: the summary cannot be written\n", stderr);
    return kInputOutput;
  }
  return tally_.clean() ? kSuccess : kCheckFailed;
}

}  // namespace cnuas::live::endpoint
