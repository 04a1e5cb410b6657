#include "live/management/request_lines.h"

#include <utility>

namespace cnuas::live {

void RequestLines::append(std::string_view bytes) {
  bytes_.append(bytes);
  if (!ready()) look();
}

void RequestLines::end() {
  ended_ = true;
  if (!ready()) look();
}

// Finds out what is first in bytes_. Precondition: !ready().
void RequestLines::look() {
  std::size_t newline = bytes_.find('\n', searched_);
  if (passing_over_) {
    if (newline == std::string::npos) {
      bytes_.clear();
      return;
    }
    passing_over_ = false;
    bytes_.erase(0, newline + 1);
    newline = bytes_.find('\n');
  }
  const std::size_t length = newline == std::string::npos ? bytes_.size() : newline;
  if (length > longest_) {
    too_long_ = true;
    passing_over_ = newline == std::string::npos;
    bytes_.erase(0, passing_over_ ? length : length + 1);
    searched_ = 0;
  } else if (newline != std::string::npos || (ended_ && !bytes_.empty())) {
    line_bytes_ = length;
  } else {
    searched_ = length;
  }
}

std::optional<RequestLines::Line> RequestLines::next() {
  if (!ready()) return std::nullopt;
  Line line;
  line.too_long = std::exchange(too_long_, false);
  if (!line.too_long) {
    line.text = bytes_.substr(0, *line_bytes_);
    bytes_.erase(0, *line_bytes_ + 1);  // with the newline, where there is one
    searched_ = 0;
    line_bytes_.reset();
  }
  if (bytes_.empty()) bytes_.shrink_to_fit();  // most clients are idle most of the time
  look();
  return line;
}

}  // namespace cnuas::live
