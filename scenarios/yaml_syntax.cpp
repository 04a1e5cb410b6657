#include "scenarios/yaml_syntax.h"

#include <algorithm>
#include <array>

namespace cnuas::scenarios {
namespace {

constexpr std::string_view kBlank = " \t\r\n";

bool all_of(std::string_view text, std::string_view set) {
  return text.find_first_not_of(set) == std::string_view::npos;
}

bool any_of(std::string_view text, std::string_view set) {
  return text.find_first_of(set) != std::string_view::npos;
}

// Both quotes escape themselves differently: '' in one, \" in the other.
std::size_t closing_quote(std::string_view text, std::size_t offset) {
  const char quote = text[offset];
  for (std::size_t i = offset + 1; i < text.size(); ++i) {
    if (quote == '"' && text[i] == '\\') {
      ++i;
    } else if (text[i] == quote) {
      const bool doubled = quote == '\'' && i + 1 < text.size() && text[i + 1] == quote;
      if (!doubled) return i;
      ++i;
    }
  }
  return std::string_view::npos;
}

// 12, +1_000, 0x1F, 0o17, 0b1, 1.5, 1e3, 1:30 (base 60 in YAML 1.1), .inf, .nan
bool number_like(std::string_view text) {
  if (!text.empty() && (text[0] == '+' || text[0] == '-')) text.remove_prefix(1);
  if (text == ".inf" || text == ".Inf" || text == ".INF" || text == ".nan" || text == ".NaN" ||
      text == ".NAN")
    return true;
  const auto digits = [](std::string_view part, std::string_view set) {
    return !part.empty() && all_of(part, set);
  };
  if (text.starts_with("0x")) return digits(text.substr(2), "0123456789abcdefABCDEF_");
  if (text.starts_with("0o")) return digits(text.substr(2), "01234567_");
  if (text.starts_with("0b")) return digits(text.substr(2), "01_");
  const std::size_t e = text.find_first_of("eE");
  if (e != std::string_view::npos) {
    std::string_view exponent = text.substr(e + 1);
    if (!exponent.empty() && (exponent[0] == '+' || exponent[0] == '-')) exponent.remove_prefix(1);
    if (!digits(exponent, "0123456789")) return false;
    text = text.substr(0, e);
  }
  if (std::count(text.begin(), text.end(), '.') > 1 || !any_of(text, "0123456789")) return false;
  const bool begins_like_one = text[0] == '.' || (text[0] >= '0' && text[0] <= '9');
  return begins_like_one && digits(text, "0123456789_.:") && text.back() != ':';
}

bool date_like(std::string_view text) {
  if (text.size() < 8 || text[4] != '-') return false;
  return all_of(text.substr(0, 4), "0123456789") && text[5] >= '0' && text[5] <= '9' &&
         text.find('-', 5) != std::string_view::npos && all_of(text, "0123456789-:.TtZz +");
}

struct KnownSyntaxError {
  std::string_view yaml;
  std::string_view message;
  std::string_view help;
  bool about_bracket = false;
};
constexpr KnownSyntaxError kSyntaxErrors[] = {
    {"illegal map value", "a ':' cannot stand here",
     "put a text with ': ' in it in quotes; indent the keys of one mapping alike"},
    {"illegal map key", "a key cannot stand here",
     "begin it on a line of its own, indented like its neighbours"},
    {"illegal block entry", "a '-' cannot stand here",
     "begin it on a line of its own, indented like its neighbours"},
    {"end of map not found", "a key, or the end of the mapping, was expected here",
     "indent the keys of one mapping alike, and write 'key: value'"},
    {"end of sequence not found", "a '-', or the end of the list, was expected here",
     "indent the '- ' of one list alike"},
    {"end of map flow not found", "a ',' or the closing '}' is missing in the mapping that begins here", "",
     true},
    {"end of sequence flow not found", "a ',' or the closing ']' is missing in the list that begins here", "",
     true},
    {"illegal flow end", "this bracket does not close the one that is open",
     "a '[' is closed with ']', a '{' with '}'"},
    {"illegal tab when looking for indentation", "a tab in the indentation", "YAML is indented with spaces"},
    {"illegal EOF in scalar", "the file ends inside a text in quotes", "close the quote"},
    {"the referenced anchor is not defined", "the alias has no anchor of its name before it",
     "define it first, as in '&name value', or write the value out"},
    {"illegal character in scalar", "this character cannot stand here", "put the text in quotes"},
    {"unknown token", "this character cannot begin a value", "put the text in quotes"},
    {"unexpected character in block scalar", "a block text ('|' or '>') begins on the next line",
     "move the text one line down"},
    {"illegal document indicator in scalar", "'---' or '...' inside a text", "close the quote before it"},
    {"YAML major version too large", "this version of YAML is not supported", "remove the line"},
};

}  // namespace

std::size_t skip_properties(std::string_view text, std::size_t offset) {
  std::size_t at = offset;
  while (at < text.size() && (text[at] == '&' || text[at] == '!')) {
    at = std::min(text.find_first_of(kBlank, at), text.size());
    at = std::min(text.find_first_not_of(kBlank, at), text.size());
  }
  return at < text.size() ? at : offset;
}

ScalarExtent scalar_extent(std::string_view text, std::size_t offset, std::string_view value) {
  if (offset >= text.size()) return {};
  const char first = text[offset];
  if (first == '"' || first == '\'') {
    const std::size_t end = closing_quote(text, offset);
    if (end == std::string_view::npos) return {1, true, false};
    const std::string_view whole = text.substr(offset, end + 1 - offset);
    return {std::min(whole.find_first_of("\r\n"), whole.size()), true, true};
  }
  if (first == '|' || first == '>') return {1, true, true};
  // A plain scalar is in the source as it is in the value, except that it may go on over several lines.
  const std::string_view whole = text.substr(offset, value.size());
  const auto differs = std::mismatch(whole.begin(), whole.end(), value.begin()).first;
  const std::size_t bytes =
      std::min(static_cast<std::size_t>(differs - whole.begin()), whole.find_first_of("\r\n"));
  return {std::max<std::size_t>(bytes, 1), false, true};
}

std::size_t word_length(std::string_view text) {
  return std::min(text.find_first_of(" \t\r\n,]}"), text.size());
}

std::string_view implicit_type(std::string_view plain) {
  constexpr std::array<std::string_view, 18> kBooleans = {"true", "True", "TRUE", "false", "False", "FALSE",
                                                          "yes",  "Yes",  "YES",  "no",    "No",    "NO",
                                                          "on",   "On",   "ON",   "off",   "Off",   "OFF"};
  if (std::find(kBooleans.begin(), kBooleans.end(), plain) != kBooleans.end()) return "a boolean";
  if (number_like(plain)) return "a number";
  return date_like(plain) ? "a date" : "";
}

SyntaxMessage explain_syntax(const std::string& yaml_message) {
  for (const KnownSyntaxError& known : kSyntaxErrors)
    if (yaml_message == known.yaml)
      return {std::string(known.message), std::string(known.help), known.about_bracket};
  return {"YAML syntax error: " + yaml_message, "", false};
}

}  // namespace cnuas::scenarios
