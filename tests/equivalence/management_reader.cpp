#include "tests/equivalence/management_reader.h"

#include <stdexcept>
#include <string>
#include <utility>

namespace cnuas::equivalence {

namespace {

using Json = nlohmann::json;
using fabric_switch::TypeCounters;

// Thrown and caught within this file: a place deep in an answer is not as it should be.
struct Unreadable : std::runtime_error {
  using std::runtime_error::runtime_error;
};

const Json& member(const Json& object, const char* name) {
  if (!object.is_object() || !object.contains(name))
    throw Unreadable("'" + std::string(name) + "' is missing from " + object.dump().substr(0, 200));
  return object.at(name);
}

std::uint64_t number(const Json& object, const char* name) {
  const Json& value = member(object, name);
  if (!value.is_number_unsigned()) throw Unreadable("'" + std::string(name) + "' is " + value.dump());
  return value.get<std::uint64_t>();
}

bool flag(const Json& object, const char* name) {
  const Json& value = member(object, name);
  if (!value.is_boolean()) throw Unreadable("'" + std::string(name) + "' is " + value.dump());
  return value.get<bool>();
}

std::string word(const Json& object, const char* name) {
  const Json& value = member(object, name);
  if (!value.is_string()) throw Unreadable("'" + std::string(name) + "' is " + value.dump());
  return value.get<std::string>();
}

const Json& list(const Json& object, const char* name) {
  const Json& value = member(object, name);
  if (!value.is_array()) throw Unreadable("'" + std::string(name) + "' is " + value.dump());
  return value;
}

template <class Value>
Value one_of(const std::string& text, std::initializer_list<std::pair<const char*, Value>> names) {
  for (const auto& [name, value] : names) {
    if (text == name) return value;
  }
  throw Unreadable("nobody knows what '" + text + "' is");
}

GpuId gpu(const Json& value) {
  const std::uint64_t id = number(value, "id");
  if (id > 0xFFFF || word(value, "name") != to_string(GpuId{static_cast<std::uint16_t>(id)}))
    throw Unreadable("a GPU is " + value.dump());
  return GpuId{static_cast<std::uint16_t>(id)};
}

std::size_t slot_of(const std::string& type) {
  if (type == "INVALID") return 0;
  for (std::size_t slot = 1; slot < fabric_switch::kTypeSlots; ++slot) {
    if (type == wire::name(static_cast<wire::FrameType>(slot))) return slot;
  }
  throw Unreadable("nobody knows the type '" + type + "'");
}

std::size_t reason_of(const std::string& name) {
  for (std::size_t reason = 0; reason < fabric_switch::kDropReasons; ++reason) {
    if (name == fabric_switch::name(static_cast<fabric_switch::DropReason>(reason))) return reason;
  }
  throw Unreadable("nobody knows the drop reason '" + name + "'");
}

void read_drops(const Json& drops,
                std::array<fabric_switch::ByType<std::uint64_t>, fabric_switch::kDropReasons>& out) {
  for (const auto& [reason, by_type] : drops.items()) {
    for (const auto& [type, unused] : by_type.items())
      out[reason_of(reason)][slot_of(type)] = number(by_type, type.c_str());
  }
}

TypeCounters read_type(const Json& counters) {
  TypeCounters read;
  for (const auto& [name, member] :
       std::initializer_list<std::pair<const char*, std::uint64_t TypeCounters::*>>{
           {"rx_frames", &TypeCounters::rx_frames},
           {"rx_bytes", &TypeCounters::rx_bytes},
           {"rx_dropped", &TypeCounters::rx_dropped},
           {"consumed", &TypeCounters::consumed},
           {"forwarded", &TypeCounters::forwarded},
           {"copies", &TypeCounters::copies},
           {"own", &TypeCounters::own},
           {"carried_over", &TypeCounters::carried_over},
           {"offered", &TypeCounters::offered},
           {"tx_frames", &TypeCounters::tx_frames},
           {"tx_bytes", &TypeCounters::tx_bytes},
           {"tx_dropped", &TypeCounters::tx_dropped}})
    read.*member = number(counters, name);
  return read;
}

void read_telemetry(const Json& counters, PortObservation& port) {
  const Json& by_type = member(counters, "by_type");
  for (std::size_t slot = 0; slot < fabric_switch::kTypeSlots; ++slot) {
    const std::string type =
        slot == 0 ? "INVALID" : std::string(wire::name(static_cast<wire::FrameType>(slot)));
    const Json& of_type = member(by_type, type.c_str());
    port.by_type[slot] = read_type(of_type);
    port.queued[slot] = number(of_type, "queued");
  }
  read_drops(member(counters, "rx_drops_by_reason"), port.rx_drops);
  read_drops(member(counters, "tx_drops_by_reason"), port.tx_drops);
}

PortObservation read_port(const Json& status) {
  PortObservation port;
  port.role = one_of<fabric_switch::PortRole>(
      word(status, "role"),
      {{"gpu", fabric_switch::PortRole::gpu}, {"inter_switch", fabric_switch::PortRole::inter_switch}});
  port.admin_up = flag(status, "admin_up");
  port.link_up = flag(status, "link_up");
  port.stalled = flag(status, "stalled");
  port.ingress_paused = flag(status, "ingress_paused");
  port.order = one_of<wire::ByteOrder>(word(status, "byte_order"),
                                       {{"big", wire::ByteOrder::big}, {"little", wire::ByteOrder::little}});
  // Who is there, or who is expected when nobody is.
  for (const char* name : {"gpu", "expected"}) {
    if (port.gpu == kNoGpu && status.contains(name)) port.gpu = gpu(status.at(name));
  }
  port.queued_bytes = number(status, "queued_bytes");
  return port;
}

fabric_switch::FdbEntry read_entry(const Json& entry) {
  return {gpu(member(entry, "gpu")), static_cast<fabric_switch::PortIndex>(number(entry, "port")),
          one_of<fabric_switch::FdbOrigin>(word(entry, "origin"),
                                           {{"configured", fabric_switch::FdbOrigin::configured},
                                            {"learned", fabric_switch::FdbOrigin::learned}})};
}

fabric_switch::Group read_group(const Json& group) {
  fabric_switch::Group read;
  read.id = static_cast<fabric_switch::GroupId>(number(group, "id"));
  read.name = word(group, "name");
  for (const Json& each : list(group, "members"))
    read.members.push_back(gpu(each));
  return read;
}

SwitchObservation read_all(const Json& port_status, const Json& telemetry, const Json& fdb,
                           const Json& groups) {
  SwitchObservation seen;
  for (const Json& each : list(port_status, "ports"))
    seen.ports.push_back(read_port(each));
  const Json& counted = list(telemetry, "ports");
  if (counted.size() != seen.ports.size())
    throw Unreadable("port_status and telemetry_dump have different ports");
  for (std::size_t i = 0; i < seen.ports.size(); ++i)
    read_telemetry(counted[i], seen.ports[i]);
  for (const Json& each : list(fdb, "entries"))
    seen.fdb.push_back(read_entry(each));
  if (number(fdb, "size") != seen.fdb.size())
    throw Unreadable("gpu_fdb_dump does not list all of its entries");
  for (const Json& each : list(groups, "groups"))
    seen.groups.push_back(read_group(each));
  if (number(groups, "size") != seen.groups.size()) throw Unreadable("group_dump does not list all groups");
  return seen;
}

std::vector<PortActivity> read_all_activity(const Json& port_status) {
  std::vector<PortActivity> ports;
  for (const Json& each : list(port_status, "ports")) {
    const Json& counters = member(each, "counters");
    ports.push_back({flag(each, "link_up"), flag(each, "stalled"), number(each, "queued_frames"),
                     number(counters, "rx_frames"), number(counters, "tx_frames")});
  }
  return ports;
}

}  // namespace

Result<SwitchObservation> read_switch(const nlohmann::json& port_status, const nlohmann::json& telemetry,
                                      const nlohmann::json& fdb, const nlohmann::json& groups) {
  try {
    return read_all(port_status, telemetry, fdb, groups);
  } catch (const std::exception& exception) {
    return fail(ErrorCode::mismatch, std::string("the daemon's answer cannot be read: ") + exception.what());
  }
}

Result<std::vector<PortActivity>> read_activity(const nlohmann::json& port_status) {
  try {
    return read_all_activity(port_status);
  } catch (const std::exception& exception) {
    return fail(ErrorCode::mismatch, std::string("the daemon's answer cannot be read: ") + exception.what());
  }
}

}  // namespace cnuas::equivalence
