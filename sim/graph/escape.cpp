#include "sim/graph/escape.h"

#include "scenarios/source_text.h"

#include <algorithm>

#include <fmt/format.h>

namespace cnuas::sim {

namespace {

// UTF-8 on one line, without what XML 1.0 cannot hold in any form: control characters, U+FFFE and U+FFFF.
std::string one_line(std::string_view text) {
  std::string line = scenarios::printable(text);
  for (char& c : line)
    if (c == '\t') c = ' ';
  for (const std::string_view forbidden : {"\xEF\xBF\xBE", "\xEF\xBF\xBF"}) {
    for (std::size_t at = line.find(forbidden); at != std::string::npos; at = line.find(forbidden, at))
      line.replace(at, forbidden.size(), "?");
  }
  return line;
}

bool plain(char c) {
  return (c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') || c == ' ' ||
         static_cast<unsigned char>(c) >= 0x80;
}

}  // namespace

std::string xml_text(std::string_view text) {
  std::string out;
  for (const char c : one_line(text)) {
    switch (c) {
      case '&':
        out += "&amp;";
        break;
      case '<':
        out += "&lt;";
        break;
      case '>':
        out += "&gt;";
        break;
      case '"':
        out += "&quot;";
        break;
      default:
        out += c;
    }
  }
  return out;
}

std::string dot_string(std::string_view text) {
  std::string out = "\"";
  for (std::size_t begin = 0; begin <= text.size();) {
    const std::size_t end = std::min(text.find('\n', begin), text.size());
    if (begin > 0) out += "\\n";
    for (const char c : one_line(text.substr(begin, end - begin))) {
      // Graphviz reads HTML entities in plain labels too.
      if (c == '&') {
        out += "&amp;";
      } else {
        if (c == '"' || c == '\\') out += '\\';
        out += c;
      }
    }
    begin = end + 1;
  }
  return out + '"';
}

std::string mermaid_text(std::string_view text) {
  std::string out;
  for (const char c : one_line(text))
    out += plain(c) ? std::string(1, c) : fmt::format("#{};", static_cast<int>(c));
  return out;
}

std::string yaml_string(std::string_view text) {
  std::string out = "\"";
  for (const char c : one_line(text)) {
    if (c == '"' || c == '\\') out += '\\';
    out += c;
  }
  return out + '"';
}

}  // namespace cnuas::sim
