#include "tests/benchmarks/switchd/report.h"

#include "tests/benchmarks/switchd/measure.h"
#include "tests/benchmarks/switchd/processors.h"
#include "tests/benchmarks/switchd/statistics.h"

#include <array>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <string>
#include <utility>

#include <sys/utsname.h>
#include <unistd.h>

namespace cnuas::benchmark {

namespace {

using Json = nlohmann::ordered_json;

// The values of one figure, round by round.
using Rounds = std::vector<double>;

Rounds ratios(const Rounds& above, const Rounds& below) {
  Rounds result;
  for (std::size_t round = 0; round < above.size() && round < below.size(); ++round)
    result.push_back(below[round] > 0 ? above[round] / below[round] : 0);
  return result;
}

struct ThroughputRounds {
  std::string name;
  StartSubject start;
  Rounds frames_per_s;
  Rounds cpu_us_per_frame;
  Rounds others;
  std::uint64_t sent = 0;
  std::uint64_t lost = 0;
  std::uint64_t unaccounted = 0;
};

struct RoundTripRounds {
  std::string name;
  StartSubject start;
  Rounds p50_us;
  Rounds p99_us;
  std::uint64_t count = 0;
  std::uint64_t lost = 0;
};

class Report {
 public:
  explicit Report(const Plan& plan) : plan_(plan) {}

  Result<Json> make();

 private:
  Result<void> throughput(std::size_t bytes);
  Result<void> round_trip(std::size_t bytes);
  Result<void> stalled_neighbour(std::size_t bytes);

  StartSubject relay() const {
    return [](const std::string& directory) { return start_relay(directory); };
  }
  StartSubject daemon() const {
    return [this](const std::string& directory) { return start_daemon(directory, plan_.daemon); };
  }
  StartSubject vde_switch() const {
    return [this](const std::string& directory) { return start_vde_switch(directory, plan_.vde_switch); };
  }

  // A ratio that must be at least, or at most, its bar; by the rounds' own ratios, so that what slows a whole
  // round down does not count.
  Json judged(const std::string& what, const Rounds& of_rounds, double bar, bool at_most) {
    const double value = median(of_rounds);
    const bool met = at_most ? value <= bar : value >= bar;
    if (!met) missed_.push_back(what);
    warn_of_spread(what, of_rounds);
    return {{"ratio", value},
            {"lowest", quartile(of_rounds, 0)},
            {"highest", quartile(of_rounds, 4)},
            {at_most ? "at_most" : "at_least", bar},
            {"met", met}};
  }
  void demand(const std::string& what, bool met) {
    if (!met) missed_.push_back(what);
  }
  void warn_of_spread(const std::string& what, const Rounds& rounds) {
    if (spread(rounds) > kWideSpread)
      warnings_.push_back(what + ": the middle half of the rounds is spread over " +
                          std::to_string(static_cast<int>(spread(rounds) * 100)) + " % of the median");
  }

  const Plan& plan_;
  Json throughput_ = Json::array();
  Json round_trip_ = Json::array();
  Json stalled_ = Json::array();
  Json skipped_ = Json::array();
  std::vector<std::string> missed_;
  std::vector<std::string> warnings_;
};

Json machine() {
  utsname system{};
  ::uname(&system);
  return {{"processors", ::sysconf(_SC_NPROCESSORS_ONLN)}, {"kernel", system.release}};
}

void say(const std::string& text) {
  std::fprintf(stderr, "%s\n", text.c_str());
}

std::string of_bytes(std::size_t bytes) {
  return std::to_string(bytes) + " B";
}

// Calls `measure` with each of `subjects` once a round, beginning with another one each time.
template <class Subjects, class Measure>
Result<void> interleave(const Plan& plan, Subjects& subjects, Measure measure) {
  const auto patience = std::chrono::milliseconds(static_cast<std::int64_t>(plan.patience_s * 1000));
  for (unsigned round = 0; round < plan.rounds; ++round) {
    for (std::size_t i = 0; i < subjects.size(); ++i) {
      wait_until_quiet(patience);
      if (Result<void> done = measure(subjects[(i + round) % subjects.size()]); !done) return done;
    }
  }
  return {};
}

Result<void> Report::throughput(std::size_t bytes) {
  const std::string at = "throughput at " + of_bytes(bytes);
  std::vector<ThroughputRounds> subjects{{"relay", relay(), {}, {}, {}, 0, 0, 0},
                                         {"daemon", daemon(), {}, {}, {}, 0, 0, 0}};
  if (!plan_.vde_switch.empty() && bytes <= kLongestEthernet)
    subjects.push_back({"vde_switch", vde_switch(), {}, {}, {}, 0, 0, 0});
  const auto measured = interleave(plan_, subjects, [&](ThroughputRounds& subject) -> Result<void> {
    const Result<Throughput> one = measure_throughput(subject.start, bytes, plan_.seconds);
    if (!one) return tl::unexpected(one.error());
    subject.frames_per_s.push_back(one->frames_per_s);
    subject.cpu_us_per_frame.push_back(one->cpu_us_per_frame);
    subject.others.push_back(one->others);
    subject.sent += one->sent;
    subject.lost += one->lost;
    subject.unaccounted += one->unaccounted;
    return {};
  });
  if (!measured) return measured;

  Json entry{{"frame_bytes", bytes}};
  for (const ThroughputRounds& subject : subjects) {
    const double frames_per_s = median(subject.frames_per_s);
    entry[subject.name] = {{"frames_per_s", frames_per_s},
                           {"megabytes_per_s", frames_per_s * static_cast<double>(bytes) / 1e6},
                           {"spread", spread(subject.frames_per_s)},
                           {"cpu_us_per_frame", median(subject.cpu_us_per_frame)},
                           {"others", median(subject.others)},
                           {"sent", subject.sent},
                           {"lost", subject.lost}};
    warn_of_spread(at + ", " + subject.name, subject.frames_per_s);
    if (median(subject.others) > kMuchOtherWork) {
      warnings_.push_back(at + ", " + subject.name + ": other processes took " +
                          std::to_string(static_cast<int>(median(subject.others) * 100)) +
                          " % of a processor");
    }
  }
  const ThroughputRounds& ours = subjects[1];
  entry["daemon"]["unaccounted"] = ours.unaccounted;
  demand(at + ": frames that the daemon lost without a count", ours.unaccounted == 0);
  entry["against_relay"] =
      judged(at + " against the relay", ratios(ours.frames_per_s, subjects[0].frames_per_s),
             throughput_bar(bytes), false);
  if (subjects.size() > 2)
    entry["against_vde_switch"] = judged(at + " against vde_switch",
                                         ratios(ours.frames_per_s, subjects[2].frames_per_s), kVdeBar, false);
  throughput_.push_back(std::move(entry));
  return {};
}

Result<void> Report::round_trip(std::size_t bytes) {
  const std::string at = "round trip at " + of_bytes(bytes);
  std::vector<RoundTripRounds> subjects{{"relay", relay(), {}, {}, 0, 0}, {"daemon", daemon(), {}, {}, 0, 0}};
  const auto measured = interleave(plan_, subjects, [&](RoundTripRounds& subject) -> Result<void> {
    const Result<RoundTrip> one = measure_round_trip(subject.start, bytes, plan_.seconds);
    if (!one) return tl::unexpected(one.error());
    subject.p50_us.push_back(one->p50_us);
    subject.p99_us.push_back(one->p99_us);
    subject.count += one->count;
    subject.lost += one->lost;
    return {};
  });
  if (!measured) return measured;

  Json entry{{"frame_bytes", bytes}};
  for (const RoundTripRounds& subject : subjects) {
    entry[subject.name] = {{"p50_us", median(subject.p50_us)},
                           {"p99_us", median(subject.p99_us)},
                           {"count", subject.count},
                           {"lost", subject.lost}};
  }
  demand(at + ": a frame did not come back", subjects[1].lost == 0);
  entry["p50_against_relay"] =
      judged(at + ", p50", ratios(subjects[1].p50_us, subjects[0].p50_us), kP50Bar, true);
  entry["p99_against_relay"] =
      judged(at + ", p99", ratios(subjects[1].p99_us, subjects[0].p99_us), kP99Bar, true);
  round_trip_.push_back(std::move(entry));
  return {};
}

Result<void> Report::stalled_neighbour(std::size_t bytes) {
  const std::string at = "beside a stalled reader at " + of_bytes(bytes);
  std::array<Rounds, 2> frames_per_s;  // with a neighbour that reads, and with one that stalls
  std::array<BesideNeighbour, 2> sums;
  std::array<std::size_t, 2> both{0, 1};
  std::uint64_t unaccounted = 0;
  const auto measured = interleave(plan_, both, [&](std::size_t stalls) -> Result<void> {
    const Result<BesideNeighbour> one = measure_beside_neighbour(daemon(), bytes, plan_.seconds, stalls == 1);
    if (!one) return tl::unexpected(one.error());
    frames_per_s[stalls].push_back(one->frames_per_s);
    sums[stalls].neighbour_sent += one->neighbour_sent;
    sums[stalls].neighbour_received += one->neighbour_received;
    sums[stalls].neighbour_dropped += one->neighbour_dropped;
    sums[stalls].good_lost += one->good_lost;
    const std::uint64_t known = one->neighbour_received + one->neighbour_dropped;
    unaccounted += one->neighbour_sent > known ? one->neighbour_sent - known : known - one->neighbour_sent;
    return {};
  });
  if (!measured) return measured;

  Json entry{{"frame_bytes", bytes}};
  for (const std::size_t stalls : both) {
    entry[stalls == 1 ? "neighbour_stalls" : "neighbour_reads"] = {
        {"frames_per_s", median(frames_per_s[stalls])},
        {"spread", spread(frames_per_s[stalls])},
        {"neighbour_sent", sums[stalls].neighbour_sent},
        {"neighbour_received", sums[stalls].neighbour_received},
        {"neighbour_dropped", sums[stalls].neighbour_dropped}};
  }
  entry["good_port_lost"] = sums[0].good_lost + sums[1].good_lost;
  entry["unaccounted"] = unaccounted;
  demand(at + ": frames that are neither received nor counted as dropped", unaccounted == 0);
  entry["against_reading_neighbour"] =
      judged(at, ratios(frames_per_s[1], frames_per_s[0]), kStalledNeighbourBar, false);
  stalled_.push_back(std::move(entry));
  return {};
}

Result<Json> Report::make() {
  if (plan_.vde_switch.empty())
    skipped_.push_back(
        {{"subject", "vde_switch"}, {"reason", "there is no program vde_switch (package vde2)"}});
  for (const std::size_t bytes : plan_.sizes) {
    say(of_bytes(bytes) + ": throughput");
    if (auto done = throughput(bytes); !done) return tl::unexpected(done.error());
    say(of_bytes(bytes) + ": round trip");
    if (auto done = round_trip(bytes); !done) return tl::unexpected(done.error());
    say(of_bytes(bytes) + ": beside a stalled reader");
    if (auto done = stalled_neighbour(bytes); !done) return tl::unexpected(done.error());
  }
  return Json{{"schema", "cnuaslink.switchd_benchmark/1"},
              {"machine", machine()},
              {"rounds", plan_.rounds},
              {"seconds", plan_.seconds},
              {"patience_s", plan_.patience_s},
              {"scheduling", plan_.scheduling},
              {"throughput", throughput_},
              {"round_trip", round_trip_},
              {"stalled_reader", stalled_},
              {"skipped", skipped_},
              {"warnings", warnings_},
              {"missed", missed_},
              {"met", missed_.empty()}};
}

}  // namespace

Result<nlohmann::ordered_json> run(const Plan& plan) {
  return Report(plan).make();
}

}  // namespace cnuas::benchmark
