// Untrusted text inside the three formats that fabrics are drawn in. Control characters and broken UTF-8
// become '?' in all of them.
#pragma once

#include <string>
#include <string_view>

namespace cnuas::sim {

// For an element's text or an attribute in double quotes, XML 1.0.
std::string xml_text(std::string_view text);

// A string in double quotes, shown by Graphviz as it is. "\n" is a line break and nothing else is special.
std::string dot_string(std::string_view text);

// For the inside of a label in double quotes; all that is not a letter, a digit or a blank is written as its
// code, as Mermaid looks for its own syntax in labels too.
std::string mermaid_text(std::string_view text);

// For the front matter of a Mermaid document: a string in double quotes as YAML reads it.
std::string yaml_string(std::string_view text);

}  // namespace cnuas::sim
