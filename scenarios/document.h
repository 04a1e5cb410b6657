// A YAML document as a tree in which every node knows its place.
#pragma once

#include "scenarios/diagnostics.h"
#include "scenarios/source_text.h"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace cnuas::scenarios {

struct Entry;

struct Node {
  enum class Kind : std::uint8_t { null, scalar, list, mapping };

  Kind kind = Kind::null;
  Place place;
  std::string text;  // of a scalar
  bool in_quotes = false;
  std::vector<Node> items;     // of a list
  std::vector<Entry> entries;  // of a mapping, in file order, keys unique

  bool incomplete = false;  // of a mapping: something of it was refused and left out

  // Filled in by check(): whether this and all below it are what the grammar asks for, and the value of a
  // scalar: picoseconds, bytes, bytes a second, an integer, 0 or 1, a GPU ID; or a fraction.
  bool good = false;
  std::int64_t number = 0;
  double fraction = 0;

  // The value of a key, if it is there; get: and only if it is good as well.
  const Node* find(std::string_view key) const;
  const Node* get(std::string_view key) const;
  bool has(std::string_view key) const { return find(key) != nullptr; }
  // Place of the key, or of the mapping itself when there is no such key.
  const Place& key_place(std::string_view key) const;
};

struct Entry {
  std::string key;
  Place key_place;
  Node value;
};

inline constexpr std::size_t kMostNodes = 500'000;  // after aliases are replaced by what they stand for
inline constexpr std::size_t kMostKeys = 1000;      // of one mapping; the longest known one has some ten
inline constexpr std::size_t kDeepest = 32;

// The single document in `source`. Reported as errors, and then there may be no document: YAML syntax errors
// (only the first can be told), duplicate keys, keys that are not text, tags, merge keys, several documents,
// a quote that is never closed, an alias inside what it stands for, too many or too deeply nested nodes, an
// empty file.
std::optional<Node> read_document(const SourceText& source, Diagnostics& diagnostics);

}  // namespace cnuas::scenarios
