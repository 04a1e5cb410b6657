// What can stand between a sender and a receiver.
#pragma once

#include "core/engine/error.h"
#include "live/posix/unique_fd.h"
#include "tests/switchd/child_process.h"

#include <cstddef>
#include <memory>
#include <string>
#include <vector>

namespace cnuas::benchmark {

// One process between its start and its end, with four ports. A new one for every measurement, so that no
// measurement inherits what memory, tables and queues the last one left.
class Subject {
 public:
  virtual ~Subject() = default;

  virtual std::string name() const = 0;
  // A socket as traffic.h wants it. Errors: io.
  virtual Result<live::UniqueFd> connect(unsigned port) = 0;
  // Of `bytes` in all, header included, from the endpoint at one port to the one at the other.
  virtual std::vector<std::byte> frame(unsigned from, unsigned to, std::size_t bytes) const = 0;
  // What an endpoint sends first, so that it can be found; reaches nobody, or everybody.
  virtual std::vector<std::byte> announcement(unsigned from) const = 0;
  // For a switch daemon: its management socket; else empty.
  virtual std::string management_socket() const { return {}; }
  virtual pid_t pid() const = 0;
};

// Starts one, in an empty directory that outlives it. Errors: io.
Result<std::unique_ptr<Subject>> start_relay(const std::string& directory);
Result<std::unique_ptr<Subject>> start_daemon(const std::string& directory, const std::string& program);
Result<std::unique_ptr<Subject>> start_vde_switch(const std::string& directory, const std::string& program);

}  // namespace cnuas::benchmark
