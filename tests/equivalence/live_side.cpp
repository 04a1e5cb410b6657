#include "tests/equivalence/live_side.h"

#include "live/posix/os_error.h"

#include <algorithm>
#include <filesystem>
#include <utility>

#include <poll.h>
#include <unistd.h>

namespace cnuas::equivalence {

namespace {

using Json = nlohmann::json;

template <class... Handlers>
struct Overloaded : Handlers... {
  using Handlers::operator()...;
};

constexpr int kLongestPause_ms = 10;

Json gpu_numbers(const std::vector<GpuId>& gpus) {
  Json numbers = Json::array();
  for (const GpuId each : gpus)
    numbers.push_back(each.value);
  return numbers;
}

std::chrono::milliseconds longest_watch(const Fabric& fabric) {
  Picoseconds longest = 0;
  for (const Switch& each : fabric.switches)
    longest = std::max(longest, each.stall_timeout_ps);
  return std::chrono::milliseconds(holds_queues(fabric) ? 0 : longest / kMillisecond);
}

}  // namespace

LiveSide::LiveSide(const Script& script, const LiveOptions& options, TemporaryDirectory directory)
    : script_(script), options_(options), directory_(std::move(directory)) {
  for (GpuIndex gpu = 0; gpu < script.fabric.gpus.size(); ++gpu) {
    Endpoint endpoint;
    endpoint.at = script.fabric.gpus[gpu].attached;
    endpoint.port = daemon_port(script.fabric, gpu);
    endpoints_.push_back(std::move(endpoint));
  }
  if (!script.fabric.cables.empty()) directions_ = {{0, 1}, {1, 0}};
}

// --- Starting ---------------------------------------------------------------------------------------------

Result<std::unique_ptr<LiveSide>> LiveSide::start(const Script& script, const LiveOptions& options) {
  Result<TemporaryDirectory> directory = TemporaryDirectory::make();
  if (!directory) return tl::unexpected<Error>(directory.error());
  std::unique_ptr<LiveSide> side(new LiveSide(script, options, std::move(*directory)));
  for (SwitchIndex index = 0; index < script.fabric.switches.size(); ++index) {
    if (Result<void> started = side->start_daemon(index); !started)
      return tl::unexpected<Error>(started.error());
  }
  const Result<std::string> unrest = side->wait_for_rest();
  if (!unrest) return tl::unexpected<Error>(unrest.error());
  if (!unrest->empty())
    return fail(ErrorCode::io, "the daemons do not come to rest after their start: " + *unrest);
  return side;
}

// The second switch dials the first.
Result<void> LiveSide::start_daemon(SwitchIndex index) {
  const std::string run_dir = directory_.path() + "/" + std::to_string(index);
  const GpuId first = script_.fabric.gpus[gpus_of(script_.fabric, index).front()].id;
  std::vector<std::string> words = {options_.daemon,
                                    "--run-dir",
                                    run_dir,
                                    "--config",
                                    script_.fabric_path,
                                    "--rack",
                                    std::to_string(first.rack())};
  if (script_.send_buffer) {
    words.push_back("--send-buffer");
    words.push_back(std::to_string(*script_.send_buffer));
  }
  if (index > 0) {
    words.push_back("--uplink");
    words.push_back(daemons_.front().run_dir + "/port_" + std::to_string(kInterSwitchPort) + ".sock");
  }
  Result<DaemonProcess> process =
      DaemonProcess::start(words, directory_.path() + "/log_" + std::to_string(index));
  if (!process) return tl::unexpected<Error>(process.error());
  daemons_.push_back({run_dir, std::move(*process), std::nullopt, {}});
  return open_management(index);
}

Result<void> LiveSide::open_management(SwitchIndex index) {
  const Clock::time_point deadline = Clock::now() + options_.patience;
  for (;;) {
    Result<ManagementClient> client = ManagementClient::connect(daemons_[index].run_dir + "/mgmt.sock");
    if (client) {
      daemons_[index].management.emplace(std::move(*client));
      return {};
    }
    const std::string ended = daemons_[index].process.ended();
    if (!ended.empty()) return fail(ErrorCode::io, ended, script_.fabric.switches[index].name);
    if (Clock::now() > deadline) return tl::unexpected<Error>(annotated(client.error(), index));
    ::usleep(2000);
  }
}

// A daemon that has ended explains most errors.
Error LiveSide::annotated(Error error, SwitchIndex index) {
  const std::string ended = daemons_[index].process.ended();
  if (!ended.empty()) error.message += "; " + ended;
  if (error.where.empty()) error.where = script_.fabric.switches[index].name;
  return error;
}

// --- Steps ------------------------------------------------------------------------------------------------

Result<StepObservation> LiveSide::run(const Step& step) {
  StepObservation seen;
  std::vector<std::vector<PortActivity>> before;
  for (const Daemon& each : daemons_)
    before.push_back(each.ports);
  if (Result<void> done = apply(step, seen.refused); !done) return tl::unexpected<Error>(done.error());
  Result<std::string> unrest = wait_for_rest();
  if (!unrest) return tl::unexpected<Error>(unrest.error());
  seen.unrest = std::move(*unrest);
  rooms_.clear();
  for (GpuIndex gpu = 0; gpu < endpoints_.size(); ++gpu) {
    const Endpoint& each = endpoints_[gpu];
    if (!each.client || each.client->reading() || std::holds_alternative<ClearTelemetry>(step.what)) continue;
    rooms_[gpu] = daemons_[each.at].ports[each.port].tx_frames - before[each.at][each.port].tx_frames;
  }
  Result<std::vector<SwitchObservation>> switches = observe();
  if (!switches) return tl::unexpected<Error>(switches.error());
  seen.switches = std::move(*switches);
  seen.deliveries = std::exchange(deliveries_, {});
  return seen;
}

Result<void> LiveSide::apply(const Step& step, bool& refused) {
  const auto answered = [&](Result<bool> taken) -> Result<void> {
    if (!taken) return tl::unexpected<Error>(taken.error());
    refused = !*taken;
    return {};
  };
  return std::visit(
      Overloaded{
          [&](const Connect& what) { return connect(what); },
          [&](const Disconnect& what) -> Result<void> {
            endpoints_[what.gpu].client.reset();
            return {};
          },
          [&](const Sends& what) -> Result<void> {
            send(what);
            return {};
          },
          [&](const SetReader& what) -> Result<void> {
            endpoints_[what.gpu].client->set_reading(what.reads);
            return {};
          },
          [&](const SetPort& what) { return set_port(what); },
          [&](const CreateGroup& what) {
            return answered(
                ask(what.target,
                    {{"command", "group_create"}, {"name", what.name}, {"gpus", gpu_numbers(what.members)}}));
          },
          [&](const DeleteGroup& what) {
            return answered(ask(what.target, {{"command", "group_delete"}, {"group", what.name}}));
          },
          [&](const ClearTelemetry& what) { return clear(what.target); },
      },
      step.what);
}

Result<void> LiveSide::connect(const Connect& what) {
  Endpoint& endpoint = endpoints_[what.gpu];
  Result<EndpointClient> client = EndpointClient::connect(daemons_[endpoint.at].run_dir + "/port_" +
                                                          std::to_string(endpoint.port) + ".sock");
  if (!client) return tl::unexpected<Error>(annotated(client.error(), endpoint.at));
  endpoint.client.emplace(std::move(*client));
  // What was sent to whoever was there before is nobody's now.
  endpoint.tx_offset = -static_cast<std::int64_t>(daemons_[endpoint.at].ports[endpoint.port].tx_frames);
  if (!what.announce) return {};
  const WellFormed announcement{wire::FrameType::discovery, script_.fabric.gpus[what.gpu].id, kBroadcast};
  endpoint.client->send(message_bytes(Send{what.gpu, announcement}, 0));
  ++endpoint.sent;
  return {};
}

void LiveSide::send(const Sends& what) {
  for (const Send& each : what.sends) {
    Endpoint& endpoint = endpoints_[each.from];
    for (std::uint32_t i = 0; i < each.repeat; ++i)
      endpoint.client->send(message_bytes(each, next_number_++));
    endpoint.sent += each.repeat;
  }
}

Result<void> LiveSide::set_port(const SetPort& what) {
  const std::uint16_t port = what.gpu ? daemon_port(script_.fabric, *what.gpu) : kInterSwitchPort;
  const Result<Json> done = daemons_[what.target].management->result(
      {{"command", "set_link_state"}, {"port", port}, {"state", what.up ? "up" : "down"}});
  if (!done) return tl::unexpected<Error>(annotated(done.error(), what.target));
  return {};
}

Result<void> LiveSide::clear(SwitchIndex target) {
  Daemon& daemon = daemons_[target];
  const Result<Json> done = daemon.management->result({{"command", "telemetry_clear"}});
  if (!done) return tl::unexpected<Error>(annotated(done.error(), target));
  for (Endpoint& each : endpoints_) {
    if (each.at != target) continue;
    each.rx_offset += static_cast<std::int64_t>(daemon.ports[each.port].rx_frames);
    each.tx_offset += static_cast<std::int64_t>(daemon.ports[each.port].tx_frames);
  }
  for (Direction& each : directions_) {
    const PortActivity& port = daemon.ports[kInterSwitchPort];
    if (each.from == target) each.offset -= static_cast<std::int64_t>(port.tx_frames);
    if (each.to == target) each.offset += static_cast<std::int64_t>(port.rx_frames);
  }
  return {};
}

// Whether the daemon has done it.
Result<bool> LiveSide::ask(SwitchIndex target, const Json& request) {
  const Result<Json> answer = daemons_[target].management->call(request);
  if (!answer) return tl::unexpected<Error>(annotated(answer.error(), target));
  const auto ok = answer->find("ok");
  if (ok == answer->end() || !ok->is_boolean())
    return fail(ErrorCode::mismatch, "the daemon answers " + request.dump() + " with " + answer->dump());
  return ok->get<bool>();
}

// --- Rest -------------------------------------------------------------------------------------------------

Result<std::string> LiveSide::wait_for_rest() {
  const Clock::time_point deadline = Clock::now() + options_.patience + longest_watch(script_.fabric);
  std::vector<std::vector<PortActivity>> last;
  for (int pause_ms = 0;; pause_ms = std::min(pause_ms + 1, kLongestPause_ms)) {
    if (Result<void> pumped = pump(); !pumped) return tl::unexpected<Error>(pumped.error());
    Result<std::vector<std::vector<PortActivity>>> ports = activity();
    if (!ports) return tl::unexpected<Error>(ports.error());
    std::string reason = busy(*ports);
    const bool late = Clock::now() > deadline;
    // A queue that is held for a reader looks the same while the daemon has still to fill the reader's
    // socket.
    if (late || (reason.empty() && (*ports == last || !holds_queues(script_.fabric)))) {
      for (std::size_t i = 0; i < daemons_.size(); ++i)
        daemons_[i].ports = std::move((*ports)[i]);
      return reason;
    }
    last = std::move(*ports);
    wait_for_sockets(pause_ms);
  }
}

Result<void> LiveSide::pump() {
  for (GpuIndex gpu = 0; gpu < endpoints_.size(); ++gpu) {
    Endpoint& each = endpoints_[gpu];
    if (!each.client) continue;
    Result<void> pumped = each.client->pump(
        [&](std::span<const std::byte> message) { deliveries_.push_back(delivery(gpu, message)); });
    if (!pumped) {
      Error error = annotated(pumped.error(), each.at);
      error.where = port_name(each.at, each.port);
      return tl::unexpected<Error>(std::move(error));
    }
  }
  return {};
}

void LiveSide::wait_for_sockets(int milliseconds) {
  std::vector<pollfd> sockets;
  for (const Endpoint& each : endpoints_) {
    if (!each.client) continue;
    const int events = (each.client->reading() ? POLLIN : 0) | (each.client->wants_to_send() ? POLLOUT : 0);
    sockets.push_back({each.client->fd(), static_cast<short>(events), 0});
  }
  ::poll(sockets.data(), sockets.size(), milliseconds);
}

Result<std::vector<std::vector<PortActivity>>> LiveSide::activity() {
  std::vector<std::vector<PortActivity>> all;
  for (SwitchIndex index = 0; index < daemons_.size(); ++index) {
    const Result<Json> status = daemons_[index].management->result({{"command", "port_status"}});
    if (!status) return tl::unexpected<Error>(annotated(status.error(), index));
    Result<std::vector<PortActivity>> ports = read_activity(*status);
    if (!ports) return tl::unexpected<Error>(annotated(ports.error(), index));
    if (ports->size() != kDaemonPorts)
      return fail(ErrorCode::mismatch, "the daemon has " + std::to_string(ports->size()) + " ports");
    all.push_back(std::move(*ports));
  }
  return all;
}

std::string LiveSide::port_name(SwitchIndex index, std::uint16_t port) const {
  return script_.fabric.switches[index].name + " port " + std::to_string(port);
}

// The answers are not of one moment, but each is of a later one than those before. So when the first switch
// had nothing left, and the second one too and nothing on its way to or from the first, both are at rest.
std::string LiveSide::busy(const std::vector<std::vector<PortActivity>>& ports) const {
  for (const Endpoint& each : endpoints_) {
    std::string reason = busy(each, ports[each.at][each.port], port_name(each.at, each.port));
    if (!reason.empty()) return reason;
  }
  return busy_link(ports);
}

std::string LiveSide::busy(const Endpoint& endpoint, const PortActivity& port,
                           const std::string& name) const {
  const auto counts = [&](const char* what, std::int64_t counted, std::int64_t expected) {
    return name + " counts " + std::to_string(counted) + " frames " + what + " where there should be " +
           std::to_string(expected);
  };
  const std::int64_t sent = endpoint.sent - endpoint.rx_offset;
  if (sent != static_cast<std::int64_t>(port.rx_frames))
    return counts("received", static_cast<std::int64_t>(port.rx_frames), sent);
  if (port.link_up != endpoint.client.has_value())
    return name + (port.link_up ? " is still connected" : " is not connected yet");
  if (!endpoint.client) return port.queued_frames == 0 ? "" : name + " has frames for nobody in its queue";
  if (!endpoint.client->reading())
    return port.queued_frames == 0 || holds_queues(script_.fabric) ? "" : name + " waits for its reader";
  if (port.queued_frames > 0)
    return name + " has " + std::to_string(port.queued_frames) + " frames in its queue";
  if (port.stalled) return name + " does not notice that its reader moves";
  const std::int64_t read = static_cast<std::int64_t>(endpoint.client->messages_read()) - endpoint.tx_offset;
  if (read != static_cast<std::int64_t>(port.tx_frames))
    return counts("sent", static_cast<std::int64_t>(port.tx_frames), read);
  return {};
}

std::string LiveSide::busy_link(const std::vector<std::vector<PortActivity>>& ports) const {
  for (const Direction& each : directions_) {
    const PortActivity& from = ports[each.from][kInterSwitchPort];
    const PortActivity& to = ports[each.to][kInterSwitchPort];
    const std::string name = port_name(each.from, kInterSwitchPort);
    if (!from.link_up || !to.link_up) return "the link between the switches is down";
    if (from.queued_frames > 0) return name + " has frames in its queue";
    if (from.stalled) return name + " is stalled";
    if (static_cast<std::int64_t>(from.tx_frames) != static_cast<std::int64_t>(to.rx_frames) + each.offset)
      return "what " + name + " has sent is not what the other switch has received";
  }
  return {};
}

Result<std::vector<SwitchObservation>> LiveSide::observe() {
  std::vector<SwitchObservation> all;
  for (SwitchIndex index = 0; index < daemons_.size(); ++index) {
    std::vector<Json> answers;
    for (const char* command : {"port_status", "telemetry_dump", "gpu_fdb_dump", "group_dump"}) {
      Result<Json> answer = daemons_[index].management->result({{"command", command}});
      if (!answer) return tl::unexpected<Error>(annotated(answer.error(), index));
      answers.push_back(std::move(*answer));
    }
    Result<SwitchObservation> seen = read_switch(answers[0], answers[1], answers[2], answers[3]);
    if (!seen) return tl::unexpected<Error>(annotated(seen.error(), index));
    all.push_back(std::move(*seen));
  }
  return all;
}

}  // namespace cnuas::equivalence
