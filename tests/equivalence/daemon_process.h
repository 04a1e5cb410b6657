// A switch daemon as a child process, in a run directory of its own.
#pragma once

#include "core/engine/error.h"

#include <string>
#include <vector>

#include <sys/types.h>

namespace cnuas::equivalence {

class DaemonProcess {
 public:
  // What it says goes to `log_path`. It is ended with the object, and with this process. Errors: io.
  static Result<DaemonProcess> start(const std::vector<std::string>& words, std::string log_path);
  DaemonProcess(DaemonProcess&& other) noexcept;
  DaemonProcess& operator=(DaemonProcess&&) = delete;
  ~DaemonProcess();

  // Empty while it runs; else how it ended, and its last words.
  std::string ended();

 private:
  DaemonProcess(pid_t pid, std::string log_path) : pid_(pid), log_path_(std::move(log_path)) {}

  pid_t pid_ = -1;
  std::string log_path_;
};

// A new directory under the system's temporary one, removed with what is in it.
class TemporaryDirectory {
 public:
  static Result<TemporaryDirectory> make();
  TemporaryDirectory(TemporaryDirectory&& other) noexcept;
  TemporaryDirectory& operator=(TemporaryDirectory&&) = delete;
  ~TemporaryDirectory();

  const std::string& path() const { return path_; }

 private:
  explicit TemporaryDirectory(std::string path) : path_(std::move(path)) {}
  std::string path_;
};

}  // namespace cnuas::equivalence
