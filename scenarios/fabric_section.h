// From the `fabric` mapping to a Fabric.
#pragma once

#include "core/topology/fabric.h"
#include "scenarios/diagnostics.h"
#include "scenarios/document.h"

#include <optional>

namespace cnuas::scenarios {

// Precondition: check() has been over `fabric`. No fabric: an error has been reported, now or by check().
std::optional<Fabric> read_fabric(const Node& fabric, Diagnostics& diagnostics);

// --- Parts that both kinds of fabric have ---

// Precondition: a good node of a link, whether a preset's name or a mapping.
LinkProfile read_link(const Node& link);

// A switch with the settings of the fabric's `switch`, and without a name. `fabric` may have no `switch`, or
// one that is not good: the defaults then.
Switch read_switch(const Node& fabric, Diagnostics& diagnostics);
// Changes what a mapping says of a switch.
void change_switch(const Node& settings, Switch& changed);

// The fabric that switches and links describe one by one.
std::optional<Fabric> read_explicit_fabric(const Node& fabric, Diagnostics& diagnostics);

}  // namespace cnuas::scenarios
