// The sizes that a collective is measured at.
#pragma once

#include "core/ccl/collective.h"
#include "scenarios/diagnostics.h"
#include "scenarios/document.h"

#include <cstdint>
#include <vector>

namespace cnuas::scenarios {

// `size` or `sizes` of an item, in whole elements of `type`; what has to be rounded down is warned about. In
// a range, sizes that rounding makes equal are kept once. Empty when neither is good or an error has been
// reported.
std::vector<std::uint64_t> read_sizes(const Node& item, ccl::DataType type, Diagnostics& diagnostics);

}  // namespace cnuas::scenarios
