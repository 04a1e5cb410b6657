// What collectives over the socket switch reach of what a bare relay gives: prints JSON.
//
//   cnuasccl_link_benchmark [--rounds N] [--check]
//
// In each round, before each collective, the relay carries frames of 61,480 bytes of payload between pairs
// of endpoints, as many as ranks, both ways at once and without an end; then cnuasccl-perf runs collectives
// over its own switch. A collective's rate is the bytes that its algorithm must move from rank to rank, by
// the time it takes. `of_relay`, which the bar is about, is the median of the rounds' ratios to the relay's
// rate. Both are measured over about as many bytes, because processes take some milliseconds until the
// scheduler has found places for them. `of_relay_by_call` is the same where the relay's endpoints have to
// wait for each other as ranks do: each sends in one go what a rank sends in one call, takes as much from its
// partner, and only then goes on. They keep what they send in their caches.
#include "core/wire/frame.h"
#include "live/posix/unique_fd.h"
#include "tests/benchmarks/switchd/relay.h"
#include "tests/cnuasccl_perf/temporary_folder.h"
#include "tests/switchd/child_process.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <string>
#include <thread>
#include <vector>

#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>
#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

namespace {

using namespace cnuas;
using Json = nlohmann::ordered_json;
using Clock = std::chrono::steady_clock;

constexpr std::size_t kPayloadBytes = 61'480;
constexpr std::size_t kFrameBytes = wire::kHeaderBytes + kPayloadBytes;
constexpr std::array kRanks{2, 4};
constexpr std::array kCollectives{"all_reduce", "all_gather", "reduce_scatter", "all_to_all", "broadcast"};
constexpr std::array<std::uint64_t, 4> kSizes{256 << 10, 1 << 20, 8 << 20, 128 << 20};
constexpr double kBar = 0.8;

// What each endpoint of the relay sends, and receives.
struct Load {
  std::size_t bytes_a_call = 0;  // 0: streams, a full frame a call
  int calls = 0;
  double bytes() const {
    return static_cast<double>(bytes_a_call == 0 ? kPayloadBytes : bytes_a_call) * calls;
  }
};
constexpr Load kStream{0, 2'000};

// So many calls that an endpoint, or a rank, sends about as much as an endpoint that streams.
int calls_for(double bytes_a_call) {
  return std::clamp(static_cast<int>(kStream.bytes() / bytes_a_call), 4, 2'000);
}

live::UniqueFd socket_at(const std::string& path, bool listening) {
  live::UniqueFd fd(::socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0));
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  std::strncpy(address.sun_path, path.c_str(), sizeof address.sun_path - 1);
  const auto* where = reinterpret_cast<const sockaddr*>(&address);
  const bool ok = listening ? ::bind(fd.get(), where, sizeof address) == 0 && ::listen(fd.get(), 1) == 0
                            : ::connect(fd.get(), where, sizeof address) == 0;
  if (!ok) fd.reset();
  return fd;
}

// The relay drops what comes before it has accepted the other end, so the two greet each other until both
// have been heard; greetings that come later are passed over.
constexpr ssize_t kGreetingBytes = 1;
bool greet(int fd) {
  const char greeting = '.';
  pollfd entry{fd, POLLIN, 0};
  do {
    if (::send(fd, &greeting, kGreetingBytes, MSG_NOSIGNAL) < 0) return false;
  } while (::poll(&entry, 1, 10) == 0);
  char heard = 0;
  return ::recv(fd, &heard, 1, 0) == 1 && ::send(fd, &greeting, kGreetingBytes, MSG_NOSIGNAL) == 1;
}

// One endpoint that streams: sends on one thread and receives on another.
bool stream(int fd, const Load& load) {
  std::jthread sender([&] {
    const std::vector<std::byte> frame(kFrameBytes, std::byte{1});
    for (int i = 0; i < load.calls; ++i)
      if (::send(fd, frame.data(), frame.size(), MSG_NOSIGNAL) < 0) return;
  });
  std::vector<std::byte> frame(kFrameBytes);
  for (int i = 0; i < load.calls;) {
    const ssize_t got = ::recv(fd, frame.data(), frame.size(), 0);
    if (got <= 0) return false;
    if (got > kGreetingBytes) ++i;
  }
  return true;
}

// One endpoint that has to have all of a call before it goes on to the next.
bool exchange(int fd, const Load& load) {
  const std::vector<std::byte> data(load.bytes_a_call + kFrameBytes, std::byte{1});
  std::vector<std::byte> frame(kFrameBytes);
  std::size_t received = 0;
  for (int call = 0; call < load.calls; ++call) {
    std::size_t sent = 0;
    while (sent < load.bytes_a_call || received < load.bytes_a_call) {
      bool moved = false;
      if (sent < load.bytes_a_call) {
        const std::size_t payload = std::min(kPayloadBytes, load.bytes_a_call - sent);
        moved = ::send(fd, data.data() + sent, wire::kHeaderBytes + payload, MSG_NOSIGNAL | MSG_DONTWAIT) > 0;
        if (moved) sent += payload;
      }
      const ssize_t got = ::recv(fd, frame.data(), frame.size(), MSG_DONTWAIT);
      if (got == 0) return false;
      if (got > kGreetingBytes) received += static_cast<std::size_t>(got) - wire::kHeaderBytes;
      if (moved || got > 0) continue;
      pollfd entry{fd, static_cast<short>(sent < load.bytes_a_call ? POLLIN | POLLOUT : POLLIN), 0};
      if (::poll(&entry, 1, 60'000) != 1) return false;
    }
    received -= load.bytes_a_call;  // the partner may be ahead
  }
  return true;
}

int run_endpoint(const std::string& path, const Load& load, int ready, int go, int end) {
  const live::UniqueFd fd = socket_at(path, false);
  char byte = 0;
  if (!fd || !greet(fd.get()) || ::write(ready, &byte, 1) != 1 || ::read(go, &byte, 1) != 1) return 1;
  const bool well = load.bytes_a_call == 0 ? stream(fd.get(), load) : exchange(fd.get(), load);
  // The relay ends with the first that hangs up.
  return well && ::write(ready, &byte, 1) == 1 && ::read(end, &byte, 1) == 1 ? 0 : 1;
}

// Payload bytes a second of all endpoints together; 0 when something failed.
double relay_rate(int endpoints, const Load& load) {
  const test::TemporaryFolder folder;
  std::vector<live::UniqueFd> listeners;
  std::vector<std::string> paths;
  for (int i = 0; i < endpoints; ++i) {
    paths.push_back(folder / std::to_string(i));
    listeners.push_back(socket_at(paths.back(), true));
  }
  auto relay = test::ChildProcess::start([&] { return benchmark::run_relay(std::move(listeners)); });
  int ready[2];
  int go[2];
  int end[2];
  if (!relay || ::pipe(ready) != 0 || ::pipe(go) != 0 || ::pipe(end) != 0) return 0;
  std::vector<test::ChildProcess> processes;
  for (const std::string& path : paths) {
    auto process =
        test::ChildProcess::start([&] { return run_endpoint(path, load, ready[1], go[0], end[0]); });
    if (!process) return 0;
    processes.push_back(std::move(*process));
  }
  const std::string all(static_cast<std::size_t>(endpoints), '.');
  const auto hear_from_all = [&] {
    for (std::size_t i = 0; i < all.size(); ++i) {
      pollfd entry{ready[0], POLLIN, 0};
      char byte = 0;
      if (::poll(&entry, 1, 60'000) != 1 || ::read(ready[0], &byte, 1) != 1) return false;
    }
    return true;
  };
  const auto tell_all = [&](int pipe) {
    return ::write(pipe, all.data(), all.size()) == static_cast<ssize_t>(all.size());
  };
  bool well = hear_from_all();
  const auto began = Clock::now();
  well = well && tell_all(go[1]) && hear_from_all();
  const std::chrono::duration<double> took = Clock::now() - began;
  well = tell_all(end[1]) && well;
  if (well)
    for (test::ChildProcess& process : processes)
      well = process.wait() == 0 && well;
  for (const int fd : {ready[0], ready[1], go[0], go[1], end[0], end[1]})
    ::close(fd);
  return well ? load.bytes() * endpoints / took.count() : 0;
}

// The bytes from rank to rank of one call, of those algorithms that move the fewest, and of the others.
double bytes_moved(const std::string& collective, const std::string& algorithm, int ranks, double size) {
  const double n = ranks;
  if (collective != "all_reduce") return (n - 1) * size;
  return algorithm == "one_shot" ? n * (n - 1) * size : 2 * (n - 1) * size;
}

// The row of cnuasccl-perf's results; null when it failed.
Json perf(int ranks, const std::string& collective, std::uint64_t size) {
  const test::TemporaryFolder folder;
  const std::string bytes = std::to_string(size);
  const int calls = calls_for(bytes_moved(collective, "", ranks, static_cast<double>(size)) / ranks);
  test::ProgramSettings settings;
  settings.command = {CNUAS_BINARY_DIR "/bin/cnuasccl-perf",
                      collective,
                      "--ranks",
                      std::to_string(ranks),
                      "-b",
                      bytes,
                      "-e",
                      bytes,
                      "-n",
                      std::to_string(calls),
                      "-w",
                      "10",
                      "-a",
                      "3",
                      "-J",
                      folder / "out.json"};
  settings.output_file = folder / "out";
  auto process = test::ChildProcess::start(settings);
  if (!process || process->wait(std::chrono::minutes(5)) != 0) {
    std::fputs(test::text_of(folder / "out").c_str(), stderr);
    return {};
  }
  const Json result = Json::parse(test::text_of(folder / "out.json"), nullptr, false);
  const bool well = result.is_object() && result.contains("results") && result["results"].size() == 1;
  return well ? result["results"][0] : Json();
}

double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values.empty() ? 0 : values[values.size() / 2];
}

struct Measured {
  int ranks = 0;
  std::string collective;
  std::string algorithm;
  std::uint64_t size = 0;
  std::vector<double> rates;
  std::vector<double> of_relay;
  std::vector<double> of_relay_by_call;
};

bool failed(const char* what) {
  std::fprintf(stderr, "error: %s failed\n", what);
  return false;
}

// False: something failed.
bool measure(int ranks, const std::string& collective, std::uint64_t size, Measured& measured) {
  const double streamed = relay_rate(ranks, kStream);
  if (streamed <= 0) return failed("the relay");
  const Json row = perf(ranks, collective, size);
  if (!row.is_object()) return failed("cnuasccl-perf");
  measured.ranks = ranks;
  measured.collective = collective;
  measured.algorithm = row["algorithm"];
  measured.size = size;
  // In place, an all_to_all copies its input first.
  const Json& timed = row[collective == "all_to_all" ? "out_of_place" : "in_place"];
  const double bytes = bytes_moved(collective, measured.algorithm, ranks, static_cast<double>(size));
  const double a_call = bytes / ranks;
  const double relayed = relay_rate(ranks, {static_cast<std::size_t>(a_call), calls_for(a_call)});
  if (relayed <= 0) return failed("the relay, call by call");
  measured.rates.push_back(bytes / (timed["time"].get<double>() * 1e-6));
  measured.of_relay_by_call.push_back(measured.rates.back() / relayed);
  measured.of_relay.push_back(measured.rates.back() / streamed);
  return true;
}

bool meets_bar(const Measured& measured) {
  return median(measured.of_relay) >= kBar;
}

Json to_json(const Measured& measured) {
  return {{"ranks", measured.ranks},
          {"collective", measured.collective},
          {"algorithm", measured.algorithm},
          {"size", measured.size},
          {"bytes_per_s", median(measured.rates)},
          {"of_relay", median(measured.of_relay)},
          {"of_relay_by_call", median(measured.of_relay_by_call)},
          {"meets_bar", meets_bar(measured)}};
}

}  // namespace

int main(int argc, char** argv) {
  int rounds = 3;
  bool check = false;
  CLI::App app("Measures collectives over the socket switch against a bare relay; prints JSON");
  app.add_option("--rounds", rounds, "How often each is measured")
      ->check(CLI::Range(1, 1000))
      ->capture_default_str();
  app.add_flag("--check", check, "Exit with 1 when the bar is missed");
  CLI11_PARSE(app, argc, argv);
  std::vector<Measured> all(kRanks.size() * kCollectives.size() * kSizes.size());
  for (int round = 0; round < rounds; ++round) {
    auto next = all.begin();
    for (const int ranks : kRanks)
      for (const char* collective : kCollectives)
        for (const std::uint64_t size : kSizes)
          if (!measure(ranks, collective, size, *next++)) return 70;
  }
  Json results = Json::array();
  bool met = true;
  for (const Measured& each : all) {
    results.push_back(to_json(each));
    met = met && meets_bar(each);
  }
  const Json json = {{"schema", "cnuasccl.link-benchmark/1"},
                     {"rounds", rounds},
                     {"bar", kBar},
                     {"met", met},
                     {"results", std::move(results)}};
  std::printf("%s\n", json.dump(1).c_str());
  return check && !met ? 1 : 0;
}
