#include "live/ccl/perf/place.h"

#include "live/posix/os_error.h"
#include "live/posix/unique_fd.h"

#include <cerrno>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <system_error>
#include <thread>

#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

namespace cnuas::live::perf {
namespace {

constexpr const char* kSwitch = "cnuasgpu-link-switchd";
constexpr std::chrono::seconds kStartLimit{20};
constexpr int kEndPatienceMs = 7'000;  // the switch drains for up to five seconds
// Ranks that a busy machine does not run for a while are not dead: the switch holds their peers up for longer
// than its usual 50 ms before it drops what they have not read.
std::string fabric_of(unsigned racks) {
  return "scenario: cnuasccl-perf\n"
         "description: The switches between the ranks\n"
         "fabric:\n"
         "  racks: " +
         std::to_string(racks) +
         "\n"
         "  gpus_per_rack: 8\n"
         "  link: nvlink4\n" +
         (racks > 1 ? "  inter_switch: {bandwidth: 400 GB/s, latency: 1 us}\n" : "") +
         "  switch: {port_buffer: 1 MiB, stall_timeout: 10 s}\n"
         "workload:\n"
         "  - {collective: all_reduce, sizes: [1 KiB]}\n";
}

// A socket's path has at most 107 bytes: this leaves room for the names below the directory.
constexpr std::size_t kMostDirectoryBytes = 70;

std::string text_of(const std::string& path) {
  std::ifstream file(path);
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

std::string switch_program() {
  std::error_code error;
  const std::filesystem::path own = std::filesystem::read_symlink("/proc/self/exe", error);
  const std::filesystem::path beside = own.parent_path() / kSwitch;
  if (!error && ::access(beside.c_str(), X_OK) == 0) return beside.string();
  return kSwitch;
}

bool answers(const std::string& socket_path) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  if (socket_path.size() >= sizeof address.sun_path) return false;
  std::memcpy(address.sun_path, socket_path.c_str(), socket_path.size());
  const UniqueFd fd(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  return fd && ::connect(fd.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0;
}

// Precondition: it has ended.
std::string end_of(Process& process, const std::string& log) {
  const std::string said = text_of(log);
  return describe_end(*process.wait_status()) + (said.empty() ? "" : ": " + said);
}

}  // namespace

Result<TemporaryDirectory> TemporaryDirectory::make() {
  const char* given = std::getenv("TMPDIR");
  std::string path = given != nullptr && *given != '\0' ? given : "/tmp";
  path += "/cnuasccl-perf.XXXXXX";
  if (path.size() > kMostDirectoryBytes)
    return fail(ErrorCode::io, "the path is too long for sockets; set TMPDIR to a shorter one", path);
  if (::mkdtemp(path.data()) == nullptr) return os_error(errno, "cannot make a directory", path);
  return TemporaryDirectory(std::move(path));
}

TemporaryDirectory::~TemporaryDirectory() {
  std::error_code ignored;
  if (!path_.empty()) std::filesystem::remove_all(path_, ignored);
}

Result<OwnSwitch> OwnSwitch::start(const std::string& directory, unsigned rack, unsigned racks) {
  const std::string program = switch_program();
  const std::string run_dir = run_dir_in(directory, rack);
  const std::string log = run_dir + ".log";
  const std::string fabric = run_dir + ".yaml";
  std::ofstream file(fabric);
  file << fabric_of(racks);
  file.close();
  if (!file) return os_error(errno, "cannot be written", fabric);
  std::vector<std::string> command{program,  "--run-dir",          run_dir, "--config", fabric,
                                   "--rack", std::to_string(rack), "--log", "stderr",   "--log-level",
                                   "warning"};
  if (rack > 1) command.insert(command.end(), {"--uplink", run_dir_in(directory, 1) + "/port_8.sock"});
  Result<Process> process = Process::run(command, log);
  if (!process) return tl::unexpected(process.error());
  const auto limit = std::chrono::steady_clock::now() + kStartLimit;
  while (!answers(run_dir + "/mgmt.sock")) {
    if (!process->running()) return fail(ErrorCode::io, "the switch " + end_of(*process, log), program);
    if (std::chrono::steady_clock::now() > limit)
      return fail(ErrorCode::io, "the switch does not answer: " + text_of(log), program);
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
  }
  return OwnSwitch(std::move(*process), log);
}

std::string OwnSwitch::end() {
  if (process_.running() || process_.wait_status() == 0) return {};  // told to end, as this program was
  return end_of(process_, log_);
}

std::string OwnSwitch::run_dir_in(const std::string& directory, unsigned rack) {
  return directory + "/rack" + std::to_string(rack);
}

OwnSwitch::~OwnSwitch() {
  process_.end(kEndPatienceMs);
}

}  // namespace cnuas::live::perf
