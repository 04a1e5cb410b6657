#include "scenarios/source_text.h"

#include <algorithm>

namespace cnuas::scenarios {
namespace {

constexpr std::string_view kByteOrderMark = "\xEF\xBB\xBF";

bool continuation(char byte) {
  return (static_cast<unsigned char>(byte) & 0xC0) == 0x80;
}

// Bytes of the well-formed UTF-8 character that `text` begins with; 0 when there is none.
std::size_t character_length(std::string_view text) {
  const auto lead = static_cast<unsigned char>(text[0]);
  if (lead < 0x80) return 1;
  const std::size_t length = lead >= 0xF0 ? 4 : lead >= 0xE0 ? 3 : 2;
  if (lead < 0xC2 || lead > 0xF4 || text.size() < length) return 0;
  for (std::size_t i = 1; i < length; ++i)
    if (!continuation(text[i])) return 0;
  // Overlong forms, surrogates and code points above U+10FFFF show in the second byte.
  const auto second = static_cast<unsigned char>(text[1]);
  const bool wrong = (lead == 0xE0 && second < 0xA0) || (lead == 0xED && second > 0x9F) ||
                     (lead == 0xF0 && second < 0x90) || (lead == 0xF4 && second > 0x8F);
  return wrong ? 0 : length;
}

bool control(char byte) {
  const auto value = static_cast<unsigned char>(byte);
  return value < 0x20 || value == 0x7F;
}

std::string hex_byte(char byte) {
  constexpr std::string_view kDigits = "0123456789ABCDEF";
  const auto value = static_cast<unsigned char>(byte);
  return std::string("0x") + kDigits[value >> 4] + kDigits[value & 0xF];
}

}  // namespace

SourceText::SourceText(std::string_view bytes) : text_(bytes) {
  if (text_.substr(0, kByteOrderMark.size()) == kByteOrderMark) text_.remove_prefix(kByteOrderMark.size());
  starts_.push_back(0);
  for (std::size_t i = 0; i < text_.size(); ++i)
    if (text_[i] == '\n' && i + 1 < text_.size()) starts_.push_back(i + 1);
}

std::string_view SourceText::line(int number) const {
  if (number < 1 || number > lines()) return {};
  const std::size_t start = starts_[static_cast<std::size_t>(number) - 1];
  std::string_view result = text_.substr(start, text_.find('\n', start) - start);
  if (!result.empty() && result.back() == '\r') result.remove_suffix(1);
  return result;
}

std::size_t SourceText::offset(int line, int byte_column) const {
  if (line < 0 || line >= lines()) return text_.size();
  const std::size_t start = starts_[static_cast<std::size_t>(line)];
  return std::min(start + static_cast<std::size_t>(std::max(byte_column, 0)), text_.size());
}

int SourceText::line_number(std::size_t offset) const {
  return static_cast<int>(std::upper_bound(starts_.begin(), starts_.end(), offset) - starts_.begin());
}

std::optional<TextFault> SourceText::fault() const {
  const std::string_view mark = text_.substr(0, 2);
  if (mark == "\xFE\xFF" || mark == "\xFF\xFE")
    return TextFault{Place{}, "the file is UTF-16, and scenarios are UTF-8", "save it as UTF-8"};
  for (std::size_t i = 0; i < text_.size();) {
    const char byte = text_[i];
    if (byte == '\0')
      return TextFault{Place{i}, "NUL byte in the file", "a scenario is UTF-8 text; save it as such"};
    if (byte == '\r' && text_.substr(i + 1, 1) != "\n")
      return TextFault{Place{i}, "carriage return without a line feed", "end lines with LF or CR LF"};
    if (control(byte) && byte != '\t' && byte != '\n' && byte != '\r')
      return TextFault{Place{i}, "control character " + hex_byte(byte) + " in the file", "remove it"};
    const std::size_t length = character_length(text_.substr(i));
    if (length == 0)
      return TextFault{Place{i}, "byte " + hex_byte(byte) + " is not UTF-8", "save the file as UTF-8"};
    i += length;
  }
  return std::nullopt;
}

Position PositionFinder::find(const Place& place) {
  if (place.offset == Place::kWholeFile) return {};
  const int number = source_.line_number(place.offset);
  const std::size_t start = source_.line_start(number);
  const std::string_view whole = source_.line(number);
  const std::size_t offset = std::min(place.offset, start + whole.size());
  if (number != line_ || offset < offset_) {
    line_ = number;
    offset_ = start;
    characters_ = 0;
  }
  characters_ += count_characters(whole.substr(offset_ - start, offset - offset_));
  offset_ = offset;
  return Position{number, characters_ + 1,
                  std::max(1, count_characters(whole.substr(offset - start, place.bytes)))};
}

int count_characters(std::string_view utf8) {
  int count = 0;
  for (std::size_t i = 0; i < utf8.size(); ++count)
    i += std::max<std::size_t>(1, character_length(utf8.substr(i)));
  return count;
}

std::string printable(std::string_view text) {
  std::string result;
  for (std::size_t i = 0; i < text.size();) {
    const std::size_t length = character_length(text.substr(i));
    if (length == 0 || (control(text[i]) && text[i] != '\t'))
      result += '?';
    else
      result += text.substr(i, length);
    i += std::max<std::size_t>(1, length);
  }
  return result;
}

std::string quoted(std::string_view text) {
  constexpr int kMost = 60;
  std::size_t end = 0;
  for (int n = 0; n < kMost && end < text.size(); ++n)
    end += std::max<std::size_t>(1, character_length(text.substr(end)));
  std::string shown(text.substr(0, end));
  std::replace(shown.begin(), shown.end(), '\n', ' ');
  shown = printable(shown);
  std::replace(shown.begin(), shown.end(), '\t', ' ');
  return "'" + shown + (end < text.size() ? "...'" : "'");
}

}  // namespace cnuas::scenarios
