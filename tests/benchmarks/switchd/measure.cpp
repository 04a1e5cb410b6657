#include "tests/benchmarks/switchd/measure.h"

#include "live/posix/os_error.h"
#include "tests/benchmarks/switchd/processors.h"
#include "tests/benchmarks/switchd/traffic.h"
#include "tests/posix/temporary_directory.h"
#include "tests/switchd/child_process.h"
#include "tests/switchd/management_client.h"
#include "tests/switchd/shared_memory.h"
#include "tests/switchd/telemetry.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <thread>
#include <vector>

#include <poll.h>
#include <sys/socket.h>

namespace cnuas::benchmark {

namespace {

using Clock = std::chrono::steady_clock;
using std::chrono::milliseconds;
using test::ChildProcess;
using test::Shared;

constexpr milliseconds kWarmUp{100};
constexpr milliseconds kSilence{200};  // after which nothing more is under way
constexpr std::size_t kMostRoundTrips = 1 << 18;
constexpr std::size_t kNeighbourFrameBytes = 4096;
constexpr Pace kNeighbourPace{8, 1000};

void sleep_for(double seconds) {
  std::this_thread::sleep_for(std::chrono::duration<double>(seconds));
}

bool readable(int fd, milliseconds wait) {
  pollfd entry{fd, POLLIN, 0};
  return ::poll(&entry, 1, static_cast<int>(wait.count())) == 1;
}

// Everything that is there, and that comes until it has been silent for a while.
std::uint64_t read_all(int fd, milliseconds silence) {
  std::vector<std::byte> buffer(64 * 1024);
  std::uint64_t messages = 0;
  while (readable(fd, silence) && ::recv(fd, buffer.data(), buffer.size(), MSG_DONTWAIT) > 0)
    ++messages;
  return messages;
}

// Two ports of a subject, each with a socket.
struct Pair {
  live::UniqueFd sender;
  live::UniqueFd receiver;
  std::vector<std::byte> frame;
  std::vector<std::byte> reply;
};

// Connects both and waits until frames of one reach the other.
Result<Pair> connect_pair(Subject& subject, unsigned from, unsigned to, std::size_t frame_bytes) {
  Result<live::UniqueFd> sender = subject.connect(from);
  if (!sender) return tl::unexpected(sender.error());
  Result<live::UniqueFd> receiver = subject.connect(to);
  if (!receiver) return tl::unexpected(receiver.error());
  Pair pair{std::move(*sender), std::move(*receiver), subject.frame(from, to, frame_bytes),
            subject.frame(to, from, frame_bytes)};
  for (const auto& [fd, port] : {std::pair{pair.sender.get(), from}, {pair.receiver.get(), to}}) {
    const std::vector<std::byte> announcement = subject.announcement(port);
    ::send(fd, announcement.data(), announcement.size(), MSG_NOSIGNAL);
  }
  const bool reached = test::eventually([&] {
    ::send(pair.sender.get(), pair.frame.data(), pair.frame.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
    return readable(pair.receiver.get(), milliseconds(10));
  });
  if (!reached) return fail(ErrorCode::io, "frames do not come through", subject.name());
  read_all(pair.receiver.get(), milliseconds(20));
  read_all(pair.sender.get(), milliseconds(1));
  return pair;
}

// 0 for a subject that does not count.
Result<std::uint64_t> drops_of(const Subject& subject) {
  if (subject.management_socket().empty()) return 0;
  Result<test::ManagementClient> client = test::ManagementClient::connect(subject.management_socket());
  if (!client) return tl::unexpected(client.error());
  const Result<test::Telemetry> telemetry = test::Telemetry::fetch(*client);
  if (!telemetry) return tl::unexpected(telemetry.error());
  std::uint64_t drops = 0;
  for (std::size_t port = 0; port < telemetry->ports(); ++port)
    drops += telemetry->count(port, "rx_drops") + telemetry->count(port, "tx_drops");
  return drops;
}

Result<void> await(ChildProcess& process, const std::string& what) {
  if (process.wait() == 0) return {};
  return fail(ErrorCode::io, "the " + what + " has failed: it lost its connection, or did not end");
}

// A sender and a receiver at work, from the constructor on.
class RunningFlow {
 public:
  Result<void> start(const Pair& pair, std::size_t frame_bytes, bool with_receiver, Pace pace) {
    if (with_receiver) {
      auto receiver = ChildProcess::start([&] { return drain(pair.receiver.get(), frame_bytes, *flow_); });
      if (!receiver) return tl::unexpected(receiver.error());
      receiver_ = std::move(*receiver);
    }
    auto sender = ChildProcess::start([&] { return blast(pair.sender.get(), pair.frame, *flow_, pace); });
    if (!sender) return tl::unexpected(sender.error());
    sender_ = std::move(*sender);
    return {};
  }

  Result<void> stop_sending() {
    flow_->stop_sending = true;
    return await(sender_, "sender");
  }
  // All that is still under way is received before.
  Result<void> stop_receiving() {
    std::uint64_t last = received();
    auto since = Clock::now();
    while (received() < sent() && Clock::now() - since < kSilence) {
      std::this_thread::sleep_for(milliseconds(2));
      if (received() == last) continue;
      last = received();
      since = Clock::now();
    }
    flow_->stop_receiving = true;
    return await(receiver_, "receiver");
  }

  std::uint64_t sent() const { return flow_->sent; }
  std::uint64_t received() const { return flow_->received; }
  std::uint64_t wrong_length() const { return flow_->wrong_length; }
  // Of both processes, in seconds.
  double cpu() const { return cpu_seconds(sender_.pid()) + cpu_seconds(receiver_.pid()); }
  std::uint64_t lost() const { return sent() > received() ? sent() - received() : 0; }

 private:
  Shared<Flow> flow_;
  ChildProcess receiver_;
  ChildProcess sender_;
};

struct Rate {
  double frames_per_s = 0;
  double cpu_us_per_frame = 0;
  double others = 0;
};

Rate rate_over(const RunningFlow& flow, pid_t subject, double seconds) {
  const std::uint64_t received = flow.received();
  const double all_cpu = busy_seconds();
  const double subject_cpu = cpu_seconds(subject);
  const double ends_cpu = flow.cpu();
  const auto begin = Clock::now();
  sleep_for(seconds);
  const auto frames = static_cast<double>(flow.received() - received);
  const double used = cpu_seconds(subject) - subject_cpu;
  const double took = std::chrono::duration<double>(Clock::now() - begin).count();
  const double others = busy_seconds() - all_cpu - used - (flow.cpu() - ends_cpu);
  return {frames / took, frames > 0 ? used / frames * 1e6 : 0, std::max(0.0, others / took)};
}

double percentile_us(const std::vector<std::uint32_t>& sorted, std::size_t percent) {
  if (sorted.empty()) return 0;
  return static_cast<double>(sorted[(sorted.size() - 1) * percent / 100]) / 1e3;
}

}  // namespace

Result<Throughput> measure_throughput(const StartSubject& start, std::size_t frame_bytes, double seconds) {
  const live::TemporaryDirectory directory;
  Result<std::unique_ptr<Subject>> subject = start(directory.path());
  if (!subject) return tl::unexpected(subject.error());
  const Result<Pair> pair = connect_pair(**subject, 0, 1, frame_bytes);
  if (!pair) return tl::unexpected(pair.error());
  const Result<std::uint64_t> drops_before = drops_of(**subject);
  if (!drops_before) return tl::unexpected(drops_before.error());

  RunningFlow flow;
  if (auto started = flow.start(*pair, frame_bytes, true, {}); !started)
    return tl::unexpected(started.error());
  std::this_thread::sleep_for(kWarmUp);
  const Rate rate = rate_over(flow, (*subject)->pid(), seconds);
  if (auto ended = flow.stop_sending(); !ended) return tl::unexpected(ended.error());
  if (auto ended = flow.stop_receiving(); !ended) return tl::unexpected(ended.error());
  if (flow.wrong_length() > 0)
    return fail(ErrorCode::mismatch, "frames of a wrong length", (*subject)->name());

  const Result<std::uint64_t> drops_after = drops_of(**subject);
  if (!drops_after) return tl::unexpected(drops_after.error());
  const std::uint64_t counted = *drops_after - *drops_before;
  return Throughput{rate.frames_per_s, rate.cpu_us_per_frame,
                    rate.others,       flow.sent(),
                    flow.lost(),       flow.lost() > counted ? flow.lost() - counted : counted - flow.lost()};
}

Result<RoundTrip> measure_round_trip(const StartSubject& start, std::size_t frame_bytes, double seconds) {
  const live::TemporaryDirectory directory;
  Result<std::unique_ptr<Subject>> subject = start(directory.path());
  if (!subject) return tl::unexpected(subject.error());
  const Result<Pair> pair = connect_pair(**subject, 0, 1, frame_bytes);
  if (!pair) return tl::unexpected(pair.error());

  const Shared<Flow> flow;
  const Shared<std::array<std::uint32_t, kMostRoundTrips>> times;
  auto answering = ChildProcess::start([&] { return echo(pair->receiver.get(), pair->reply, *flow); });
  if (!answering) return tl::unexpected(answering.error());
  auto asking = ChildProcess::start([&] { return ping(pair->sender.get(), pair->frame, *times, *flow); });
  if (!asking) return tl::unexpected(asking.error());
  std::this_thread::sleep_for(kWarmUp);
  const std::uint64_t warm = flow->received;
  sleep_for(seconds);
  flow->stop_sending = true;
  if (auto ended = await(*asking, "asking process"); !ended) return tl::unexpected(ended.error());
  flow->stop_receiving = true;
  if (auto ended = await(*answering, "answering process"); !ended) return tl::unexpected(ended.error());

  std::vector<std::uint32_t> sorted(times->begin() + static_cast<std::ptrdiff_t>(warm),
                                    times->begin() + static_cast<std::ptrdiff_t>(flow->received.load()));
  std::sort(sorted.begin(), sorted.end());
  return RoundTrip{percentile_us(sorted, 50), percentile_us(sorted, 99), sorted.size(),
                   flow->sent - flow->received};
}

Result<BesideNeighbour> measure_beside_neighbour(const StartSubject& start, std::size_t frame_bytes,
                                                 double seconds, bool neighbour_stalls) {
  const live::TemporaryDirectory directory;
  Result<std::unique_ptr<Subject>> subject = start(directory.path());
  if (!subject) return tl::unexpected(subject.error());
  const Result<Pair> good = connect_pair(**subject, 0, 1, frame_bytes);
  if (!good) return tl::unexpected(good.error());
  const Result<Pair> neighbour = connect_pair(**subject, 2, 3, kNeighbourFrameBytes);
  if (!neighbour) return tl::unexpected(neighbour.error());
  const Result<std::uint64_t> drops_before = drops_of(**subject);
  if (!drops_before) return tl::unexpected(drops_before.error());

  RunningFlow beside;
  auto started = beside.start(*neighbour, kNeighbourFrameBytes, !neighbour_stalls, kNeighbourPace);
  if (!started) return tl::unexpected(started.error());
  if (neighbour_stalls) {
    const bool stalled = test::eventually([&] {
      const Result<std::uint64_t> drops = drops_of(**subject);
      return drops && *drops > *drops_before;
    });
    if (!stalled) return fail(ErrorCode::mismatch, "nothing is dropped for a reader that stands still");
  }
  RunningFlow flow;
  if (started = flow.start(*good, frame_bytes, true, {}); !started) return tl::unexpected(started.error());
  std::this_thread::sleep_for(kWarmUp);
  const Rate rate = rate_over(flow, (*subject)->pid(), seconds);

  if (auto ended = flow.stop_sending(); !ended) return tl::unexpected(ended.error());
  if (auto ended = flow.stop_receiving(); !ended) return tl::unexpected(ended.error());
  if (auto ended = beside.stop_sending(); !ended) return tl::unexpected(ended.error());
  std::uint64_t received = 0;
  if (neighbour_stalls) {
    received = read_all(neighbour->receiver.get(), kSilence);
  } else {
    if (auto ended = beside.stop_receiving(); !ended) return tl::unexpected(ended.error());
    received = beside.received();
  }
  const Result<std::uint64_t> drops_after = drops_of(**subject);
  if (!drops_after) return tl::unexpected(drops_after.error());
  return BesideNeighbour{rate.frames_per_s, beside.sent(), received, *drops_after - *drops_before,
                         flow.lost()};
}

}  // namespace cnuas::benchmark
