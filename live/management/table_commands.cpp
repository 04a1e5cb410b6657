// The forwarding database and the groups, in pages: no answer is long enough to hold up frames.
#include "live/management/commands.h"

#include <algorithm>
#include <iterator>
#include <limits>
#include <optional>

namespace cnuas::live {

namespace {

using fabric_switch::FdbEntry;
using fabric_switch::FdbOrigin;
using fabric_switch::Group;
using fabric_switch::GroupId;
using fabric_switch::GroupTable;

constexpr std::uint64_t kMostEntries = 256;
constexpr std::uint64_t kMostGroups = 256;
constexpr std::size_t kMostMembers = 512;  // of all groups of a page, unless it is a single group

AnswerJson one_group(const Group& group) {
  AnswerJson json;
  json["group"] = group_json(group);
  return json;
}

Outcome<std::uint64_t> limit_of(const RequestFields& fields, std::uint64_t most) {
  return fields.has("limit") ? fields.integer("limit", 1, most) : Outcome<std::uint64_t>(most);
}

AnswerJson entry_json(const CommandContext& context, const FdbEntry& entry) {
  const fabric_switch::SwitchConfig& config = context.managed.fabric_switch().config();
  AnswerJson json;
  json["gpu"] = gpu_json(entry.gpu);
  json["port"] = entry.port;
  json["role"] = role_name(config.ports[entry.port].role);
  json["origin"] = entry.origin == FdbOrigin::configured ? "configured" : "learned";
  return json;
}

// What cannot be told from an ID, or would spoil a terminal.
std::optional<std::string> fault_of_name(const std::string& name) {
  if (std::all_of(name.begin(), name.end(), [](char each) { return each >= '0' && each <= '9'; }))
    return "a name of digits alone cannot be told from an ID";
  for (std::size_t i = 0; i < name.size(); ++i) {
    const auto byte = static_cast<unsigned char>(name[i]);
    const auto next = i + 1 < name.size() ? static_cast<unsigned char>(name[i + 1]) : 0;
    const bool second_half = byte == 0xC2 && next < 0xA0;  // U+0080 to U+009F
    if (byte < 0x20 || byte == 0x7F || second_half) return "a name has no control characters";
  }
  return std::nullopt;
}

Outcome<std::string> name_of(const RequestFields& fields) {
  Outcome<std::string> name = fields.text("name");
  if (!name) return name;
  if (name->empty() || name->size() > GroupTable::kMaxNameBytes) {
    return refuse(RefusalCode::out_of_range,
                  "'name' has " + std::to_string(name->size()) + " bytes, and must have 1 to " +
                      std::to_string(GroupTable::kMaxNameBytes),
                  "name");
  }
  if (std::optional<std::string> fault = fault_of_name(*name))
    return refuse(RefusalCode::bad_field, *fault, "name");
  return name;
}

Refusal refusal_of(const Error& error, const std::string& field) {
  switch (error.code) {
    case ErrorCode::invalid_argument:
      return {RefusalCode::bad_field, error.message, field};
    case ErrorCode::not_found:
      return {RefusalCode::not_found, error.message, field};
    case ErrorCode::out_of_range:
      return {RefusalCode::full, error.message, {}};
    default:
      return {RefusalCode::internal, error.message, {}};
  }
}

Outcome<const Group*> find_group(const GroupTable& groups, const RequestFields& fields) {
  if (fields.is_text("group")) {
    const Outcome<std::string> name = fields.text("group");
    if (const Group* group = groups.find(std::string_view(*name))) return group;
    return refuse(RefusalCode::not_found, "there is no group of this name", "group");
  }
  const Outcome<std::uint64_t> id = fields.integer("group", 1, std::numeric_limits<GroupId>::max());
  if (!id) return tl::unexpected(id.error());
  if (const Group* group = groups.find(static_cast<GroupId>(*id))) return group;
  return refuse(RefusalCode::not_found, "there is no group " + std::to_string(*id), "group");
}

}  // namespace

AnswerJson group_json(const Group& group) {
  AnswerJson members = AnswerJson::array();
  for (const GpuId member : group.members)
    members.push_back(gpu_json(member));
  AnswerJson json;
  json["id"] = group.id;
  json["name"] = group.name;
  json["members"] = std::move(members);
  return json;
}

CommandOutcome gpu_fdb_dump(const CommandContext& context, const RequestFields& fields) {
  const Outcome<std::uint64_t> limit = limit_of(fields, kMostEntries);
  if (!limit) return tl::unexpected(limit.error());
  const Outcome<GpuId> after = fields.has("after") ? fields.gpu("after") : Outcome<GpuId>(kNoGpu);
  if (!after) return tl::unexpected(after.error());

  const fabric_switch::Fdb& fdb = context.managed.fabric_switch().fdb();
  AnswerJson entries = AnswerJson::array();
  GpuId last = kNoGpu;
  bool more = false;
  fdb.for_each([&](const FdbEntry& entry) {
    if (entry.gpu <= *after) return;
    if (entries.size() == *limit) {
      more = true;
      return;
    }
    entries.push_back(entry_json(context, entry));
    last = entry.gpu;
  });
  AnswerJson result;
  result["size"] = fdb.size();
  result["entries"] = std::move(entries);
  if (more) result["next"] = gpu_json(last);
  return result;
}

CommandOutcome group_create(const CommandContext& context, const RequestFields& fields) {
  const GroupTable& groups = context.managed.fabric_switch().groups();
  const Outcome<std::string> name = name_of(fields);
  if (!name) return tl::unexpected(name.error());
  const Outcome<std::vector<GpuId>> gpus =
      fields.gpus("gpus", context.managed.fabric_switch().config().max_group_members);
  if (!gpus) return tl::unexpected(gpus.error());
  if (groups.find(std::string_view(*name)) != nullptr)
    return refuse(RefusalCode::exists, "a group of this name exists", "name");
  const Result<GroupId> id = context.managed.create_group(*name, *gpus);
  if (!id) return tl::unexpected(refusal_of(id.error(), "gpus"));
  return one_group(Group{*id, *name, *gpus});
}

CommandOutcome group_dump(const CommandContext& context, const RequestFields& fields) {
  const Outcome<std::uint64_t> limit = limit_of(fields, kMostGroups);
  if (!limit) return tl::unexpected(limit.error());
  const Outcome<std::uint64_t> after = fields.has("after")
                                           ? fields.integer("after", 0, std::numeric_limits<GroupId>::max())
                                           : Outcome<std::uint64_t>(0);
  if (!after) return tl::unexpected(after.error());

  const std::vector<Group>& all = context.managed.fabric_switch().groups().list();
  auto group = std::upper_bound(all.begin(), all.end(), *after,
                                [](std::uint64_t id, const Group& each) { return id < each.id; });
  AnswerJson listed = AnswerJson::array();
  std::size_t members = 0;
  for (; group != all.end() && listed.size() < *limit; ++group) {
    members += group->members.size();
    if (!listed.empty() && members > kMostMembers) break;
    listed.push_back(group_json(*group));
  }
  AnswerJson result;
  result["size"] = all.size();
  result["groups"] = std::move(listed);
  if (group != all.end()) result["next"] = std::prev(group)->id;
  return result;
}

CommandOutcome group_delete(const CommandContext& context, const RequestFields& fields) {
  const Outcome<const Group*> found = find_group(context.managed.fabric_switch().groups(), fields);
  if (!found) return tl::unexpected(found.error());
  const Group group = **found;  // the table is about to change
  const Result<void> deleted = context.managed.delete_group(group.id);
  if (!deleted) return tl::unexpected(refusal_of(deleted.error(), "group"));
  return one_group(group);
}

}  // namespace cnuas::live
