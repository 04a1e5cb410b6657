#include "live/management/commands.h"

namespace cnuas::live {

namespace {

using fabric_switch::PortConfig;
using fabric_switch::PortIndex;
using fabric_switch::PortRole;
using fabric_switch::Switch;

std::string_view state_of(const Switch::PortStatus& status) {
  if (!status.admin_up) return "admin_down";
  if (!status.link_up) return "down";
  return status.stalled ? "stalled" : "up";
}

std::string_view presence_of(const PortConfig& config, const Switch::PortStatus& status) {
  if (status.link_up) return status.gpu == kNoGpu ? "silent" : "present";
  return config.expected == kNoGpu ? "not_expected" : "absent";
}

AnswerJson peer_json(const PortFacts& facts, Picoseconds now) {
  return {{"pid", facts.peer->pid},
          {"uid", facts.peer->uid},
          {"gid", facts.peer->gid},
          {"connected_s", seconds(now - facts.connected_ps)}};
}

void add_socket(const PortFacts& facts, Picoseconds now, AnswerJson& json) {
  if (!facts.socket.empty()) json["socket"] = facts.socket;
  if (!facts.dials.empty()) json["dials"] = facts.dials;
  if (facts.peer) json["peer"] = peer_json(facts, now);
  json["connections"] = facts.connections;
  json["refused_busy"] = facts.refused_busy;
  json["refused_identity"] = facts.refused_identity;
}

AnswerJson port_json(const CommandContext& context, PortIndex port) {
  const Switch& fabric_switch = context.managed.fabric_switch();
  const PortConfig& config = fabric_switch.config().ports[port];
  const Switch::PortStatus status = fabric_switch.status(port);
  AnswerJson json;
  json["port"] = port;
  json["role"] = role_name(config.role);
  json["state"] = state_of(status);
  if (config.role == PortRole::gpu) json["presence"] = presence_of(config, status);
  if (config.expected != kNoGpu) json["expected"] = gpu_json(config.expected);
  if (status.link_up && status.gpu != kNoGpu) json["gpu"] = gpu_json(status.gpu);
  json["admin_up"] = status.admin_up;
  json["link_up"] = status.link_up;
  json["stalled"] = status.stalled;
  json["ingress_paused"] = status.ingress_paused;
  json["byte_order"] = status.order == wire::ByteOrder::big ? "big" : "little";
  json["queued_frames"] = status.queued_frames;
  json["queued_bytes"] = status.queued_bytes;
  json["queue_bytes"] = config.queue_bytes;
  add_socket(context.managed.port_facts(port), context.now, json);
  AnswerJson& counters = json["counters"] = AnswerJson::object();
  add_totals(fabric_switch.counters(port), counters);
  return json;
}

}  // namespace

CommandOutcome port_status(const CommandContext& context, const RequestFields& fields) {
  const Outcome<std::vector<PortIndex>> ports = wanted_ports(context, fields);
  if (!ports) return tl::unexpected(ports.error());
  AnswerJson list = AnswerJson::array();
  for (const PortIndex port : *ports)
    list.push_back(port_json(context, port));
  AnswerJson result;
  result["ports"] = std::move(list);
  return result;
}

CommandOutcome set_link_state(const CommandContext& context, const RequestFields& fields) {
  const std::size_t count = context.managed.fabric_switch().ports();
  const Outcome<std::uint64_t> number = fields.integer("port", 0, count - 1);
  if (!number) return tl::unexpected(number.error());
  const Outcome<std::string> state = fields.text("state");
  if (!state) return tl::unexpected(state.error());
  if (*state != "up" && *state != "down")
    return refuse(RefusalCode::bad_field, "'state' is \"up\" or \"down\"", "state");
  const auto port = static_cast<PortIndex>(*number);
  const bool up = *state == "up";
  const bool changed = context.managed.fabric_switch().status(port).admin_up != up;
  if (changed) context.managed.set_admin_state(port, up);
  return AnswerJson{{"changed", changed}, {"status", port_json(context, port)}};
}

}  // namespace cnuas::live
