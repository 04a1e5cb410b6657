// Holds a document against the grammar: form only, nothing that needs two settings or the fabric.
#pragma once

#include "scenarios/diagnostics.h"
#include "scenarios/document.h"
#include "scenarios/grammar.h"

namespace cnuas::scenarios {

// Reports every unknown, refused or missing key and every value that is not of its form, and fills in `good`
// and the values of all nodes.
void check(Node& root, const Form& form, Diagnostics& diagnostics);

}  // namespace cnuas::scenarios
