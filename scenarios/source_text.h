// The bytes of a scenario file: its lines, and whether they are text at all.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace cnuas::scenarios {

// A span of bytes of the text. Lines and columns are worked out only for what is reported: a file may be one
// line of many thousand values.
struct Place {
  static constexpr std::size_t kWholeFile = static_cast<std::size_t>(-1);
  std::size_t offset = kWholeFile;
  std::size_t bytes = 1;
};

// What readers call it: lines and columns count from 1, columns in characters rather than bytes. Line 0: the
// file as a whole.
struct Position {
  int line = 0;
  int column = 0;
  int width = 1;  // in characters, to the end of the line at most
};

// What is wrong with bytes that cannot be text, in the words of a diagnostic.
struct TextFault {
  Place place;
  std::string message;
  std::string help;
};

// A view of UTF-8 text in lines; a leading byte order mark is left out. The bytes must outlive it.
class SourceText {
 public:
  explicit SourceText(std::string_view bytes);

  std::string_view text() const { return text_; }
  int lines() const { return static_cast<int>(starts_.size()); }

  // Without its end of line; empty when there is no such line.
  std::string_view line(int number) const;

  // The line that an offset into text() is in, and where a line begins.
  int line_number(std::size_t offset) const;
  std::size_t line_start(int number) const { return starts_[static_cast<std::size_t>(number) - 1]; }

  // Offset into text() of a line's `byte_column`-th byte, both counted from 0 as yaml-cpp does; cut to the
  // text.
  std::size_t offset(int line, int byte_column) const;

  // The first byte that keeps this from being read as YAML text: NUL and other control characters, bytes that
  // are not UTF-8, UTF-16. YAML readers stop silently at some of them.
  std::optional<TextFault> fault() const;

 private:
  std::string_view text_;
  std::vector<std::size_t> starts_;  // offset of each line
};

// Turns places into positions, in one pass over the text when they come in ascending order.
class PositionFinder {
 public:
  explicit PositionFinder(const SourceText& source) : source_(source) {}  // must outlive it
  Position find(const Place& place);

 private:
  const SourceText& source_;
  int line_ = 0;            // of the place found last
  std::size_t offset_ = 0;  // up to which its line has been counted
  int characters_ = 0;
};

// Number of characters in UTF-8 text; a byte that is not part of one counts as one.
int count_characters(std::string_view utf8);

// Printable on a terminal: control characters and broken UTF-8 become '?', a tab stays.
std::string printable(std::string_view text);

// As printable, in single quotes, cut to 60 characters with "..."; for naming a user's text in a message.
std::string quoted(std::string_view text);

}  // namespace cnuas::scenarios
