// The fields of one request, read by type and range.
#pragma once

#include "core/topology/gpu_id.h"
#include "live/management/json_text.h"
#include "live/management/refusal.h"

#include <cstdint>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace cnuas::live {

// Refers to the request, which must live longer. Every refusal names its field: missing_field when it is not
// there, bad_field for a wrong type or a value it cannot have, out_of_range beyond the bounds.
class RequestFields {
 public:
  explicit RequestFields(const RequestJson& request) : request_(request) {}

  bool has(std::string_view field) const { return find(field) != nullptr; }
  bool is_text(std::string_view field) const;

  Outcome<std::uint64_t> integer(std::string_view field, std::uint64_t least, std::uint64_t most) const;
  Outcome<std::string> text(std::string_view field) const;
  Outcome<GpuId> gpu(std::string_view field) const;
  Outcome<std::vector<GpuId>> gpus(std::string_view field, std::size_t most) const;

  // Refuses, as unknown_field, all that is neither in `known` nor "command" or "id".
  Outcome<void> only(const std::vector<std::string_view>& known) const;

 private:
  const RequestJson* find(std::string_view field) const;
  Outcome<const RequestJson*> require(std::string_view field) const;

  const RequestJson& request_;
};

}  // namespace cnuas::live
