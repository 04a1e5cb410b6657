#include "scenarios/diagnostics.h"

#include <algorithm>
#include <tuple>
#include <utility>

namespace cnuas::scenarios {
namespace {

auto order(const Diagnostic& d) {
  return std::tie(d.line, d.column);
}

bool same(const Diagnostic& a, const Diagnostic& b) {
  return order(a) == order(b) && a.severity == b.severity && a.message == b.message;
}

// Blanks up to the caret, tabs kept, so that both lines are indented alike at any tab width.
std::string caret_line(const Diagnostic& diagnostic) {
  std::string line;
  std::size_t column = 1;
  for (char byte : diagnostic.source) {
    if (column >= static_cast<std::size_t>(diagnostic.column)) break;
    const bool inside_character = (static_cast<unsigned char>(byte) & 0xC0) == 0x80;
    if (inside_character) continue;
    line += byte == '\t' ? '\t' : ' ';
    ++column;
  }
  line.append(static_cast<std::size_t>(diagnostic.column) - column, ' ');  // past the end of the line
  line += '^';
  line.append(static_cast<std::size_t>(std::max(diagnostic.width, 1)) - 1, '~');
  return line;
}

}  // namespace

void Diagnostics::error(const Place& place, std::string message, std::string help) {
  ++errors_;
  add(Severity::error, place, std::move(message), std::move(help));
}

void Diagnostics::warning(const Place& place, std::string message, std::string help) {
  add(Severity::warning, place, std::move(message), std::move(help));
}

void Diagnostics::add(Severity severity, const Place& place, std::string message, std::string help) {
  if (list_.size() >= kMost) {
    ++left_out_;
    return;
  }
  Diagnostic diagnostic{severity,           file_,           place.line, place.column,
                        std::move(message), std::move(help), {},         1};
  const std::string_view line = source_.line(place.line);
  // A caret a thousand columns to the right helps nobody, and the line could be as long as the file.
  if (static_cast<std::size_t>(place.column) <= kLongestLine) {
    diagnostic.source = printable(line.substr(0, kLongestLine));
    const int room = count_characters(diagnostic.source) - place.column + 1;
    diagnostic.width = std::max(1, std::min(place.width, room));
  }
  list_.push_back(std::move(diagnostic));
}

std::vector<Diagnostic> Diagnostics::take() {
  std::stable_sort(list_.begin(), list_.end(),
                   [](const Diagnostic& a, const Diagnostic& b) { return order(a) < order(b); });
  list_.erase(std::unique(list_.begin(), list_.end(), same), list_.end());
  if (left_out_ > 0) {
    Diagnostic rest;
    rest.file = file_;
    rest.severity = has_errors() ? Severity::error : Severity::warning;
    rest.message = std::to_string(left_out_) + " more problems are not shown";
    list_.push_back(std::move(rest));
  }
  return std::move(list_);
}

std::string format(const Diagnostic& diagnostic) {
  std::string text = printable(diagnostic.file);
  if (diagnostic.line > 0) {
    text += ':' + std::to_string(diagnostic.line);
    text += ':' + std::to_string(diagnostic.column);
  }
  text += diagnostic.severity == Severity::error ? ": error: " : ": warning: ";
  text += diagnostic.message + "\n";
  if (!diagnostic.source.empty() && diagnostic.column > 0)
    text += diagnostic.source + "\n" + caret_line(diagnostic) + "\n";
  if (!diagnostic.help.empty()) text += "  help: " + diagnostic.help + "\n";
  return text;
}

}  // namespace cnuas::scenarios
