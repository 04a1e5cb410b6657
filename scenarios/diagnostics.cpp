#include "scenarios/diagnostics.h"

#include <algorithm>
#include <utility>

namespace cnuas::scenarios {
namespace {

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
  if (list_.size() < kMost)
    list_.push_back(Pending{severity, place, std::move(message), std::move(help)});
  else
    ++left_out_;
}

std::vector<Diagnostic> Diagnostics::take() {
  // What concerns the whole file comes first: + 1 makes its offset 0.
  std::stable_sort(list_.begin(), list_.end(), [](const Pending& a, const Pending& b) {
    return a.place.offset + 1 < b.place.offset + 1;
  });
  const auto same = [](const Pending& a, const Pending& b) {
    return a.place.offset == b.place.offset && a.severity == b.severity && a.message == b.message;
  };
  list_.erase(std::unique(list_.begin(), list_.end(), same), list_.end());
  PositionFinder finder(source_);
  std::vector<Diagnostic> result;
  for (Pending& each : list_)
    result.push_back(
        finished(each.severity, finder.find(each.place), std::move(each.message), std::move(each.help)));
  if (left_out_ > 0)
    result.push_back(finished(has_errors() ? Severity::error : Severity::warning, {},
                              std::to_string(left_out_) + " more problems are not shown", {}));
  return result;
}

Diagnostic Diagnostics::finished(Severity severity, const Position& at, std::string message,
                                 std::string help) const {
  Diagnostic diagnostic{severity, file_, at.line, at.column, std::move(message), std::move(help), {}, 1};
  // A caret a thousand columns to the right helps nobody, and the line could be as long as the file.
  if (static_cast<std::size_t>(at.column) > kLongestLine) return diagnostic;
  diagnostic.source = printable(source_.line(at.line).substr(0, kLongestLine));
  const int room = count_characters(diagnostic.source) - at.column + 1;
  diagnostic.width = std::max(1, std::min(at.width, room));
  return diagnostic;
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
