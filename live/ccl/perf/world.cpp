#include "live/ccl/perf/world.h"

#include "live/ccl/perf/rank.h"
#include "live/ccl/socket/cnuasccl_link.h"
#include "live/posix/os_error.h"

#include <algorithm>
#include <cerrno>
#include <memory>
#include <thread>

#include <fcntl.h>
#include <unistd.h>

namespace cnuas::live::perf {
namespace {

constexpr std::uint32_t kFramesPerReceiver = 64;  // among threads
constexpr std::int64_t kReachNs = 10'000'000'000;

struct Pipe {
  UniqueFd reading;
  UniqueFd writing;
};

Result<Pipe> make_pipe() {
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) return os_error(errno, "cannot make a pipe");
  return Pipe{UniqueFd(ends[0]), UniqueFd(ends[1])};
}

struct StoreCloser {
  void operator()(cnuasccl_store* store) const { cnuasccl_store_close(store); }
};
struct LinkCloser {
  void operator()(cnuasccl_link* link) const { cnuasccl_link_close(link); }
};
struct WorldCloser {
  void operator()(cnuasccl_inproc* world) const { cnuasccl_inproc_destroy(world); }
};

std::string last_error() {
  char text[512];
  cnuasccl_last_error(nullptr, text, sizeof text);
  return text;
}

// The body of a rank's process.
int run_at_port(const Options& options, std::span<const Row> rows, const std::vector<std::string>& run_dirs,
                const std::string& meeting_dir, RankPlace place) {
  const auto rank = static_cast<unsigned>(place.rank);
  const std::string& run_dir = run_dirs[rank / options.ports_a_switch()];
  const unsigned port = options.first_port + rank % options.ports_a_switch();
  cnuasccl_link_options wanted;
  cnuasccl_link_options_init(&wanted, sizeof wanted);
  wanted.run_dir = run_dir.c_str();
  wanted.port = port;
  // Of its own switches it knows the racks.
  const unsigned rack = options.run_dirs.empty() ? 1 + rank / options.ports_a_switch() : options.rack;
  wanted.gpu_id = rack == 0 ? 0 : static_cast<std::uint16_t>(rack << 8 | port);
  char why[512];
  cnuasccl_link* opened = nullptr;
  if (const auto status = cnuasccl_link_open(&wanted, &opened, why, sizeof why); status != CNUASCCL_OK)
    return report_failure(place.report_fd, status, "opening the link", why);
  const std::unique_ptr<cnuasccl_link, LinkCloser> link(opened);
  cnuasccl_link_use(link.get(), &place.transport, &place.extension, sizeof place.extension);
  place.transport.local_gpu(&place.gpu_id, place.transport.context);
  cnuasccl_store* joined = nullptr;
  const std::string meeting = meeting_dir + "/ranks.sock";
  if (const auto status =
          cnuasccl_store_open(meeting.c_str(), options.ranks, place.rank, options.timeout_ns, &joined);
      status != CNUASCCL_OK)
    return report_failure(place.report_fd, status, "meeting the other ranks", last_error().c_str());
  const std::unique_ptr<cnuasccl_store, StoreCloser> store(joined);
  cnuasccl_store_bootstrap(store.get(), &place.bootstrap);
  std::vector<std::uint16_t> gpus(static_cast<std::size_t>(options.ranks));
  if (const auto status =
          place.bootstrap.allgather(&place.gpu_id, gpus.data(), sizeof place.gpu_id, place.bootstrap.context);
      status != CNUASCCL_OK)
    return report_failure(place.report_fd, status, "meeting the other ranks", last_error().c_str());
  if (const auto status = cnuasccl_link_wait_for(link.get(), gpus.data(), gpus.size(),
                                                 std::min(options.timeout_ns, kReachNs), why, sizeof why);
      status != CNUASCCL_OK)
    return report_failure(place.report_fd, status, "reaching the other ranks", why);
  return run_rank(options, rows, place);
}

// The body of the one process of all ranks.
int run_threads(const Options& options, std::span<const Row> rows, const std::vector<UniqueFd>& reports) {
  cnuasccl_inproc* made = nullptr;
  if (const auto status =
          cnuasccl_inproc_create(options.ranks, kFramesPerReceiver, options.timeout_ns, &made);
      status != CNUASCCL_OK)
    return report_failure(reports[0].get(), status, "making the ranks", last_error().c_str());
  const std::unique_ptr<cnuasccl_inproc, WorldCloser> world(made);
  std::vector<std::jthread> threads;
  for (int rank = 0; rank < options.ranks; ++rank) {
    threads.emplace_back([&, rank] {
      RankPlace place;
      place.rank = rank;
      place.report_fd = reports[static_cast<std::size_t>(rank)].get();
      place.gpu_id = static_cast<std::uint16_t>(0x0100 + rank);
      cnuasccl_inproc_bootstrap(world.get(), rank, &place.bootstrap);
      cnuasccl_inproc_link(world.get(), rank, place.gpu_id, &place.transport, &place.extension,
                           sizeof place.extension);
      run_rank(options, rows, place);
    });
  }
  threads.clear();
  return kSuccess;
}

}  // namespace

Result<World> World::over_switches(const Options& options, std::span<const Row> rows,
                                   const std::vector<std::string>& run_dirs, const std::string& meeting_dir) {
  World world;
  for (int rank = 0; rank < options.ranks; ++rank) {
    Result<Pipe> pipe = make_pipe();
    if (!pipe) return tl::unexpected(pipe.error());
    RankPlace place;
    place.rank = rank;
    place.report_fd = pipe->writing.get();
    Result<Process> process =
        Process::fork([&] { return run_at_port(options, rows, run_dirs, meeting_dir, place); });
    if (!process) return tl::unexpected(process.error());
    world.processes_.push_back(std::move(*process));
    world.reports_.push_back(std::move(pipe->reading));
  }
  return world;
}

Result<World> World::in_process(const Options& options, std::span<const Row> rows) {
  World world;
  std::vector<UniqueFd> writing;
  for (int rank = 0; rank < options.ranks; ++rank) {
    Result<Pipe> pipe = make_pipe();
    if (!pipe) return tl::unexpected(pipe.error());
    writing.push_back(std::move(pipe->writing));
    world.reports_.push_back(std::move(pipe->reading));
  }
  Result<Process> process = Process::fork([&] { return run_threads(options, rows, writing); });
  if (!process) return tl::unexpected(process.error());
  world.processes_.push_back(std::move(*process));
  return world;
}

void World::kill() {
  for (Process& process : processes_)
    process.kill();
}

}  // namespace cnuas::live::perf
