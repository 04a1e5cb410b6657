#include "live/switchd/options.h"

#include <cerrno>
#include <cstdio>
#include <map>
#include <vector>

#include <CLI/CLI.hpp>
#include <grp.h>

namespace cnuas::live {

namespace {

constexpr const char* kExamples =
    "Examples:\n"
    "  cnuasgpu-link-switchd --run-dir /tmp/rack1\n"
    "  cnuasgpu-link-switchd --config scenarios/two-racks.yaml --rack 2 --run-dir /tmp/rack2 "
    "--uplink /tmp/rack1/port_8.sock\n"
    "Signals: SIGTERM and SIGINT deliver what has been sent and end; SIGHUP reads --config again.\n"
    "Exit codes: 0 well, 2 usage, 3 bad fabric, 4 input or output, 70 internal error.";

// The switch had another name once; who calls it by that gets that system's defaults.
bool earlier_name(const std::string& program) {
  return program.rfind("higpu", 0) == 0;
}

std::string file_name(const std::string& path) {
  return path.substr(path.rfind('/') + 1);
}

std::optional<gid_t> group_by_name(const std::string& name) {
  if (!name.empty() && name.find_first_not_of("0123456789") == std::string::npos && name.size() < 10)
    return static_cast<gid_t>(std::stoul(name));
  const group* found = ::getgrnam(name.c_str());
  return found == nullptr ? std::nullopt : std::optional<gid_t>(found->gr_gid);
}

}  // namespace

std::optional<Options> parse_options(int argc, char** argv, int& status) {
  Options options;
  ServerOptions& server = options.server;
  server.program = argc > 0 ? file_name(argv[0]) : "cnuasgpu-link-switchd";
  server.version = CNUAS_VERSION;
  options.run_dir = earlier_name(server.program) ? "/var/run/hilink" : "/var/run/cnuaslink";

  CLI::App app("The CnuasLink switch of one rack, at UNIX sockets", server.program);
  app.set_version_flag("--version", server.program + " " + server.version);
  app.footer(kExamples);
  unsigned rack = 0;
  std::string group_name;
  double keepalive_s = 0;
  double drain_s = 5;
  app.add_option("--run-dir", options.run_dir,
                 "Directory of the sockets port_0.sock to port_8.sock and mgmt.sock")
      ->capture_default_str();
  app.add_option("--config", options.config,
                 "Fabric, as cnuas-sim takes it: expected GPUs, buffers, time-outs");
  auto* rack_option =
      app.add_option("--rack", rack, "Which rack's switch this is (without --config: default 1)")
          ->check(CLI::Range(0u, kMaxRack));
  app.add_option("--switch", options.place.switch_name, "Which switch of the fabric this is, by name")
      ->excludes(rack_option)
      ->needs("--config");
  app.add_option("--uplink", server.uplink,
                 "Socket of another switch's port that port 8 dials, again and again");
  app.add_option("--allow-uid", options.access.users,
                 "User that may connect, beside root and the switch's own");
  app.add_option("--allow-gid", options.access.groups, "Group whose members may connect");
  app.add_option("--group", group_name, "Group that owns the sockets; its members may connect");
  app.add_option("--keepalive-timeout", keepalive_s,
                 "Seconds without a frame after which a GPU leaves the forwarding database; 0: never")
      ->check(CLI::Range(0.0, 86400.0))
      ->capture_default_str();
  app.add_option("--drain-timeout", drain_s, "Seconds that ending may take to deliver what has been sent")
      ->check(CLI::Range(0.0, 3600.0))
      ->capture_default_str();
  app.add_option("--send-buffer", server.send_buffer, "Bytes that a peer may leave unread in the kernel")
      ->check(CLI::Range(33024, 64 * 1024 * 1024))
      ->capture_default_str();
  std::string log = "auto";
  app.add_option("--log", log, "Where messages go")
      ->check(CLI::IsMember({"auto", "stderr", "journal"}))
      ->capture_default_str();
  app.add_option("--log-level", options.log_level, "Least serious message that is logged")
      ->check(CLI::IsMember({"debug", "info", "warning", "error"}))
      ->capture_default_str();
  app.add_flag("--check", options.check_only, "Only say what the configuration means");
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    status = app.exit(error) == 0 ? kSuccess : kUsage;
    return std::nullopt;
  }
  if (!group_name.empty()) {
    options.group = group_by_name(group_name);
    if (!options.group) {
      std::fprintf(stderr, "error: --group: there is no group '%s'\n", group_name.c_str());
      status = kUsage;
      return std::nullopt;
    }
    options.access.groups.push_back(*options.group);
  }
  if (rack_option->count() > 0) options.place.rack = rack;
  options.log = log == "journal"  ? LogTarget::journal
                : log == "stderr" ? LogTarget::standard_error
                                  : LogTarget::automatic;
  server.config_path = options.config;
  server.drain_timeout_ps = static_cast<Picoseconds>(drain_s * static_cast<double>(kSecond));
  options.keepalive_timeout_ps = static_cast<Picoseconds>(keepalive_s * static_cast<double>(kSecond));
  return options;
}

}  // namespace cnuas::live
