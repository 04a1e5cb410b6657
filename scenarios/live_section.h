// From the `live` mapping to what switch daemons need to know beside the fabric.
#pragma once

#include "scenarios/document.h"
#include "scenarios/scenario.h"

namespace cnuas::scenarios {

// Of the whole file, over which check() has been; the defaults for what is not there or not good.
LiveSettings read_live(const Node& scenario);

}  // namespace cnuas::scenarios
