// Text in columns that line up.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace cnuas::sim {

struct Column {
  std::string_view heading;
  bool left = false;  // aligned to the left, for words; numbers go to the right
};

// A line of headings that begins with '#', then a line a row; nothing at the ends of lines. Cells may hold
// any text: what a terminal would take for a command becomes '?'. Precondition: every row has a cell for each
// column.
std::string in_columns(const std::vector<Column>& columns, const std::vector<std::vector<std::string>>& rows);

}  // namespace cnuas::sim
