#include "tests/switchd/soak.h"

#include "live/posix/os_error.h"
#include "tests/switchd/child_process.h"
#include "tests/switchd/telemetry.h"

#include <csignal>
#include <fstream>
#include <thread>
#include <utility>

namespace cnuas::test {

namespace {

using Clock = std::chrono::steady_clock;

constexpr std::size_t kMostFaults = 100;
constexpr std::uint64_t kStepsBetweenChecks = 50;
constexpr std::chrono::microseconds kPause{200};  // between steps, so that the daemon comes to its turn

GpuId gpu_at(std::size_t port) {
  return GpuId{static_cast<std::uint16_t>(0x0100 + port)};
}

// Short enough that readers who stand still are found out, long enough for a steady one on a busy machine.
constexpr const char* kFabric =
    "scenario: soak\n"
    "fabric:\n"
    "  racks: 1\n"
    "  gpus_per_rack: 8\n"
    "  link: nvlink4\n"
    "  switch: {stall_timeout: 2 s}\n"
    "fidelity: frame\n"
    "workload:\n"
    "  - {collective: all_reduce, sizes: [1 KiB]}\n";

}  // namespace

Soak::Soak(SoakPlan plan) : plan_(std::move(plan)), random_(plan_.seed) {}

Result<void> Soak::run() {
  std::ofstream(directory_.file("fabric.yaml")) << kFabric;
  const auto end = Clock::now() + plan_.length;
  do {
    if (Result<void> lived = live_one_life(); !lived) return lived;
  } while (Clock::now() < end && faults_.size() < kMostFaults);
  return {};
}

nlohmann::ordered_json Soak::report() const {
  return {{"schema", "cnuaslink.switchd_soak/1"},
          {"seed", plan_.seed},
          {"daemons", lives_},
          {"steps", steps_},
          {"steady_frames", frames_},
          {"faults", faults_},
          {"met", well()}};
}

// --- Daemons ----------------------------------------------------------------------------------------------

Result<void> Soak::start_daemon() {
  DaemonSettings settings;
  settings.program = plan_.daemon;
  settings.run_dir = directory_.file("run");
  settings.log_file = directory_.file("log");
  settings.arguments = {"--config", directory_.file("fabric.yaml")};
  Result<DaemonProcess> daemon = DaemonProcess::start(settings);
  if (!daemon) return tl::unexpected(daemon.error());
  daemon_ = std::move(*daemon);
  ++lives_;
  Result<ManagementClient> management = daemon_->management();
  if (!management) return tl::unexpected(management.error());
  management_ = std::move(*management);
  const Result<ProcessUsage> usage = daemon_->usage();
  if (!usage) return tl::unexpected(usage.error());
  idle_descriptors_ = usage->descriptors;
  for (std::size_t port = 0; port < 2; ++port) {
    Result<RawEndpoint> endpoint = daemon_->endpoint(port);
    if (!endpoint) return tl::unexpected(endpoint.error());
    steady_[port] = std::move(*endpoint);
    steady_[port]->send(discovery(gpu_at(port)));
  }
  // Expected GPUs are known as soon as they are connected.
  eventually([&] {
    const auto status = ask({{"command", "gpu_fdb_dump"}});
    return !status || status->at("size") == 2;
  });
  traffic_.emplace(*steady_[0], gpu_at(0), *steady_[1], gpu_at(1), 256 + below(4096));
  return {};
}

Result<void> Soak::live_one_life() {
  if (Result<void> started = start_daemon(); !started) return started;
  const auto end = Clock::now() + plan_.life;
  while (Clock::now() < end && faults_.size() < kMostFaults) {
    step();
    if (!daemon_->process().running()) {
      fault("the daemon has ended by itself: " + daemon_->log());
      break;
    }
    std::this_thread::sleep_for(kPause);
  }
  end_daemon();
  return {};
}

void Soak::end_daemon() {
  if (daemon_->process().running()) {
    check_traffic();
    check_laws();
    for (auto& visitor : visitors_)
      visitor.reset();
    check_descriptors();
  }
  const int signal = below(3) == 0 ? SIGKILL : SIGTERM;
  daemon_->process().signal(signal);
  const std::optional<int> status = daemon_->process().wait();
  if (status != (signal == SIGKILL ? 128 + SIGKILL : 0))
    fault("the daemon has ended with " + (status ? std::to_string(*status) : "nothing"));
  traffic_.reset();
  for (auto& endpoint : steady_)
    endpoint.reset();
  management_.reset();
  daemon_.reset();
}

void Soak::check_traffic() {
  if (!traffic_->progress()) fault("frames between the steady ports have stopped");
  traffic_->stop();
  for (const std::string& each : traffic_->faults())
    fault("between the steady ports: " + each);
  if (traffic_->received() != traffic_->sent())
    fault("between the steady ports: " + std::to_string(traffic_->sent()) + " frames sent and " +
          std::to_string(traffic_->received()) + " received");
  frames_ += traffic_->received();
}

void Soak::check_laws() {
  const Result<Telemetry> telemetry = Telemetry::fetch(*management_);
  if (!telemetry) return fault(live::to_string(telemetry.error()));
  for (const std::string& violation : telemetry->violations())
    fault(violation);
}

void Soak::check_descriptors() {
  for (auto& endpoint : steady_)
    endpoint->close();
  const auto none_left = [&] {
    const Result<ProcessUsage> usage = daemon_->usage();
    return usage && usage->descriptors <= idle_descriptors_;
  };
  if (!eventually(none_left)) fault("the daemon keeps descriptors of clients that have gone");
}

// --- Steps ------------------------------------------------------------------------------------------------

void Soak::step() {
  struct Action {
    unsigned weight;
    void (Soak::*act)(std::size_t port);
  };
  static constexpr std::array<Action, 13> kActions{{{20, &Soak::connect},
                                                    {40, &Soak::send_burst},
                                                    {15, &Soak::send_nonsense},
                                                    {40, &Soak::read_some},
                                                    {2, &Soak::half_close},
                                                    {6, &Soak::close},
                                                    {1, &Soak::kill_in_mid_burst},
                                                    {3, &Soak::set_link_state},
                                                    {2, &Soak::use_groups},
                                                    {2, &Soak::ask_nonsense},
                                                    {1, &Soak::leave_management_waiting},
                                                    {1, &Soak::clear_telemetry},
                                                    {1, &Soak::reload}}};
  unsigned all = 0;
  for (const Action& action : kActions)
    all += action.weight;
  unsigned drawn = below(all);
  const std::size_t port = kFirst + below(kEnd - kFirst);
  for (const Action& action : kActions) {
    if (drawn < action.weight) {
      (this->*action.act)(port);
      break;
    }
    drawn -= action.weight;
  }
  if (++steps_ % kStepsBetweenChecks == 0) check_laws();
}

// Where somebody is connected already it will be turned away.
void Soak::connect(std::size_t port) {
  Result<RawEndpoint> endpoint = daemon_->endpoint(port);
  if (!endpoint) return;
  if (below(8) != 0) endpoint->send_at_once(discovery(gpu_at(port)));
  if (!visitors_[port]) visitors_[port] = std::move(*endpoint);
}

void Soak::send_burst(std::size_t port) {
  if (!visitors_[port]) return;
  // Never to the steady ones, who expect nothing but each other's frames.
  const GpuId to = gpu_at(kFirst + below(kEnd - kFirst));
  const auto type = static_cast<wire::FrameType>(1 + below(5));
  const Bytes message = frame(type, gpu_at(port), to, below(8) == 0 ? below(60'000) : below(2000));
  for (std::uint32_t i = below(40); i > 0 && visitors_[port]->send_at_once(message); --i) {
  }
}

void Soak::send_nonsense(std::size_t port) {
  if (!visitors_[port]) return;
  Bytes message = frame(static_cast<wire::FrameType>(below(256)), gpu_at(port), gpu_at(port), below(100));
  message[below(static_cast<std::uint32_t>(message.size()))] = static_cast<std::byte>(below(256));
  message[7] = std::byte{0xC8};  // a slot that nobody has
  if (below(2) == 0) message.resize(below(300));
  visitors_[port]->send_at_once(message);
}

void Soak::read_some(std::size_t port) {
  if (!visitors_[port]) return;
  for (std::uint32_t i = below(100); i > 0 && visitors_[port]->receive_at_once(); --i) {
  }
  if (visitors_[port]->at_end()) visitors_[port].reset();
}

void Soak::half_close(std::size_t port) {
  if (visitors_[port]) visitors_[port]->half_close();
}

void Soak::close(std::size_t port) {
  visitors_[port].reset();
}

void Soak::kill_in_mid_burst(std::size_t port) {
  if (!visitors_[port]) return;
  const Bytes message = frame(wire::FrameType::data, gpu_at(port), gpu_at(kFirst), 1000);
  Result<ChildProcess> sender = ChildProcess::start([&] {
    while (visitors_[port]->send(message)) {
    }
    return 0;
  });
  visitors_[port].reset();
  std::this_thread::sleep_for(std::chrono::milliseconds(below(20)));
  if (sender) sender->kill();
}

void Soak::set_link_state(std::size_t port) {
  ask({{"command", "set_link_state"}, {"port", port}, {"state", below(3) == 0 ? "down" : "up"}});
}

void Soak::use_groups(std::size_t port) {
  const std::string name = "group of port " + std::to_string(port);
  const nlohmann::json request =
      below(2) == 0 ? nlohmann::json{{"command", "group_create"}, {"name", name}, {"gpus", {"1/0", "1/1"}}}
                    : nlohmann::json{{"command", "group_delete"}, {"group", name}};
  const Result<nlohmann::json> answer = management_->request(request);
  // That there is one already, or none, is an answer too.
  if (!answer && answer.error().code == ErrorCode::io) fault(live::to_string(answer.error()));
}

void Soak::ask_nonsense(std::size_t) {
  Result<ManagementClient> client = daemon_->management();
  if (!client) return;
  std::string line(1 + below(100'000), '[');
  for (char& each : line)
    if (below(4) == 0) each = static_cast<char>(below(256));
  client->write(line + (below(2) == 0 ? "\n" : ""));
}

void Soak::leave_management_waiting(std::size_t) {
  Result<ManagementClient> client = daemon_->management();
  if (!client) return;
  for (std::uint32_t i = below(20); i > 0; --i)
    client->write("{\"command\":\"telemetry_dump\"}\n");
}

void Soak::clear_telemetry(std::size_t) {
  ask({{"command", "telemetry_clear"}});
}

void Soak::reload(std::size_t) {
  daemon_->process().signal(SIGHUP);
}

std::optional<nlohmann::json> Soak::ask(const nlohmann::json& request) {
  const Result<nlohmann::json> answer = management_->request(request);
  if (answer) return *answer;
  fault(live::to_string(answer.error()));
  return std::nullopt;
}

void Soak::fault(const std::string& what) {
  if (faults_.size() < kMostFaults)
    faults_.push_back("daemon " + std::to_string(lives_) + ", step " + std::to_string(steps_) + ": " + what);
}

}  // namespace cnuas::test
