// cnuasgpu-link-switchd: the switch of one rack as a daemon.
#include "live/posix/clock.h"
#include "live/posix/os_error.h"
#include "live/switchd/options.h"
#include "live/switchd/service.h"
#include "scenarios/loader.h"

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <exception>
#include <utility>

#include <spdlog/spdlog.h>
#include <sys/epoll.h>
#include <sys/signalfd.h>
#include <unistd.h>

namespace {

using namespace cnuas;
using namespace cnuas::live;

int complain(int status, const std::string& what) {
  std::fprintf(stderr, "error: %s\n", what.c_str());
  return status;
}

// The configuration that the options ask for; the file is read anew at every call. `status` is what to exit
// with when there is none.
Result<ServerConfig> server_config(const Options& options, int& status) {
  ServerConfig config{{}, options.access};
  if (options.config.empty()) {
    config.fabric = plain_config(options.place.rack.value_or(1));
  } else {
    const scenarios::FileResult file = scenarios::load_file(options.config);
    if (!file.io_error.empty()) {
      status = kInputOutput;
      return fail(ErrorCode::io, file.io_error);
    }
    if (!file.load.scenario) {
      std::string text;
      for (const scenarios::Diagnostic& diagnostic : file.load.diagnostics)
        text += "\n" + scenarios::format(diagnostic);
      status = kBadFabric;
      return fail(ErrorCode::invalid_argument, "the fabric has errors" + text, options.config);
    }
    const scenarios::Scenario& scenario = *file.load.scenario;
    Result<fabric_switch::SwitchConfig> fabric = switch_config(scenario.fabric, options.place);
    if (!fabric) {
      status = kBadFabric;
      return tl::unexpected(fabric.error());
    }
    config.fabric = std::move(*fabric);
    config.fabric.keepalive_timeout_ps = scenario.live.keepalive_timeout_ps;
    for (const std::uint32_t user : scenario.live.allow_users)
      config.access.users.push_back(user);
    for (const std::uint32_t group : scenario.live.allow_groups)
      config.access.groups.push_back(group);
  }
  if (options.keepalive_timeout_ps > 0) config.fabric.keepalive_timeout_ps = options.keepalive_timeout_ps;
  return config;
}

class Daemon {
 public:
  Daemon(Options options, EventLoop loop) : options_(std::move(options)), loop_(std::move(loop)) {}
  ~Daemon() {
    loop_.unwatch(signal_watch_);
    loop_.cancel(alive_timer_);
  }
  Daemon(const Daemon&) = delete;
  Daemon& operator=(const Daemon&) = delete;

  int run(ServerConfig config) {
    if (Result<void> started = start(std::move(config)); !started)
      return complain(kInputOutput, to_string(started.error()));
    spdlog::info("{} {} at {}: {}", options_.server.program, options_.server.version, options_.run_dir,
                 server_->status());
    notify_ready(server_->status());
    while (!server_->finished()) {
      // While draining the end may come by the clock alone.
      const Picoseconds latest = draining_ ? monotonic_now() + 10 * kMillisecond : kNever;
      if (Result<void> round = loop_.run_once(std::min(latest, server_->next_deadline())); !round)
        return complain(kInternal, to_string(round.error()));
      server_->on_time();
    }
    spdlog::info("ended");
    server_.reset();
    return kSuccess;
  }

 private:
  Result<void> start(ServerConfig config) {
    Result<std::map<std::string, UniqueFd>> passed = take_passed_sockets();
    if (!passed) return tl::unexpected(passed.error());
    Result<RunDirectory> directory = RunDirectory::take(options_.run_dir, options_.group);
    if (!directory) return tl::unexpected(directory.error());
    if (Result<void> signals = watch_signals(); !signals) return signals;
    Result<std::unique_ptr<SwitchServer>> server = SwitchServer::start(
        loop_, std::move(*directory), std::move(config), options_.server, std::move(*passed));
    if (!server) return tl::unexpected(server.error());
    server_ = std::move(*server);
    stay_alive();
    return {};
  }

  Result<void> watch_signals() {
    sigset_t signals;
    sigemptyset(&signals);
    for (const int signal : {SIGTERM, SIGINT, SIGHUP})
      sigaddset(&signals, signal);
    ::sigprocmask(SIG_BLOCK, &signals, nullptr);
    std::signal(SIGPIPE, SIG_IGN);
    signals_.reset(::signalfd(-1, &signals, SFD_NONBLOCK | SFD_CLOEXEC));
    if (!signals_) return os_error(errno, "cannot receive signals");
    Result<EventLoop::Watch> watch =
        loop_.watch(signals_.get(), EPOLLIN, [this](std::uint32_t) { on_signal(); });
    if (!watch) return tl::unexpected(watch.error());
    signal_watch_ = *watch;
    return {};
  }

  void on_signal() {
    signalfd_siginfo signal{};
    while (::read(signals_.get(), &signal, sizeof(signal)) == sizeof(signal)) {
      if (!server_) continue;
      if (signal.ssi_signo == SIGHUP) {
        reload();
      } else {
        spdlog::info("told to end by process {}; delivering what has been sent", signal.ssi_pid);
        draining_ = true;
        notify_stopping("delivering what has been sent");
        server_->begin_drain();
      }
    }
  }

  void reload() {
    notify_reloading();
    int status = kSuccess;
    server_->reload(server_config(options_, status));
    notify_ready(server_->status());
  }

  void stay_alive() {
    const Picoseconds period = alive_period();
    if (period <= 0) return;
    notify_alive();
    alive_timer_ = loop_.call_at(monotonic_now() + period, [this] { stay_alive(); });
  }

  Options options_;
  EventLoop loop_;
  UniqueFd signals_;
  EventLoop::Watch signal_watch_;
  EventLoop::Timer alive_timer_;
  bool draining_ = false;
  std::unique_ptr<SwitchServer> server_;  // before the loop's other users end
};

void describe(const fabric_switch::SwitchConfig& config) {
  std::printf("switch %s, rack %u\n", config.name.c_str(), config.rack);
  for (std::size_t i = 0; i < config.ports.size(); ++i) {
    const fabric_switch::PortConfig& port = config.ports[i];
    const bool gpu = port.role == fabric_switch::PortRole::gpu;
    const std::string what = !gpu ? (static_cast<int>(i) == config.uplink ? "uplink" : "another switch")
                             : port.expected == kNoGpu ? "any GPU of the rack"
                                                       : "GPU " + to_string(port.expected);
    std::printf("port %zu  %s, %llu bytes of queue\n", i, what.c_str(),
                static_cast<unsigned long long>(port.queue_bytes));
  }
}

int run(int argc, char** argv) {
  int status = kSuccess;
  std::optional<Options> options = parse_options(argc, argv, status);
  if (!options) return status;
  if (Result<void> log = set_up_log(options->log, options->server.program, options->log_level); !log)
    return complain(kUsage, to_string(log.error()));
  Result<ServerConfig> config = server_config(*options, status);
  if (!config) return complain(status, to_string(config.error()));
  if (options->check_only) {
    describe(config->fabric);
    return kSuccess;
  }
  Result<EventLoop> loop = EventLoop::create();
  if (!loop) return complain(kInternal, to_string(loop.error()));
  Daemon daemon(std::move(*options), std::move(*loop));
  return daemon.run(std::move(*config));
}

}  // namespace

int main(int argc, char** argv) {
  try {
    return run(argc, argv);
  } catch (const std::exception& error) {
    return complain(70, error.what());
  }
}
