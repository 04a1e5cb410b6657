#include "scenarios/similar.h"

#include <algorithm>
#include <vector>

namespace cnuas::scenarios {
namespace {

constexpr std::size_t kLongestName = 64;

char folded(char c) {
  if (c >= 'A' && c <= 'Z') return static_cast<char>(c - 'A' + 'a');
  return c == '-' || c == ' ' ? '_' : c;
}

// Optimal string alignment distance.
std::size_t distance(std::string_view a, std::string_view b) {
  const std::size_t columns = b.size() + 1;
  std::vector<std::size_t> table((a.size() + 1) * columns);
  const auto at = [&](std::size_t i, std::size_t j) -> std::size_t& { return table[i * columns + j]; };
  for (std::size_t i = 0; i <= a.size(); ++i)
    at(i, 0) = i;
  for (std::size_t j = 0; j <= b.size(); ++j)
    at(0, j) = j;
  for (std::size_t i = 1; i <= a.size(); ++i) {
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const bool equal = folded(a[i - 1]) == folded(b[j - 1]);
      at(i, j) = std::min({at(i - 1, j) + 1, at(i, j - 1) + 1, at(i - 1, j - 1) + (equal ? 0 : 1)});
      const bool swapped =
          i > 1 && j > 1 && folded(a[i - 1]) == folded(b[j - 2]) && folded(a[i - 2]) == folded(b[j - 1]);
      if (swapped) at(i, j) = std::min(at(i, j), at(i - 2, j - 2) + 1);
    }
  }
  return at(a.size(), b.size());
}

}  // namespace

std::optional<std::string_view> most_similar(std::string_view text,
                                             std::span<const std::string_view> candidates) {
  if (text.empty() || text.size() > kLongestName) return std::nullopt;
  std::optional<std::string_view> best;
  std::size_t least = kLongestName;
  for (std::string_view candidate : candidates) {
    if (candidate.size() > kLongestName) continue;
    const std::size_t edits = distance(text, candidate);
    const std::size_t allowed = std::max<std::size_t>(1, std::max(text.size(), candidate.size()) / 3);
    if (edits <= allowed && edits < least && edits < std::max(text.size(), candidate.size())) {
      best = candidate;
      least = edits;
    }
  }
  return best;
}

std::string listing(std::span<const std::string_view> names, std::string_view conjunction) {
  std::string text;
  for (std::size_t i = 0; i < names.size(); ++i) {
    if (i > 0) text += i + 1 == names.size() ? " " + std::string(conjunction) + " " : ", ";
    text += names[i];
  }
  return text;
}

}  // namespace cnuas::scenarios
