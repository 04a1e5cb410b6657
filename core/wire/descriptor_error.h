// Why a payload is not what its frame's type says it is.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace cnuas::wire {

enum class DescriptorError : std::uint8_t {
  too_short,          // ends before the descriptor does
  too_long,           // goes on after the descriptor
  unknown_operation,  // a number that stands for none
  unknown_data_type,  // likewise
  reserved_not_zero,  // bytes that a later version may give a meaning
  no_contribution,    // a partial that nothing was folded into
  rank_out_of_range,  // contributions beyond the last rank there can be
  no_elements,        // a partial of none
  count_mismatch,     // the partial does not have the size of its elements
  bad_magic,          // does not begin as it must
  bad_version,        // of another version
};
inline constexpr std::size_t kDescriptorErrors = 11;
std::string_view name(DescriptorError error);  // "too_short", ...

}  // namespace cnuas::wire
