#include "tests/equivalence/daemon_process.h"

#include "live/posix/os_error.h"

#include <cerrno>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <utility>

#include <fcntl.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

namespace cnuas::equivalence {

namespace {

constexpr int kCannotStart = 127;
constexpr useconds_t kPoll_us = 2000;
constexpr int kPollsUntilKilled = 5000;

[[noreturn]] void become(const std::vector<std::string>& words, const std::string& log_path, pid_t parent) {
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (::getppid() != parent) ::_exit(kCannotStart);  // it ended before that took effect
  const int log = ::open(log_path.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
  const int nothing = ::open("/dev/null", O_RDONLY | O_CLOEXEC);
  if (log < 0 || nothing < 0) ::_exit(kCannotStart);
  ::dup2(nothing, STDIN_FILENO);
  ::dup2(log, STDOUT_FILENO);
  ::dup2(log, STDERR_FILENO);
  std::vector<char*> arguments;
  for (const std::string& word : words)
    arguments.push_back(const_cast<char*>(word.c_str()));
  arguments.push_back(nullptr);
  ::execv(arguments[0], arguments.data());
  ::perror(arguments[0]);
  ::_exit(kCannotStart);
}

std::string how(int status) {
  if (WIFSIGNALED(status)) return "was killed by signal " + std::to_string(WTERMSIG(status));
  return "ended with exit status " + std::to_string(WEXITSTATUS(status));
}

std::string last_words(const std::string& path) {
  constexpr std::size_t kMost = 2000;
  std::ifstream in(path, std::ios::binary);
  std::ostringstream all;
  all << in.rdbuf();
  const std::string text = all.str();
  return text.size() <= kMost ? text : "..." + text.substr(text.size() - kMost);
}

}  // namespace

Result<DaemonProcess> DaemonProcess::start(const std::vector<std::string>& words, std::string log_path) {
  const pid_t parent = ::getpid();
  const pid_t pid = ::fork();
  if (pid < 0) return live::os_error(errno, "cannot start " + words.front());
  if (pid == 0) become(words, log_path, parent);
  return DaemonProcess(pid, std::move(log_path));
}

DaemonProcess::DaemonProcess(DaemonProcess&& other) noexcept
    : pid_(std::exchange(other.pid_, -1)), log_path_(std::move(other.log_path_)) {}

DaemonProcess::~DaemonProcess() {
  if (pid_ < 0) return;
  ::kill(pid_, SIGTERM);
  int status = 0;
  for (int i = 0; i < kPollsUntilKilled; ++i) {
    if (::waitpid(pid_, &status, WNOHANG) != 0) return;
    ::usleep(kPoll_us);
  }
  ::kill(pid_, SIGKILL);
  ::waitpid(pid_, &status, 0);
}

std::string DaemonProcess::ended() {
  int status = 0;
  if (pid_ < 0 || ::waitpid(pid_, &status, WNOHANG) != pid_) return {};
  pid_ = -1;
  return "the daemon " + how(status) + "; it said:\n" + last_words(log_path_);
}

Result<TemporaryDirectory> TemporaryDirectory::make() {
  std::string pattern = "/tmp/cnuas-equivalence-XXXXXX";
  if (::mkdtemp(pattern.data()) == nullptr) return live::os_error(errno, "cannot make a directory", pattern);
  return TemporaryDirectory(pattern);
}

TemporaryDirectory::TemporaryDirectory(TemporaryDirectory&& other) noexcept
    : path_(std::exchange(other.path_, {})) {}

TemporaryDirectory::~TemporaryDirectory() {
  std::error_code ignored;
  if (!path_.empty()) std::filesystem::remove_all(path_, ignored);
}

}  // namespace cnuas::equivalence
