// Why a request is not answered with a result: the codes of docs/management.md.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

#include <tl/expected.hpp>

namespace cnuas::live {

enum class RefusalCode : std::uint8_t {
  too_long,
  bad_json,
  too_deep,
  missing_field,
  unknown_command,
  unknown_field,
  bad_field,
  out_of_range,
  not_found,
  exists,
  full,
  unsupported,
  too_large,
  internal,
  busy,
  denied,
};
std::string_view name(RefusalCode code);  // "too_long", ...

struct Refusal {
  RefusalCode code = RefusalCode::internal;
  std::string message;  // one sentence without a full stop
  std::string field;    // of the request, that is to blame; empty: none
};

template <class T>
using Outcome = tl::expected<T, Refusal>;

inline tl::unexpected<Refusal> refuse(RefusalCode code, std::string message, std::string field = {}) {
  return tl::unexpected<Refusal>(Refusal{code, std::move(message), std::move(field)});
}

}  // namespace cnuas::live
