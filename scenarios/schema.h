// The JSON Schema (draft-07) of scenario files, generated from the loader's own field table.
#pragma once

#include <string>

namespace cnuas::scenarios {

// Pretty-printed JSON, ending with a newline.
std::string json_schema();

}  // namespace cnuas::scenarios
