// The commands of the management socket, as docs/management.md describes them: the fields of a request and
// the switch in, the result out.
#pragma once

#include "core/engine/time.h"
#include "live/management/json_text.h"
#include "live/management/managed_switch.h"
#include "live/management/refusal.h"
#include "live/management/request_fields.h"

#include <string_view>
#include <vector>

namespace cnuas::live {

inline constexpr int kManagementApiVersion = 1;

struct CommandContext {
  ManagedSwitch& managed;
  Picoseconds& counting_since;  // when the counters were last zero
  Picoseconds now = 0;          // monotonic_now()
};

using CommandOutcome = Outcome<AnswerJson>;

CommandOutcome port_status(const CommandContext& context, const RequestFields& fields);
CommandOutcome set_link_state(const CommandContext& context, const RequestFields& fields);
CommandOutcome gpu_fdb_dump(const CommandContext& context, const RequestFields& fields);
CommandOutcome group_create(const CommandContext& context, const RequestFields& fields);
CommandOutcome group_dump(const CommandContext& context, const RequestFields& fields);
CommandOutcome group_delete(const CommandContext& context, const RequestFields& fields);
CommandOutcome telemetry_dump(const CommandContext& context, const RequestFields& fields);
CommandOutcome telemetry_clear(const CommandContext& context, const RequestFields& fields);
CommandOutcome peer_query(const CommandContext& context, const RequestFields& fields);
CommandOutcome health(const CommandContext& context, const RequestFields& fields);
CommandOutcome version(const CommandContext& context, const RequestFields& fields);
CommandOutcome trace(const CommandContext& context, const RequestFields& fields);

struct Command {
  std::string_view name;
  std::vector<std::string_view> fields;  // all that it takes
  CommandOutcome (*run)(const CommandContext&, const RequestFields&);
};
const std::vector<Command>& commands();
const Command* find_command(std::string_view name);  // nullptr when there is none

// --- What several commands answer with ---------------------------------------------------------------

AnswerJson gpu_json(GpuId gpu);
AnswerJson group_json(const fabric_switch::Group& group);
std::string_view role_name(fabric_switch::PortRole role);
double seconds(Picoseconds time_ps);
// The ports that the request asks for: one when it has `port`, else all.
Outcome<std::vector<fabric_switch::PortIndex>> wanted_ports(const CommandContext& context,
                                                            const RequestFields& fields);
// Adds the counters of all types to `json`.
void add_totals(const fabric_switch::PortCounters& counters, AnswerJson& json);

}  // namespace cnuas::live
