// From YAML to a Scenario, with every error at its place.
#pragma once

#include "scenarios/scenario.h"

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace cnuas::scenarios {

enum class Severity { error, warning };

struct Diagnostic {
  Severity severity = Severity::error;
  std::string file;
  int line = 0;         // from 1; 0: concerns the file as a whole
  int column = 0;       // from 1
  std::string message;  // "unknown key 'latncy' in switch"
  std::string help;     // "a key with a similar name exists: 'latency'"; may be empty
  std::string source;   // the line itself, without its end
  int width = 1;        // columns the caret line marks
};

// "file:line:column: error: message", the source line, a caret line, "  help: ..."; ends with a newline.
std::string format(const Diagnostic& diagnostic);

struct LoadResult {
  std::optional<Scenario> scenario;     // present exactly when there is no error among the diagnostics
  std::vector<Diagnostic> diagnostics;  // in file order
};

// Never throws, whatever the bytes are. All errors are reported, not only the first.
LoadResult load_text(std::string_view yaml, const std::string& path = "<text>");

// As load_text; a file that cannot be read is io_error. At most 16 MiB.
struct FileResult {
  LoadResult load;
  std::string io_error;  // "cannot open 'x.yaml': No such file or directory"; empty when the file was read
};
FileResult load_file(const std::string& path);

}  // namespace cnuas::scenarios
