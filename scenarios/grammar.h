// The one table of what a scenario file may say. The check of a document, the messages about it and the JSON
// Schema are all made from it.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

namespace cnuas::scenarios {

struct Form;

// A key of a mapping.
struct Field {
  std::string_view key = {};
  const Form* form = nullptr;
  bool required = false;
  std::string_view description = {};  // a sentence or two with full stops: the schema's, shown by editors
  bool no_effect = false;             // a setting that changes nothing in this version, and is warned about
};

// A key that is known and cannot be used where it stands: the error, instead of "unknown key". Not in the
// schema.
struct Refusal {
  std::string_view key = {};
  std::string_view message = {};
  std::string_view help = {};
};

// A word that is known and not available. With an empty message the check lets it pass, and the reader of the
// section, who knows more, refuses it.
struct UnavailableWord {
  std::string_view word = {};
  std::string_view message = {};
};

// Two keys for one thing.
struct Alternative {
  std::string_view one;
  std::string_view other;
  bool required = false;  // exactly one of them; otherwise at most one
};

// One of the forms that a choice has. Among several forms for the same YAML kind: a mapping is of the first
// case whose key it has (with that value, if there is one; a case without a key takes any); a plain whole
// number is of the integer case; a word is of the word case, which has to stand before the other; any other
// scalar is of the other one.
struct Case {
  const Form* form = nullptr;
  std::string_view key = {};
  std::string_view value = {};
};

enum class Kind : std::uint8_t {
  text,         // one line
  word,         // one of `words`
  integer,      // least..most
  fraction,     // above 0, at most 1
  share,        // 1/2 or 0.5; above 0, below 1
  probability,  // 1e-9 or 0.001; above 0, below 0.01
  boolean,
  time,  // least.. in picoseconds, bytes, bytes a second
  size,
  rate,
  gpu,      // rack/slot, or "0x0103" in quotes
  list,     // of `element`, least..most of them
  mapping,  // of `fields`
  choice,   // of `cases`
};

struct Form {
  Kind kind = Kind::text;
  std::string_view name = {};  // of a mapping, or a choice of mappings by key: "switch", as in "unknown key
                               // 'latncy' in switch"; unique
  std::string_view what = {};  // "a time such as 350 ns", for messages
  std::int64_t least = 0;
  std::int64_t most = 0;
  std::span<const std::string_view> words = {};
  std::span<const UnavailableWord> unavailable = {};
  const Form* element = nullptr;
  std::span<const Field> fields = {};
  std::span<const Refusal> refused = {};
  std::span<const Alternative> alternatives = {};
  std::span<const Case> cases = {};
};

// The whole file.
const Form& scenario_form();

}  // namespace cnuas::scenarios
