#include "core/wire/descriptor_error.h"

namespace cnuas::wire {

std::string_view name(DescriptorError error) {
  switch (error) {
    case DescriptorError::too_short:
      return "too_short";
    case DescriptorError::too_long:
      return "too_long";
    case DescriptorError::unknown_operation:
      return "unknown_operation";
    case DescriptorError::unknown_data_type:
      return "unknown_data_type";
    case DescriptorError::reserved_not_zero:
      return "reserved_not_zero";
    case DescriptorError::no_contribution:
      return "no_contribution";
    case DescriptorError::rank_out_of_range:
      return "rank_out_of_range";
    case DescriptorError::no_elements:
      return "no_elements";
    case DescriptorError::count_mismatch:
      return "count_mismatch";
    case DescriptorError::bad_magic:
      return "bad_magic";
    case DescriptorError::bad_version:
      return "bad_version";
  }
  return "?";
}

}  // namespace cnuas::wire
