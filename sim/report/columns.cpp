#include "sim/report/columns.h"

#include "scenarios/source_text.h"

#include <algorithm>

namespace cnuas::sim {

namespace {

std::size_t width_of(std::string_view text) {
  return static_cast<std::size_t>(scenarios::count_characters(text));
}

std::string line(std::string start, const std::vector<Column>& columns, const std::vector<std::string>& cells,
                 const std::vector<std::size_t>& widths) {
  for (std::size_t i = 0; i < columns.size(); ++i) {
    const std::string fill(widths[i] - width_of(cells[i]), ' ');
    start += "  ";
    start += columns[i].left ? cells[i] + fill : fill + cells[i];
  }
  start.erase(start.find_last_not_of(' ') + 1);
  return start + "\n";
}

}  // namespace

std::string in_columns(const std::vector<Column>& columns,
                       const std::vector<std::vector<std::string>>& rows) {
  std::vector<std::string> headings;
  std::vector<std::size_t> widths;
  for (const Column& column : columns) {
    headings.emplace_back(column.heading);
    widths.push_back(width_of(column.heading));
  }
  std::vector<std::vector<std::string>> body = rows;
  for (auto& row : body) {
    for (std::size_t i = 0; i < columns.size(); ++i) {
      row[i] = scenarios::printable(row[i]);
      widths[i] = std::max(widths[i], width_of(row[i]));
    }
  }
  std::string out = line("#", columns, headings, widths);
  for (const auto& row : body)
    out += line(" ", columns, row, widths);
  return out;
}

}  // namespace cnuas::sim
