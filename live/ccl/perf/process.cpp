#include "live/ccl/perf/process.h"

#include "live/posix/os_error.h"

#include <cerrno>
#include <csignal>
#include <cstring>

#include <fcntl.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

namespace cnuas::live::perf {
namespace {

void sleep_ms(long milliseconds) {
  const timespec span{milliseconds / 1000, milliseconds % 1000 * 1'000'000};
  ::nanosleep(&span, nullptr);
}

// In the child. False: the parent is gone already.
bool follow(pid_t parent, int signal) {
  ::prctl(PR_SET_PDEATHSIG, signal);
  return ::getppid() == parent;
}

void unblock_signals() {
  sigset_t none;
  sigemptyset(&none);
  ::sigprocmask(SIG_SETMASK, &none, nullptr);
}

[[noreturn]] void execute(const std::vector<char*>& arguments, int log) {
  const int nothing = ::open("/dev/null", O_RDONLY | O_CLOEXEC);
  ::dup2(nothing, STDIN_FILENO);
  ::dup2(log, STDOUT_FILENO);
  ::dup2(log, STDERR_FILENO);
  ::setpgid(0, 0);
  unblock_signals();
  ::execvp(arguments[0], arguments.data());
  ::_exit(127);
}

}  // namespace

Result<Process> Process::fork(const std::function<int()>& body) {
  const pid_t parent = ::getpid();
  const pid_t pid = ::fork();
  if (pid < 0) return os_error(errno, "cannot start a process");
  if (pid > 0) return Process(pid);
  if (!follow(parent, SIGKILL)) ::_exit(127);
  ::signal(SIGINT, SIG_IGN);
  ::signal(SIGHUP, SIG_IGN);
  unblock_signals();
  ::_exit(body());
}

Result<Process> Process::run(const std::vector<std::string>& command, const std::string& log) {
  std::vector<std::string> texts = command;
  std::vector<char*> arguments;
  for (std::string& text : texts)
    arguments.push_back(text.data());
  arguments.push_back(nullptr);
  const int file = ::open(log.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
  if (file < 0) return os_error(errno, "cannot be written", log);
  const pid_t parent = ::getpid();
  const pid_t pid = ::fork();
  if (pid == 0) {
    if (!follow(parent, SIGTERM)) ::_exit(127);
    execute(arguments, file);
  }
  const int error = errno;
  ::close(file);
  if (pid < 0) return os_error(error, "cannot start a process", command.front());
  return Process(pid);
}

Process& Process::operator=(Process&& other) noexcept {
  if (this != &other) {
    kill();
    pid_ = std::exchange(other.pid_, -1);
    status_ = std::exchange(other.status_, std::nullopt);
  }
  return *this;
}

bool Process::running() {
  if (pid_ < 0 || status_) return false;
  int status = 0;
  if (::waitpid(pid_, &status, WNOHANG) == pid_) status_ = status;
  return !status_;
}

void Process::end(int patience_ms) {
  constexpr int kStepMs = 2;
  if (!running()) return;
  ::kill(pid_, SIGTERM);
  for (int waited = 0; running() && waited < patience_ms; waited += kStepMs)
    sleep_ms(kStepMs);
  kill();
}

void Process::kill() {
  if (!running()) return;
  ::kill(pid_, SIGKILL);
  int status = 0;
  while (::waitpid(pid_, &status, 0) < 0 && errno == EINTR) {
  }
  status_ = status;
}

std::string describe_end(int wait_status) {
  if (WIFEXITED(wait_status)) return "exited with " + std::to_string(WEXITSTATUS(wait_status));
  const int signal = WTERMSIG(wait_status);
  return "was ended by signal " + std::to_string(signal) + " (" + ::strsignal(signal) + ")";
}

}  // namespace cnuas::live::perf
