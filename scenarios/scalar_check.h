// Holds one scalar against its form, with the surprises of YAML's implicit types in mind.
#pragma once

#include "scenarios/diagnostics.h"
#include "scenarios/document.h"
#include "scenarios/grammar.h"

#include <string>

namespace cnuas::scenarios {

// A scalar without quotes that consists of digits, perhaps with a sign.
bool integer_like(const Node& scalar);

// Reports an error, or fills in number or fraction. Precondition: a scalar, and a form that is not a list,
// mapping or choice. `subject` names the value in messages: "'racks'"; `alternatives` is what a choice takes
// that the form is a case of, or empty.
void check_scalar(Node& scalar, const Form& form, const std::string& subject, std::string_view alternatives,
                  Diagnostics& diagnostics);

}  // namespace cnuas::scenarios
