// Child processes that never outlive this one.
#pragma once

#include "core/engine/error.h"

#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <sys/types.h>

namespace cnuas::live::perf {

// Moves; ends what still runs when it goes.
class Process {
 public:
  Process() = default;
  // Runs `body` in a copy of this process, which must have one thread, and exits with what it returns. The
  // copy is out of reach of the terminal's signals.
  static Result<Process> fork(const std::function<int()>& body);
  // Runs a program with its output and errors in a file. It is told to end when this process does.
  static Result<Process> run(const std::vector<std::string>& command, const std::string& log);

  Process(Process&& other) noexcept
      : pid_(std::exchange(other.pid_, -1)), status_(std::exchange(other.status_, std::nullopt)) {}
  Process& operator=(Process&& other) noexcept;
  ~Process() { kill(); }

  bool running();
  // As waitpid() tells; none while it runs.
  std::optional<int> wait_status() const { return status_; }
  // SIGTERM, and SIGKILL after so long.
  void end(int patience_ms);
  void kill();

 private:
  explicit Process(pid_t pid) : pid_(pid) {}

  pid_t pid_ = -1;
  std::optional<int> status_;
};

// "exited with 3", "was ended by signal 9 (Killed)"
std::string describe_end(int wait_status);

}  // namespace cnuas::live::perf
