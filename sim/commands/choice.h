// Options that take one of a few words: shown, checked and refused the same way in every command.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include <CLI/CLI.hpp>

namespace cnuas::sim {

// Words and what each stands for, in the order in which help shows them.
template <class T>
using Choices = std::vector<std::pair<std::string, T>>;

// Adds an option that stores in `value` what the given word stands for. `value` is the default until then,
// must be among the choices and must live as long as `command`. Help shows the words as
// "table|json|csv" and names the default; any other word is a usage error that names them all.
template <class T>
void add_choice(CLI::App& command, const std::string& names, T& value, const Choices<T>& choices,
                const std::string& about) {
  std::string words;
  std::string by_default;
  for (const auto& [word, meaning] : choices) {
    words += (words.empty() ? "" : "|") + word;
    if (meaning == value) by_default = word;
  }
  // Null: none of the words.
  const auto find = [choices](const std::string& given) -> const T* {
    for (const auto& [word, meaning] : choices)
      if (word == given) return &meaning;
    return nullptr;
  };
  command
      .add_option_function<std::string>(
          names, [&value, find](const std::string& given) { value = *find(given); },
          about + " (default: " + by_default + ")")
      ->check([find, words](const std::string& given) {
        return find(given) ? std::string() : "'" + given + "' is not one of " + words;
      })
      ->type_name(words);
}

// --format for commands that print a table or one JSON document.
inline void add_table_or_json(CLI::App& command, bool& json) {
  add_choice(command, "--format", json, {{"table", false}, {"json", true}}, "How it is printed");
}

}  // namespace cnuas::sim
