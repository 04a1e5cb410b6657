#include "live/management/commands.h"

#include <algorithm>

namespace cnuas::live {

namespace {

constexpr double kPicosecondsPerSecond = 1e12;

}  // namespace

const std::vector<Command>& commands() {
  static const std::vector<Command> all = {
      {"port_status", {"port"}, port_status},
      {"set_link_state", {"port", "state"}, set_link_state},
      {"gpu_fdb_dump", {"after", "limit"}, gpu_fdb_dump},
      {"group_create", {"name", "gpus"}, group_create},
      {"group_dump", {"after", "limit"}, group_dump},
      {"group_delete", {"group"}, group_delete},
      {"telemetry_dump", {"port"}, telemetry_dump},
      {"telemetry_clear", {}, telemetry_clear},
      {"peer_query", {"a", "b"}, peer_query},
      {"health", {}, health},
      {"version", {}, version},
      {"trace_start", {"path"}, trace},
      {"trace_stop", {}, trace},
  };
  return all;
}

const Command* find_command(std::string_view name) {
  const auto found = std::find_if(commands().begin(), commands().end(),
                                  [name](const Command& each) { return each.name == name; });
  return found == commands().end() ? nullptr : &*found;
}

AnswerJson gpu_json(GpuId gpu) {
  // Field by field, here and wherever there may be many: lists of initialisers are copied twice.
  AnswerJson json;
  json["name"] = to_string(gpu);
  json["id"] = gpu.value;
  return json;
}

std::string_view role_name(fabric_switch::PortRole role) {
  return role == fabric_switch::PortRole::gpu ? "gpu" : "inter_switch";
}

double seconds(Picoseconds time_ps) {
  return static_cast<double>(time_ps) / kPicosecondsPerSecond;
}

Outcome<std::vector<fabric_switch::PortIndex>> wanted_ports(const CommandContext& context,
                                                            const RequestFields& fields) {
  const std::size_t count = context.managed.fabric_switch().ports();
  std::vector<fabric_switch::PortIndex> ports;
  if (fields.has("port")) {
    const Outcome<std::uint64_t> port = fields.integer("port", 0, count - 1);
    if (!port) return tl::unexpected(port.error());
    ports.push_back(static_cast<fabric_switch::PortIndex>(*port));
    return ports;
  }
  for (std::size_t port = 0; port < count; ++port)
    ports.push_back(static_cast<fabric_switch::PortIndex>(port));
  return ports;
}

CommandOutcome version(const CommandContext& context, const RequestFields&) {
  const DaemonFacts facts = context.managed.daemon_facts();
  const fabric_switch::SwitchConfig& config = context.managed.fabric_switch().config();
  AnswerJson result;
  result["program"] = facts.program;
  result["version"] = facts.version;
  result["api"] = kManagementApiVersion;
  result["frame_version"] = wire::kVersion;
  result["name"] = config.name;
  if (config.rack != 0) result["rack"] = config.rack;
  result["ports"] = config.ports.size();
  result["pid"] = facts.pid;
  result["run_dir"] = facts.run_dir;
  if (!facts.config.empty()) result["config"] = facts.config;
  result["uptime_s"] = seconds(context.now - facts.started_ps);
  result["reloads"] = facts.reloads;
  result["draining"] = facts.draining;
  AnswerJson& names = result["commands"] = AnswerJson::array();
  for (const Command& command : commands())
    names.push_back(command.name);
  return result;
}

CommandOutcome trace(const CommandContext&, const RequestFields&) {
  return refuse(RefusalCode::unsupported, "this version of the switch writes no traces");
}

}  // namespace cnuas::live
