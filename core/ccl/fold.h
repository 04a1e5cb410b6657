// The arithmetic of reductions: out[i] = left[i] (op) right[i], in that order of operands.
#pragma once

#include "core/ccl/collective.h"

#include <cstddef>
#include <cstdint>

namespace cnuas::ccl {

// `out` may be `left` or `right`; otherwise the three do not overlap. All are `count` elements of `type`,
// aligned or not.
//
// Integers wrap. Floating point is IEEE 754, one rounding an operation. sum and product: if one operand is
// NaN the result is the left one if that is NaN, else the right one, made quiet, with its sign and payload
// (on processors that keep them: x86 and ARM do). min and max: if one operand is NaN the result is the left
// one if that is NaN, else the right one, as it is; of two equal operands (+0 and -0) the left one.
//
// The instructions are those of the processor it runs on, the bits are the same with all of them. Allocates
// nothing.
void fold(DataType type, Operator op, const std::byte* left, const std::byte* right, std::byte* out,
          std::uint64_t count);

}  // namespace cnuas::ccl
