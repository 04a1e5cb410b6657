#include "scenarios/check.h"

#include "scenarios/scalar_check.h"
#include "scenarios/similar.h"

#include <algorithm>
#include <optional>
#include <vector>

namespace cnuas::scenarios {
namespace {

std::vector<std::string_view> keys_of(const Form& mapping) {
  std::vector<std::string_view> keys;
  for (const Field& field : mapping.fields)
    keys.push_back(field.key);
  return keys;
}

// "in switch"
std::string in(const Form& mapping) {
  return " in " + std::string(mapping.name);
}

bool fits(const Form& form, Node::Kind kind) {
  if (form.kind == Kind::list) return kind == Node::Kind::list;
  if (form.kind == Kind::mapping) return kind == Node::Kind::mapping;
  return kind == Node::Kind::scalar;
}

bool is_scalar(const Form& form) {
  return fits(form, Node::Kind::scalar);
}

bool has_word(const Form& form, std::string_view text) {
  return std::find(form.words.begin(), form.words.end(), text) != form.words.end();
}

// Whether a scalar is for another case than this one, which takes scalars too.
bool left_to_others(const Form& choice, const Case& option, const Node& scalar) {
  if (option.form->kind == Kind::integer) return !integer_like(scalar);
  if (option.form->kind != Kind::word || has_word(*option.form, scalar.text)) return false;
  return std::any_of(choice.cases.begin(), choice.cases.end(),
                     [&](const Case& other) { return &other > &option && is_scalar(*other.form); });
}

// The case of a choice that a node is of, or nullptr.
const Form* pick(const Form& choice, const Node& node) {
  for (const Case& option : choice.cases) {
    if (!fits(*option.form, node.kind)) continue;
    if (node.kind == Node::Kind::mapping && !option.key.empty()) {
      const Node* value = node.find(option.key);
      if (!value || (!option.value.empty() && value->text != option.value)) continue;
    }
    if (node.kind == Node::Kind::scalar && left_to_others(choice, option, node)) continue;
    return option.form;
  }
  return nullptr;
}

class Checker {
 public:
  explicit Checker(Diagnostics& diagnostics) : diagnostics_(diagnostics) {}

  // `subject` names the value in messages ("'racks'"), `key` is where its key stands.
  void check(Node& node, const Form& form, const std::string& subject, const Place& key) {
    const std::size_t before = diagnostics_.errors();
    check_form(node, form, subject, key);
    node.good = diagnostics_.errors() == before;
  }

 private:
  void check_form(Node& node, const Form& form, const std::string& subject, const Place& key) {
    if (node.kind == Node::Kind::null) {
      diagnostics_.error(key, subject + " has no value", "it takes " + std::string(form.what));
    } else if (form.kind == Kind::choice) {
      check_choice(node, form, subject, key);
    } else if (!fits(form, node.kind)) {
      wrong_kind(node, form, subject, key);
    } else if (form.kind == Kind::mapping) {
      check_mapping(node, form, key);
    } else if (form.kind == Kind::list) {
      check_list(node, form, subject, key);
    } else {
      check_scalar(node, form, subject, {}, diagnostics_);
    }
  }

  void wrong_kind(const Node& node, const Form& form, const std::string& subject, const Place& key) {
    const bool scalar = node.kind == Node::Kind::scalar;
    const std::string_view kind = node.kind == Node::Kind::list ? "a list" : "a mapping";
    diagnostics_.error(scalar ? node.place : key, subject + " takes " + std::string(form.what) +
                                                      ", and this is " +
                                                      (scalar ? quoted(node.text) : std::string(kind)));
  }

  void check_choice(Node& node, const Form& choice, const std::string& subject, const Place& key) {
    const Form* form = pick(choice, node);
    const bool by_key = std::any_of(choice.cases.begin(), choice.cases.end(),
                                    [](const Case& option) { return !option.key.empty(); });
    if (!form && node.kind == Node::Kind::scalar) form = scalar_case(choice);
    if (form && node.kind == Node::Kind::scalar) {
      const auto word = form->kind == Kind::word ? std::nullopt : word_meant(node, choice);
      if (word)
        diagnostics_.error(
            node.place, subject + " takes " + std::string(choice.what) + ", and this is " + quoted(node.text),
            "did you mean '" + std::string(*word) + "'?");
      else
        check_scalar(node, *form, subject, choice.what, diagnostics_);
    } else if (form) {
      check_form(node, *form, subject, key);
    } else if (node.kind == Node::Kind::mapping && by_key) {
      undecided(node, choice);
    } else {
      wrong_kind(node, choice, subject, key);
    }
  }

  // The word of a choice that a scalar, which is none, was probably meant to be.
  static std::optional<std::string_view> word_meant(const Node& scalar, const Form& choice) {
    for (const Case& option : choice.cases)
      if (option.form->kind == Kind::word) return most_similar(scalar.text, option.form->words);
    return std::nullopt;
  }

  // For a scalar that no case takes: the integer, so that the message says what is wrong with the number.
  static const Form* scalar_case(const Form& choice) {
    for (const Case& option : choice.cases)
      if (option.form->kind == Kind::integer) return option.form;
    return nullptr;
  }

  // A mapping with none of the keys by which the cases of a choice are told apart.
  void undecided(const Node& node, const Form& choice) {
    std::vector<std::string_view> keys;
    for (const Case& option : choice.cases)
      keys.push_back(option.key);
    for (const Entry& entry : node.entries) {
      if (const auto near = most_similar(entry.key, keys)) {
        diagnostics_.error(entry.key_place, "unknown key " + quoted(entry.key) + in(choice),
                           "a key with a similar name exists: '" + std::string(*near) + "'");
        return;
      }
    }
    std::string names = quoted(keys.front());
    for (std::size_t i = 1; i < keys.size(); ++i)
      names += (i + 1 == keys.size() ? " or " : ", ") + quoted(keys[i]);
    if (!node.incomplete) diagnostics_.error(node.place, "missing key " + names + in(choice));
  }

  void check_list(Node& node, const Form& form, const std::string& subject, const Place& key) {
    const auto size = static_cast<std::int64_t>(node.items.size());
    const std::string has = subject + " has " + std::to_string(size) + (size == 1 ? " element" : " elements");
    if (size == 0 && form.least > 0)
      diagnostics_.error(key, subject + " is empty", "it takes " + std::string(form.what));
    else if (form.least == form.most && size != form.most)
      diagnostics_.error(key, has, "it takes exactly " + std::to_string(form.most));
    else if (size < form.least || size > form.most)
      diagnostics_.error(key, has,
                         "it takes " + std::to_string(form.least) + " to " + std::to_string(form.most));
    if (size > form.most) return;
    for (Node& item : node.items)
      check(item, *form.element, "an element of " + subject, item.place);
  }

  void check_mapping(Node& node, const Form& form, const Place& key) {
    std::vector<std::string_view> misspelt;
    for (Entry& entry : node.entries)
      check_entry(node, entry, form, misspelt);
    if (node.incomplete) return;
    report_missing(node, form, key, misspelt);
    for (const Alternative& pair : form.alternatives)
      check_alternative(node, pair, form, key, misspelt);
  }

  // All of them at once: a mapping of the wrong kind lacks everything.
  void report_missing(const Node& node, const Form& form, const Place& key,
                      const std::vector<std::string_view>& misspelt) {
    std::vector<const Field*> missing;
    for (const Field& field : form.fields) {
      const bool meant = std::find(misspelt.begin(), misspelt.end(), field.key) != misspelt.end();
      if (field.required && !node.has(field.key) && !meant) missing.push_back(&field);
    }
    if (missing.empty()) return;
    std::string names = quoted(missing.front()->key);
    for (std::size_t i = 1; i < missing.size(); ++i)
      names += (i + 1 == missing.size() ? " and " : ", ") + quoted(missing[i]->key);
    const Field& first = *missing.front();
    const std::string help =
        std::string(first.description) + " It takes " + std::string(first.form->what) + ".";
    diagnostics_.error(key, (missing.size() > 1 ? "missing keys " : "missing key ") + names + in(form),
                       missing.size() > 1 ? "" : help);
  }

  void check_entry(const Node& mapping, Entry& entry, const Form& form,
                   std::vector<std::string_view>& misspelt) {
    for (const Field& field : form.fields) {
      if (field.key != entry.key) continue;
      if (field.no_effect)
        diagnostics_.warning(entry.key_place, "'" + entry.key + "' has no effect in this version");
      check(entry.value, *field.form, "'" + entry.key + "'", entry.key_place);
      return;
    }
    for (const Refusal& refusal : form.refused) {
      if (refusal.key != entry.key) continue;
      diagnostics_.error(entry.key_place, std::string(refusal.message), std::string(refusal.help));
      if (const auto near = most_similar(entry.key, keys_of(form))) misspelt.push_back(*near);
      return;
    }
    const std::vector<std::string_view> keys = keys_of(form);
    const auto near = most_similar(entry.key, keys);
    const bool new_name = near && !mapping.has(*near);
    if (new_name) misspelt.push_back(*near);
    diagnostics_.error(entry.key_place, "unknown key " + quoted(entry.key) + in(form),
                       near ? "a key with a similar name exists: '" + std::string(*near) + "'"
                            : "the keys are " + listing(keys, "and"));
  }

  void check_alternative(const Node& node, const Alternative& pair, const Form& form, const Place& key,
                         const std::vector<std::string_view>& misspelt) {
    const std::string one(pair.one), other(pair.other);
    if (node.has(one) && node.has(other)) {
      const Place& second = node.key_place(other);
      diagnostics_.error(second, "'" + one + "' and '" + other + "' are both given" + in(form),
                         "remove one of them");
    } else if (pair.required && !node.has(one) && !node.has(other)) {
      const bool meant = std::any_of(misspelt.begin(), misspelt.end(),
                                     [&](std::string_view k) { return k == pair.one || k == pair.other; });
      if (!meant) diagnostics_.error(key, "missing key '" + one + "' or '" + other + "'" + in(form));
    }
  }

  Diagnostics& diagnostics_;
};

}  // namespace

void check(Node& root, const Form& form, Diagnostics& diagnostics) {
  Checker(diagnostics).check(root, form, "the file", root.kind == Node::Kind::mapping ? Place{} : root.place);
}

}  // namespace cnuas::scenarios
