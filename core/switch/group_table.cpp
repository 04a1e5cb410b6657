#include "core/switch/group_table.h"

#include <algorithm>
#include <limits>
#include <utility>

namespace cnuas::fabric_switch {
namespace {

Result<void> check_members(const std::vector<GpuId>& members, std::size_t most, const std::string& where) {
  if (members.empty()) return fail(ErrorCode::invalid_argument, "a group needs at least one GPU", where);
  if (members.size() > most) {
    return fail(ErrorCode::invalid_argument,
                "a group has at most " + std::to_string(most) + " GPUs here, and " +
                    std::to_string(members.size()) + " are given",
                where);
  }
  for (const GpuId member : members) {
    if (!member.usable())
      return fail(ErrorCode::invalid_argument, to_string(member) + " names no GPU", where);
  }
  std::vector<GpuId> sorted = members;
  std::sort(sorted.begin(), sorted.end());
  const auto twice = std::adjacent_find(sorted.begin(), sorted.end());
  if (twice != sorted.end()) {
    return fail(ErrorCode::invalid_argument, "GPU " + to_string(*twice) + " stands twice among the members",
                where);
  }
  return {};
}

}  // namespace

Result<GroupId> GroupTable::create(std::string name, std::vector<GpuId> members) {
  if (name.empty()) return fail(ErrorCode::invalid_argument, "a group needs a name");
  if (name.size() > kMaxNameBytes) {
    return fail(ErrorCode::invalid_argument, "a group's name has at most " + std::to_string(kMaxNameBytes) +
                                                 " bytes, and this one has " + std::to_string(name.size()));
  }
  const std::string where = "group '" + name + "'";
  if (find(name) != nullptr) return fail(ErrorCode::invalid_argument, "a group of this name exists", where);
  if (Result<void> well = check_members(members, max_members_, where); !well) {
    return tl::unexpected<Error>(std::move(well.error()));
  }
  if (groups_.size() >= max_groups_ || next_ == std::numeric_limits<GroupId>::max()) {
    return fail(ErrorCode::out_of_range,
                "the table holds " + std::to_string(groups_.size()) + " groups and is full; delete one first",
                where);
  }
  groups_.push_back(Group{next_, std::move(name), std::move(members)});
  return next_++;
}

Result<void> GroupTable::erase(GroupId id) {
  const auto group =
      std::find_if(groups_.begin(), groups_.end(), [id](const Group& each) { return each.id == id; });
  if (group == groups_.end()) return fail(ErrorCode::not_found, "there is no group " + std::to_string(id));
  groups_.erase(group);
  return {};
}

const Group* GroupTable::find(GroupId id) const {
  const auto group = std::lower_bound(groups_.begin(), groups_.end(), id,
                                      [](const Group& each, GroupId wanted) { return each.id < wanted; });
  return group != groups_.end() && group->id == id ? &*group : nullptr;
}

const Group* GroupTable::find(std::string_view name) const {
  const auto group =
      std::find_if(groups_.begin(), groups_.end(), [name](const Group& each) { return each.name == name; });
  return group != groups_.end() ? &*group : nullptr;
}

}  // namespace cnuas::fabric_switch
