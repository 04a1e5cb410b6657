// "Did you mean": the known name nearest to one that is not known.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace cnuas::scenarios {

// The candidate that fewest edits (insert, delete, replace, swap neighbours) turn `text` into, upper and
// lower case and '-' and '_' alike; the first among equals. None when even that takes more than a third of
// its letters.
std::optional<std::string_view> most_similar(std::string_view text,
                                             std::span<const std::string_view> candidates);

// "a", "a or b", "a, b or c"
std::string listing(std::span<const std::string_view> names, std::string_view conjunction = "or");

}  // namespace cnuas::scenarios
