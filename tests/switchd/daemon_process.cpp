#include "tests/switchd/daemon_process.h"

#include <fstream>
#include <sstream>

namespace cnuas::test {

std::string switchd_path() {
  return CNUAS_BINARY_DIR "/bin/cnuasgpu-link-switchd";
}

Result<DaemonProcess> DaemonProcess::launch(const DaemonSettings& settings) {
  ProgramSettings program;
  program.command = {settings.program, "--run-dir", settings.run_dir};
  program.command.insert(program.command.end(), settings.arguments.begin(), settings.arguments.end());
  program.environment = settings.environment;
  program.output_file = settings.output_file;
  program.error_file = settings.log_file;
  program.open_files = settings.open_files;
  program.passed = settings.passed;
  Result<ChildProcess> process = ChildProcess::start(program);
  if (!process) return tl::unexpected(process.error());
  return DaemonProcess(settings, std::move(*process));
}

Result<DaemonProcess> DaemonProcess::start(const DaemonSettings& settings) {
  Result<DaemonProcess> daemon = launch(settings);
  if (!daemon) return daemon;
  bool ready = false;
  eventually([&] {
    Result<ManagementClient> client = daemon->management();
    ready = client && client->request({{"command", "version"}});
    return ready || !daemon->process().running();
  });
  if (!ready) return fail(ErrorCode::io, "the daemon is not ready: " + daemon->log(), settings.run_dir);
  return daemon;
}

std::string DaemonProcess::socket(std::size_t port) const {
  return settings_.run_dir + "/port_" + std::to_string(port) + ".sock";
}

std::string DaemonProcess::management_socket() const {
  return settings_.run_dir + "/mgmt.sock";
}

std::string DaemonProcess::log() const {
  std::ifstream file(settings_.log_file);
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

}  // namespace cnuas::test
