#include "live/management/refusal.h"

namespace cnuas::live {

std::string_view name(RefusalCode code) {
  switch (code) {
    case RefusalCode::too_long:
      return "too_long";
    case RefusalCode::bad_json:
      return "bad_json";
    case RefusalCode::too_deep:
      return "too_deep";
    case RefusalCode::missing_field:
      return "missing_field";
    case RefusalCode::unknown_command:
      return "unknown_command";
    case RefusalCode::unknown_field:
      return "unknown_field";
    case RefusalCode::bad_field:
      return "bad_field";
    case RefusalCode::out_of_range:
      return "out_of_range";
    case RefusalCode::not_found:
      return "not_found";
    case RefusalCode::exists:
      return "exists";
    case RefusalCode::full:
      return "full";
    case RefusalCode::unsupported:
      return "unsupported";
    case RefusalCode::too_large:
      return "too_large";
    case RefusalCode::internal:
      return "internal";
    case RefusalCode::busy:
      return "busy";
    case RefusalCode::denied:
      return "denied";
  }
  return "?";
}

}  // namespace cnuas::live
