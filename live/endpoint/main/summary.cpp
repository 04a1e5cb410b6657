#include "live/endpoint/main/summary.h"

#include <cstdio>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace cnuas::live::endpoint {

namespace {

using nlohmann::ordered_json;

double seconds(Picoseconds span_ps) {
  return static_cast<double>(span_ps) / static_cast<double>(kSecond);
}
double microseconds(Picoseconds span_ps) {
  return static_cast<double>(span_ps) / static_cast<double>(kMicrosecond);
}

double per_second(std::uint64_t amount, Picoseconds span_ps) {
  return span_ps > 0 ? static_cast<double>(amount) / seconds(span_ps) : 0;
}

std::string line(const char* what, std::uint64_t messages, std::uint64_t bytes, Picoseconds took_ps) {
  return fmt::format("{:<10} {:>12} messages  {:>15} bytes  {:>12.0f} messages/s  {:>10.1f} MB/s\n", what,
                     messages, bytes, per_second(messages, took_ps), per_second(bytes, took_ps) / 1e6);
}

ordered_json counters_of(const cnuaslink_counters& from) {
  return {{"connects", from.connects},
          {"frames_sent", from.frames_sent},
          {"bytes_sent", from.bytes_sent},
          {"frames_received", from.frames_received},
          {"bytes_received", from.bytes_received},
          {"invalid_frames", from.invalid_frames},
          {"misdirected_frames", from.misdirected_frames},
          {"doorbells_received", from.doorbells_received},
          {"keepalives_sent", from.keepalives_sent},
          {"send_waits", from.send_waits},
          {"receive_stops", from.receive_stops}};
}

}  // namespace

std::string_view name(Mode mode) {
  switch (mode) {
    case Mode::echo:
      return "echo";
    case Mode::blast:
      return "blast";
    case Mode::sink:
      return "sink";
    case Mode::pattern:
      return "pattern";
    case Mode::one_slot:
      return "one-slot";
    case Mode::ping:
      return "ping";
  }
  return "?";
}

std::string to_table(const Summary& summary) {
  const Tally& tally = summary.tally;
  std::string text = fmt::format("{} as GPU {}, {:.3f} s\n", name(summary.options.mode),
                                 to_string(summary.options.gpu), seconds(summary.took_ps));
  text += line("sent", tally.sent, tally.sent_bytes, summary.took_ps);
  text += line("received", tally.received, tally.received_bytes, summary.took_ps);
  if (summary.options.mode == Mode::pattern && summary.options.verify) {
    text += fmt::format("checked    {} lost, {} doubled, {} out of order, {} changed, {} of no pattern\n",
                        tally.lost, tally.duplicated, tally.out_of_order, tally.corrupt, tally.unexpected);
  }
  if (summary.options.mode == Mode::ping) {
    text += fmt::format("answered   {} of {}", tally.round_trip.count(), tally.sent);
    if (tally.round_trip.count() > 0) {
      text += fmt::format(", round trip p50 {:.1f} us, p99 {:.1f} us, least {:.1f} us, most {:.1f} us",
                          microseconds(tally.round_trip.p50_ps()), microseconds(tally.round_trip.p99_ps()),
                          microseconds(tally.least_ps), microseconds(tally.most_ps));
    }
    text += "\n";
  }
  return text;
}

std::string to_json(const Summary& summary) {
  const Tally& tally = summary.tally;
  ordered_json json = {{"schema", "cnuas-endpoint/1"},
                       {"mode", name(summary.options.mode)},
                       {"gpu", to_string(summary.options.gpu)},
                       {"seconds", seconds(summary.took_ps)},
                       {"sent", tally.sent},
                       {"sent_bytes", tally.sent_bytes},
                       {"sent_per_s", per_second(tally.sent, summary.took_ps)},
                       {"received", tally.received},
                       {"received_bytes", tally.received_bytes},
                       {"received_per_s", per_second(tally.received, summary.took_ps)}};
  if (summary.options.mode == Mode::pattern && summary.options.verify) {
    json["errors"] = {{"lost", tally.lost},
                      {"duplicated", tally.duplicated},
                      {"out_of_order", tally.out_of_order},
                      {"corrupt", tally.corrupt}};
    json["unexpected"] = tally.unexpected;
  }
  if (summary.options.mode == Mode::ping) {
    json["unanswered"] = tally.unanswered;
    json["unexpected"] = tally.unexpected;
    if (tally.round_trip.count() > 0) {
      json["round_trip_us"] = {{"count", tally.round_trip.count()},
                               {"p50", microseconds(tally.round_trip.p50_ps())},
                               {"p99", microseconds(tally.round_trip.p99_ps())},
                               {"least", microseconds(tally.least_ps)},
                               {"most", microseconds(tally.most_ps)}};
    }
  }
  json["link"] = counters_of(summary.link.counters);
  if (summary.failure != CNUASLINK_OK) json["failure"] = cnuaslink_strerror(summary.failure);
  return json.dump(2, ' ', false, ordered_json::error_handler_t::replace) + "\n";
}

}  // namespace cnuas::live::endpoint
