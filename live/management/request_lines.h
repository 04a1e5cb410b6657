// Cuts the bytes of a stream into lines of bounded length.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

namespace cnuas::live {

class RequestLines {
 public:
  explicit RequestLines(std::size_t longest) : longest_(longest) {}

  // Takes bytes as they came, cut anywhere.
  void append(std::string_view bytes);
  // No more will come: what is left is a line although its newline is missing.
  void end();

  struct Line {
    bool too_long = false;  // more than `longest` bytes; said once, and the rest of the line is passed over
    std::string text;       // without its newline; empty when it is too long
  };
  // Whether next() has a line to give.
  bool ready() const { return line_bytes_.has_value() || too_long_; }
  std::optional<Line> next();

  // What is kept: never more than `longest` and what was appended while ready().
  std::size_t kept_bytes() const { return bytes_.size(); }

 private:
  void look();

  std::size_t longest_;
  std::string bytes_;         // that belong to no line given yet
  std::size_t searched_ = 0;  // how many of them hold no newline
  std::optional<std::size_t> line_bytes_;
  bool too_long_ = false;
  bool passing_over_ = false;
  bool ended_ = false;
};

}  // namespace cnuas::live
