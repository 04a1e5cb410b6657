#include "live/management/commands.h"

#include <array>
#include <string>

namespace cnuas::live {

namespace {

using fabric_switch::ByType;
using fabric_switch::DropReason;
using fabric_switch::kDropReasons;
using fabric_switch::kTypeSlots;
using fabric_switch::PortCounters;
using fabric_switch::PortIndex;
using fabric_switch::Switch;
using fabric_switch::TypeCounters;

constexpr double kPicosecondsPerMicrosecond = 1e6;

double microseconds(Picoseconds time_ps) {
  return static_cast<double>(time_ps) / kPicosecondsPerMicrosecond;
}

std::string type_name(std::size_t type) {
  return type == 0 ? "INVALID" : std::string(name(static_cast<wire::FrameType>(type)));
}

AnswerJson type_json(const TypeCounters& counters, std::uint64_t queued) {
  AnswerJson json;
  json["rx_frames"] = counters.rx_frames;
  json["rx_bytes"] = counters.rx_bytes;
  json["rx_dropped"] = counters.rx_dropped;
  json["consumed"] = counters.consumed;
  json["forwarded"] = counters.forwarded;
  json["copies"] = counters.copies;
  json["own"] = counters.own;
  json["carried_over"] = counters.carried_over;
  json["offered"] = counters.offered;
  json["tx_frames"] = counters.tx_frames;
  json["tx_bytes"] = counters.tx_bytes;
  json["tx_dropped"] = counters.tx_dropped;
  json["queued"] = queued;
  return json;
}

AnswerJson by_type_json(const PortCounters& counters, const ByType<std::uint64_t>& queued) {
  AnswerJson json = AnswerJson::object();
  for (std::size_t type = 1; type < kTypeSlots; ++type)
    json[type_name(type)] = type_json(counters.by_type[type], queued[type]);
  json[type_name(0)] = type_json(counters.by_type[0], queued[0]);
  return json;
}

AnswerJson drops_json(const std::array<ByType<std::uint64_t>, kDropReasons>& drops) {
  AnswerJson json = AnswerJson::object();
  for (std::size_t reason = 0; reason < kDropReasons; ++reason) {
    for (std::size_t type = 0; type < kTypeSlots; ++type) {
      if (drops[reason][type] == 0) continue;
      json[std::string(name(static_cast<DropReason>(reason)))][type_name(type)] = drops[reason][type];
    }
  }
  return json;
}

AnswerJson port_json(const Switch& fabric_switch, PortIndex port) {
  const PortCounters& counters = fabric_switch.counters(port);
  const Switch::PortStatus status = fabric_switch.status(port);
  AnswerJson json;
  json["port"] = port;
  json["role"] = role_name(fabric_switch.config().ports[port].role);
  add_totals(counters, json);
  json["queued_frames"] = status.queued_frames;
  json["queued_bytes"] = status.queued_bytes;
  json["by_type"] = by_type_json(counters, fabric_switch.queued_by_type(port));
  json["rx_drops_by_reason"] = drops_json(counters.rx_drops);
  json["tx_drops_by_reason"] = drops_json(counters.tx_drops);
  return json;
}

}  // namespace

void add_totals(const PortCounters& counters, AnswerJson& json) {
  const TypeCounters total = counters.total();
  json["rx_frames"] = total.rx_frames;
  json["rx_bytes"] = total.rx_bytes;
  json["tx_frames"] = total.tx_frames;
  json["tx_bytes"] = total.tx_bytes;
  json["rx_drops"] = total.rx_dropped;
  json["tx_drops"] = total.tx_dropped;
  json["collective_reduce_count"] = counters.collective_reduce_count();
  json["collective_gather_count"] = counters.collective_gather_count();
  if (counters.latency.count() > 0) {
    json["latency_us_p50"] = microseconds(counters.latency.p50_ps());
    json["latency_us_p99"] = microseconds(counters.latency.p99_ps());
  }
  json["latency_count"] = counters.latency.count();
}

CommandOutcome telemetry_dump(const CommandContext& context, const RequestFields& fields) {
  const Outcome<std::vector<PortIndex>> ports = wanted_ports(context, fields);
  if (!ports) return tl::unexpected(ports.error());
  AnswerJson list = AnswerJson::array();
  for (const PortIndex port : *ports)
    list.push_back(port_json(context.managed.fabric_switch(), port));
  AnswerJson result;
  result["counting_s"] = seconds(context.now - context.counting_since);
  result["ports"] = std::move(list);
  return result;
}

CommandOutcome telemetry_clear(const CommandContext& context, const RequestFields&) {
  context.managed.clear_counters();
  context.counting_since = context.now;
  return AnswerJson::object();
}

}  // namespace cnuas::live
