#include "tests/switchd/child_process.h"

#include "live/posix/os_error.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <sstream>
#include <string_view>
#include <system_error>
#include <thread>

#include <fcntl.h>
#include <grp.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

namespace cnuas::test {

namespace {

constexpr std::chrono::milliseconds kPollInterval{2};
constexpr int kFirstPassed = 3;
constexpr std::string_view kListenPid = "LISTEN_PID=";

std::string_view name_of(std::string_view variable) {
  return variable.substr(0, variable.find('='));
}

std::vector<std::string> environment_of(const ProgramSettings& settings) {
  std::vector<std::string> all = settings.environment;
  if (!settings.passed.empty()) {
    all.push_back("LISTEN_FDS=" + std::to_string(settings.passed.size()));
    all.push_back(std::string(kListenPid) + "0000000000");  // the child writes its own number over it
  }
  const std::size_t given = all.size();
  for (char** variable = environ; *variable != nullptr; ++variable) {
    const std::string_view name = name_of(*variable);
    const auto same = [&](const std::string& other) { return name_of(other) == name; };
    if (std::none_of(all.begin(), all.begin() + static_cast<std::ptrdiff_t>(given), same))
      all.emplace_back(*variable);
  }
  return all;
}

std::vector<char*> pointers_to(std::vector<std::string>& texts) {
  std::vector<char*> pointers;
  for (std::string& text : texts)
    pointers.push_back(text.data());
  pointers.push_back(nullptr);
  return pointers;
}

// From here on only calls that are allowed between fork() and exec() in a process with several threads.

void write_own_pid(char* variable) {
  char* first = variable + kListenPid.size();
  *std::to_chars(first, first + 10, ::getpid()).ptr = '\0';
}

bool pass_descriptors(const std::vector<int>& passed) {
  // By way of numbers that are in nobody's way: a descriptor may have the number another one is to get.
  std::array<int, 64> high{};
  if (passed.size() > high.size()) return false;
  for (std::size_t i = 0; i < passed.size(); ++i) {
    high[i] = ::fcntl(passed[i], F_DUPFD_CLOEXEC, kFirstPassed + static_cast<int>(high.size()));
    if (high[i] < 0) return false;
  }
  for (std::size_t i = 0; i < passed.size(); ++i) {
    if (::dup2(high[i], kFirstPassed + static_cast<int>(i)) < 0) return false;
  }
  return true;
}

bool append_to(const std::string& path, int descriptor) {
  if (path.empty()) return true;
  const int file = ::open(path.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
  return file >= 0 && ::dup2(file, descriptor) >= 0;
}

bool become(uid_t user) {
  return ::setgroups(0, nullptr) == 0 && ::setgid(user) == 0 && ::setuid(user) == 0;
}

[[noreturn]] void execute(const ProgramSettings& settings, char* const* arguments, char* const* environment,
                          char* listen_pid) {
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  const int input = settings.input >= 0 ? settings.input : ::open("/dev/null", O_RDWR | O_CLOEXEC);
  bool ok = ::dup2(input, STDIN_FILENO) >= 0 && append_to(settings.output_file, STDOUT_FILENO) &&
            append_to(settings.error_file, STDERR_FILENO) && pass_descriptors(settings.passed);
  // Whatever the test was started with is none of the program's business.
  const unsigned first = kFirstPassed + static_cast<unsigned>(settings.passed.size());
  ok = ok && ::close_range(first, ~0U, CLOSE_RANGE_CLOEXEC) == 0;
  if (listen_pid != nullptr) write_own_pid(listen_pid);
  if (ok && settings.open_files) {
    const rlimit limit{*settings.open_files, *settings.open_files};
    ok = ::setrlimit(RLIMIT_NOFILE, &limit) == 0;
  }
  if (ok && settings.user) {
    ok = become(*settings.user);
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);  // forgotten when the user changes
  }
  if (ok) ::execve(arguments[0], arguments, environment);
  ::_exit(127);
}

}  // namespace

bool eventually(const std::function<bool()>& holds, std::chrono::milliseconds guard) {
  const auto end = std::chrono::steady_clock::now() + guard;
  while (!holds()) {
    if (std::chrono::steady_clock::now() > end) return false;
    std::this_thread::sleep_for(kPollInterval);
  }
  return true;
}

Result<ChildProcess> ChildProcess::start(const ProgramSettings& settings) {
  std::vector<std::string> command = settings.command;
  std::vector<std::string> environment = environment_of(settings);
  std::vector<char*> arguments = pointers_to(command);
  std::vector<char*> variables = pointers_to(environment);
  char* listen_pid = nullptr;
  if (!settings.passed.empty()) {
    for (std::string& variable : environment)
      if (variable.starts_with(kListenPid)) listen_pid = variable.data();
  }
  const pid_t pid = ::fork();
  if (pid < 0) return live::os_error(errno, "cannot start a process", command.front());
  if (pid == 0) execute(settings, arguments.data(), variables.data(), listen_pid);
  return ChildProcess(pid);
}

Result<ChildProcess> ChildProcess::start(const std::function<int()>& body) {
  const pid_t parent = ::getpid();
  const pid_t pid = ::fork();
  if (pid < 0) return live::os_error(errno, "cannot start a process");
  if (pid == 0) {
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (::getppid() != parent) ::_exit(127);  // it ended before the line above
    ::_exit(body());
  }
  return ChildProcess(pid);
}

ChildProcess& ChildProcess::operator=(ChildProcess&& other) noexcept {
  if (this != &other) {
    kill();
    pid_ = std::exchange(other.pid_, -1);
    status_ = std::exchange(other.status_, std::nullopt);
  }
  return *this;
}

ChildProcess::~ChildProcess() {
  kill();
}

void ChildProcess::reap(int wait_status) {
  status_ = WIFEXITED(wait_status) ? WEXITSTATUS(wait_status) : 128 + WTERMSIG(wait_status);
}

bool ChildProcess::running() {
  if (pid_ < 0 || status_) return false;
  int wait_status = 0;
  if (::waitpid(pid_, &wait_status, WNOHANG) == pid_) reap(wait_status);
  return !status_;
}

void ChildProcess::signal(int number) {
  if (running()) ::kill(pid_, number);
}

std::optional<int> ChildProcess::wait(std::chrono::milliseconds guard) {
  eventually([&] { return !running(); }, guard);
  return status_;
}

void ChildProcess::kill() {
  if (!running()) return;
  ::kill(pid_, SIGKILL);
  int wait_status = 0;
  while (::waitpid(pid_, &wait_status, 0) < 0 && errno == EINTR) {
  }
  reap(wait_status);
}

Result<ProcessUsage> usage_of(pid_t pid) {
  const std::string folder = "/proc/" + std::to_string(pid);
  ProcessUsage usage;
  std::error_code error;
  for (std::filesystem::directory_iterator entry(folder + "/fd", error), end; !error && entry != end;
       entry.increment(error))
    ++usage.descriptors;
  std::ifstream stat(folder + "/stat");
  std::string line;
  if (error || !std::getline(stat, line)) return fail(ErrorCode::io, "no such process", folder);
  // The second field is a name in parentheses that may hold anything; what follows is counted from 3.
  std::istringstream fields(line.substr(line.rfind(')') + 1));
  std::vector<std::string> values(std::istream_iterator<std::string>{fields}, {});
  if (values.size() < 22) return fail(ErrorCode::io, "a line that is too short", folder + "/stat");
  const auto field = [&](std::size_t number) { return std::stoull(values[number - 3]); };
  usage.cpu_seconds =
      static_cast<double>(field(14) + field(15)) / static_cast<double>(::sysconf(_SC_CLK_TCK));
  usage.resident_bytes = field(24) * static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE));
  return usage;
}

}  // namespace cnuas::test
