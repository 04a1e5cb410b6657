// The real daemon in a run directory of its own.
#pragma once

#include "core/engine/error.h"
#include "tests/switchd/child_process.h"
#include "tests/switchd/management_client.h"
#include "tests/switchd/raw_endpoint.h"

#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace cnuas::test {

// The program of this build.
std::string switchd_path();

struct DaemonSettings {
  std::string program = switchd_path();
  std::string run_dir;
  std::vector<std::string> arguments;  // beside --run-dir
  std::string log_file;                // of its standard error
  std::string output_file;             // of its standard output; empty: the test's own
  std::vector<std::string> environment;
  std::optional<rlim_t> open_files;
  std::vector<int> passed;  // listening sockets, as ProgramSettings::passed
};

class DaemonProcess {
 public:
  // Starts it and waits until it answers on mgmt.sock. Errors: io when it has ended instead, with its log.
  static Result<DaemonProcess> start(const DaemonSettings& settings);
  // Only starts it: for those that are expected to refuse.
  static Result<DaemonProcess> launch(const DaemonSettings& settings);

  std::string socket(std::size_t port) const;
  std::string management_socket() const;
  const std::string& run_dir() const { return settings_.run_dir; }
  std::string log() const;

  Result<ManagementClient> management() const { return ManagementClient::connect(management_socket()); }
  Result<RawEndpoint> endpoint(std::size_t port) const { return RawEndpoint::connect(socket(port)); }
  Result<ProcessUsage> usage() const { return usage_of(process_.pid()); }

  ChildProcess& process() { return process_; }
  pid_t pid() const { return process_.pid(); }

 private:
  DaemonProcess(DaemonSettings settings, ChildProcess process)
      : settings_(std::move(settings)), process_(std::move(process)) {}

  DaemonSettings settings_;
  ChildProcess process_;
};

}  // namespace cnuas::test
