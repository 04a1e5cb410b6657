// Processes that a test starts, watches and ends: programs, and copies of itself.
#pragma once

#include "core/engine/error.h"

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <sys/resource.h>
#include <sys/types.h>

namespace cnuas::test {

// How long anything may take before a test gives up on it. Never a measure of how long it should take.
inline constexpr std::chrono::seconds kGuard{60};

// Asks `holds` every few milliseconds until it says true; false when the guard is over.
bool eventually(const std::function<bool()>& holds, std::chrono::milliseconds guard = kGuard);

struct ProgramSettings {
  std::vector<std::string> command;      // the first is the program's path
  std::vector<std::string> environment;  // "NAME=value"; replace those of the test's own environment
  std::string output_file;               // where its standard output is appended; empty: to the test's own
  std::string error_file;                // likewise its standard error
  int input = -1;                        // its standard input; -1: /dev/null
  std::optional<rlim_t> open_files;      // RLIMIT_NOFILE
  std::optional<uid_t> user;             // with the group of the same number and no others; needs root
  // Become the descriptors 3, 4, ... of the program, and LISTEN_FDS and LISTEN_PID tell it of them.
  std::vector<int> passed;
};

// Moves; ends with SIGKILL what is still running when it goes. The process also ends with the test.
class ChildProcess {
 public:
  ChildProcess() = default;
  // With no other descriptors than the settings say. Errors: io when the process cannot be made. A program
  // that cannot be run exits with 127.
  static Result<ChildProcess> start(const ProgramSettings& settings);
  // Runs `body` in a copy of this process and exits with what it returns. When this process has several
  // threads, `body` must not allocate: another one may hold the lock.
  static Result<ChildProcess> start(const std::function<int()>& body);

  ChildProcess(ChildProcess&& other) noexcept
      : pid_(std::exchange(other.pid_, -1)), status_(std::exchange(other.status_, std::nullopt)) {}
  ChildProcess& operator=(ChildProcess&& other) noexcept;
  ~ChildProcess();

  pid_t pid() const { return pid_; }
  bool running();
  // Nothing when it has ended.
  void signal(int number);
  // Its exit status, or 128 and the number of the signal that ended it; none when it still runs after the
  // guard.
  std::optional<int> wait(std::chrono::milliseconds guard = kGuard);
  // SIGKILL, and wait for it.
  void kill();

 private:
  explicit ChildProcess(pid_t pid) : pid_(pid) {}
  void reap(int wait_status);

  pid_t pid_ = -1;
  std::optional<int> status_;
};

// What a process takes, as /proc tells.
struct ProcessUsage {
  std::size_t descriptors = 0;
  std::uint64_t resident_bytes = 0;
  double cpu_seconds = 0;  // user and system
};
// Errors: io when there is no such process.
Result<ProcessUsage> usage_of(pid_t pid);

}  // namespace cnuas::test
