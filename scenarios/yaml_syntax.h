// What YAML means by plain text: extents of scalars in the source, implicit types, and its syntax errors in
// words.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace cnuas::scenarios {

// How far a scalar reaches on its first line.
struct ScalarExtent {
  std::size_t bytes = 0;
  bool in_quotes = false;  // also a block scalar: in any case never a number or a boolean
  bool closed = true;      // false: the file ends before the closing quote (yaml-cpp does not mind)
};

// Offset of a node's own text after its tag and anchor.
std::size_t skip_properties(std::string_view text, std::size_t offset);
ScalarExtent scalar_extent(std::string_view text, std::size_t offset, std::string_view value);

// Bytes up to the next blank, end of line, comma or bracket.
std::size_t word_length(std::string_view text);

// "a boolean", "a number", "a date": what a YAML reader, by version 1.1 or 1.2, makes of the text when it
// stands without quotes. Empty: text.
std::string_view implicit_type(std::string_view plain);

struct SyntaxMessage {
  std::string message;
  std::string help;
  bool about_bracket = false;  // belongs where the innermost list or mapping begins
};
// yaml-cpp's message, in terms of the file.
SyntaxMessage explain_syntax(const std::string& yaml_message);

}  // namespace cnuas::scenarios
