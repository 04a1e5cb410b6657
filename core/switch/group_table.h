// Named groups of GPUs, which collectives run over.
#pragma once

#include "core/engine/error.h"
#include "core/topology/gpu_id.h"

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace cnuas::fabric_switch {

using GroupId = std::uint32_t;  // from 1; never given twice by one table

struct Group {
  GroupId id = 0;
  std::string name;
  std::vector<GpuId> members;  // in rank order, as they were given
};

class GroupTable {
 public:
  static constexpr std::size_t kMaxNameBytes = 64;

  GroupTable(std::size_t max_groups, std::size_t max_members)
      : max_groups_(max_groups), max_members_(max_members) {}

  // For groups that are made from now on.
  void set_bounds(std::size_t max_groups, std::size_t max_members) {
    max_groups_ = max_groups;
    max_members_ = max_members;
  }

  // Errors, all invalid_argument but the last: a name that is empty, longer than kMaxNameBytes or taken; no
  // members, more than the bound, one that is not a GPU's ID or stands twice; out_of_range when the table is
  // full.
  Result<GroupId> create(std::string name, std::vector<GpuId> members);

  // Errors: not_found.
  Result<void> erase(GroupId id);

  // nullptr when there is none; valid until the table changes.
  const Group* find(GroupId id) const;
  const Group* find(std::string_view name) const;

  const std::vector<Group>& list() const { return groups_; }  // ascending by ID

 private:
  std::size_t max_groups_;
  std::size_t max_members_;
  GroupId next_ = 1;
  std::vector<Group> groups_;
};

}  // namespace cnuas::fabric_switch
