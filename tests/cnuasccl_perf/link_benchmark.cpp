// What collectives over the socket switch reach of what a bare relay gives: prints JSON.
//
//   cnuasccl_link_benchmark [ROUNDS]
//
// In each round, for each number of ranks: the relay carries frames of 61,480 bytes of payload between pairs
// of endpoints, both ways at once, as many endpoints as ranks; then cnuasccl-perf runs collectives over its
// own switch. A collective's rate is the bytes that its algorithm must move from rank to rank, by the time it
// takes; the figure is the median of the rounds' ratios to the relay's rate of the same round.
#include "core/wire/frame.h"
#include "live/posix/unique_fd.h"
#include "tests/benchmarks/switchd/relay.h"
#include "tests/cnuasccl_perf/temporary_folder.h"
#include "tests/switchd/child_process.h"

#include <algorithm>
#include <charconv>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <map>
#include <string>
#include <thread>
#include <vector>

#include <nlohmann/json.hpp>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

namespace {

using namespace cnuas;
using Json = nlohmann::ordered_json;
using Clock = std::chrono::steady_clock;

constexpr std::size_t kPayloadBytes = 61'480;
constexpr std::size_t kFrameBytes = wire::kHeaderBytes + kPayloadBytes;
constexpr int kFrames = 2'000;
constexpr double kBar = 0.8;
constexpr std::uint64_t kBarFrom = 256 << 10;

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

// One endpoint: sends on one thread and receives on another.
int exchange(const std::string& path, int ready, int go) {
  const live::UniqueFd fd = socket_at(path, false);
  char byte = 0;
  if (!fd || ::write(ready, &byte, 1) != 1 || ::read(go, &byte, 1) != 1) return 1;
  std::jthread sender([&] {
    const std::vector<std::byte> frame(kFrameBytes, std::byte{1});
    for (int i = 0; i < kFrames; ++i)
      if (::send(fd.get(), frame.data(), frame.size(), MSG_NOSIGNAL) < 0) return;
  });
  std::vector<std::byte> frame(kFrameBytes);
  for (int i = 0; i < kFrames; ++i)
    if (::recv(fd.get(), frame.data(), frame.size(), 0) != static_cast<ssize_t>(frame.size())) return 1;
  return 0;
}

// Payload bytes a second of all endpoints together; 0 when something failed.
double relay_rate(int endpoints) {
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
  if (!relay || ::pipe(ready) != 0 || ::pipe(go) != 0) return 0;
  std::vector<test::ChildProcess> processes;
  for (const std::string& path : paths) {
    auto process = test::ChildProcess::start([&] { return exchange(path, ready[1], go[0]); });
    if (!process) return 0;
    processes.push_back(std::move(*process));
  }
  std::vector<char> bytes(static_cast<std::size_t>(endpoints));
  for (char& byte : bytes)
    if (::read(ready[0], &byte, 1) != 1) return 0;
  const auto began = Clock::now();
  const bool gone = ::write(go[1], bytes.data(), bytes.size()) == endpoints;
  bool well = gone;
  for (test::ChildProcess& process : processes)
    well = process.wait() == 0 && well;
  const std::chrono::duration<double> took = Clock::now() - began;
  for (const int fd : {ready[0], ready[1], go[0], go[1]})
    ::close(fd);
  return well ? static_cast<double>(kPayloadBytes) * kFrames * endpoints / took.count() : 0;
}

// The bytes from rank to rank of one call, of those algorithms that move the fewest, and of the others.
double bytes_moved(const Json& row, int ranks) {
  const double size = row["size"];
  const double n = ranks;
  const std::string collective = row["collective"];
  const std::string algorithm = row["algorithm"];
  if (collective == "broadcast") return (n - 1) * size;
  if (collective != "all_reduce") return (n - 1) * size;
  return algorithm == "one_shot" ? n * (n - 1) * size : 2 * (n - 1) * size;
}

Json perf(int ranks, const std::string& collective) {
  const test::TemporaryFolder folder;
  test::ProgramSettings settings;
  settings.command = {CNUAS_BINARY_DIR "/bin/cnuasccl-perf",
                      collective,
                      "--ranks",
                      std::to_string(ranks),
                      "-b",
                      "256K",
                      "-e",
                      "4M",
                      "-f",
                      "4",
                      "-n",
                      "30",
                      "-w",
                      "3",
                      "-a",
                      "3",
                      "-J",
                      folder / "out.json"};
  settings.output_file = folder / "out";
  auto process = test::ChildProcess::start(settings);
  if (!process || process->wait(std::chrono::minutes(5)) != 0) return {};
  return Json::parse(test::text_of(folder / "out.json"), nullptr, false);
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
  std::vector<double> ratios;
};

// False: something failed.
bool measure(int ranks, std::map<std::string, Measured>& all) {
  for (const char* collective : {"all_reduce", "all_gather", "all_to_all"}) {
    const double relay = relay_rate(ranks);
    const Json result = perf(ranks, collective);
    if (relay <= 0 || !result.is_object() || !result.contains("results")) return false;
    for (const Json& row : result["results"]) {
      char key[96];
      std::snprintf(key, sizeof key, "%d %s %012llu", ranks, collective,
                    static_cast<unsigned long long>(row["size"].get<std::uint64_t>()));
      Measured& measured = all[key];
      measured.ranks = ranks;
      measured.collective = collective;
      measured.algorithm = row["algorithm"];
      measured.size = row["size"];
      const double seconds = row["in_place"]["time"].get<double>() * 1e-6;
      measured.rates.push_back(bytes_moved(row, ranks) / seconds);
      measured.ratios.push_back(measured.rates.back() / relay);
    }
  }
  return true;
}

Json to_json(const Measured& measured) {
  const double ratio = median(measured.ratios);
  return {{"ranks", measured.ranks},
          {"collective", measured.collective},
          {"algorithm", measured.algorithm},
          {"size", measured.size},
          {"bytes_per_s", median(measured.rates)},
          {"of_relay", ratio},
          {"bar", measured.size >= kBarFrom ? Json(kBar) : Json(nullptr)},
          {"meets_bar", measured.size < kBarFrom || ratio >= kBar}};
}

}  // namespace

int main(int argc, char** argv) {
  int rounds = 3;
  if (argc > 2 ||
      (argc == 2 && (std::from_chars(argv[1], argv[1] + std::strlen(argv[1]), rounds).ec != std::errc() ||
                     rounds < 1 || rounds > 1'000))) {
    std::fprintf(stderr, "usage: %s [ROUNDS, 1 to 1000]\n", argv[0]);
    return 2;
  }
  std::map<std::string, Measured> all;
  for (int round = 0; round < rounds; ++round) {
    for (const int ranks : {2, 4}) {
      if (measure(ranks, all)) continue;
      std::fprintf(stderr, "error: a measurement with %d ranks failed\n", ranks);
      return 1;
    }
  }
  Json results = Json::array();
  for (const auto& [key, measured] : all)
    results.push_back(to_json(measured));
  const Json json = {{"schema", "cnuasccl.link-benchmark/1"}, {"rounds", rounds}, {"results", results}};
  std::printf("%s\n", json.dump(1).c_str());
  return 0;
}
