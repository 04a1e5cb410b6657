// From YAML to a Script, with every error at its place.
#pragma once

#include "scenarios/loader.h"
#include "tests/equivalence/script.h"

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace cnuas::equivalence {

struct ReadScript {
  std::optional<Script> script;                    // present exactly when nothing is wrong
  std::vector<scenarios::Diagnostic> diagnostics;  // of the script, or of the fabric's file
  std::string io_error;  // of either file: "cannot open 'x.yaml': No such file or directory"; empty when read
};

// `path` also says where the fabric is looked for. A script is checked whole: a GPU that sends is connected
// by then, one that stops reading reads before, and so on.
ReadScript read_script(std::string_view yaml, const std::string& path);
ReadScript read_script_file(const std::string& path);

// Why this harness cannot run such a fabric; empty when it can.
std::string why_not(const Fabric& fabric);

}  // namespace cnuas::equivalence
