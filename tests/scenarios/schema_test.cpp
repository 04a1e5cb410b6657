// The field table, the check of documents and the JSON Schema are three views of one thing; so are these
// tests. From the table come documents that use every key and every case, and the same with a mistake in each
// mapping; the check must take the former and refuse the latter, and so must a JSON Schema validator.

#include "scenarios/schema.h"

#include "scenarios/check.h"
#include "scenarios/grammar.h"
#include "tests/scenarios/loading.h"

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <set>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

namespace cnuas::scenarios {
namespace {

using nlohmann::json;
using testing::HasSubstr;

// Texts in YAML's flow style that are of a form: together they use every key, word and case.
class Examples {
 public:
  // Where a mapping's text goes through `damage`, which may spoil it.
  explicit Examples(std::string (*damage)(const std::string&, const Form&)) : damage_(damage) {}

  std::vector<std::string> of(const Form& form) {
    switch (form.kind) {
      case Kind::text:
        return {"some text"};
      case Kind::word:
        return {form.words.begin(), form.words.end()};
      case Kind::integer:
        return {std::to_string(form.least), std::to_string(form.most)};
      case Kind::fraction:
        return {"0.25", "1"};
      case Kind::share:
        return {"1/2", "0.25"};
      case Kind::probability:
        return {"1e-9", "1.5e-03", "0.001"};
      case Kind::boolean:
        return {"true", "false"};
      case Kind::time:
        return {"1.5 us", "3500ns"};
      case Kind::size:
        return {"512 B", "64 KiB"};
      case Kind::rate:
        return {"450 GB/s", "400 Gb/s"};
      case Kind::gpu:
        return {"1/3", "\"0x0103\""};
      case Kind::list:
        return list(form);
      case Kind::mapping:
        return mapping(form);
      case Kind::choice:
        return choice(form);
    }
    return {};
  }

 private:
  std::vector<std::string> list(const Form& form) {
    std::vector<std::string> result;
    for (const std::string& element : of(*form.element)) {
      std::string text = "[" + element;
      for (std::int64_t i = 1; i < form.least; ++i)
        text += ", " + element;
      result.push_back(text + "]");
    }
    return result;
  }

  std::vector<std::string> choice(const Form& form) {
    std::vector<std::string> result;
    for (const Case& option : form.cases) {
      for (const std::string& text : of(*option.form)) {
        // What another case takes by its key's value is no example of this one.
        const bool taken = std::any_of(form.cases.begin(), form.cases.end(), [&](const Case& other) {
          return &other != &option && !other.value.empty() &&
                 text.starts_with("{" + std::string(other.key) + ": " + std::string(other.value));
        });
        if (!taken) result.push_back(text);
      }
    }
    return result;
  }

  static bool excluded(const Form& form, std::string_view key, std::size_t variant) {
    for (const Alternative& pair : form.alternatives)
      if (key == (variant % 2 == 0 ? pair.one : pair.other)) return true;
    return false;
  }

  // As many texts as the field with the most examples has, each field going round its own; twice for
  // alternatives.
  std::vector<std::string> mapping(const Form& form) {
    std::vector<std::vector<std::string>> values;
    std::size_t most = 2;
    for (const Field& field : form.fields) {
      values.push_back(of(*field.form));
      most = std::max(most, values.back().size());
    }
    std::vector<std::string> result;
    for (std::size_t variant = 0; variant < 2 * most; ++variant) {
      std::string text;
      for (std::size_t f = 0; f < values.size(); ++f) {
        if (excluded(form, form.fields[f].key, variant)) continue;
        text += (text.empty() ? "" : ", ") + std::string(form.fields[f].key) + ": " +
                values[f][variant / 2 % values[f].size()];
      }
      result.push_back("{" + damage_(text, form) + "}");
    }
    return result;
  }

  std::string (*damage_)(const std::string&, const Form&);
};

std::vector<Diagnostic> form_errors(const std::string& text) {
  const SourceText source(text);
  const std::string file = "example";
  Diagnostics diagnostics(source, file);
  std::optional<Node> root = read_document(source, diagnostics);
  if (root) check(*root, scenario_form(), diagnostics);
  std::vector<Diagnostic> errors;
  for (Diagnostic& diagnostic : diagnostics.take())
    if (diagnostic.severity == Severity::error) errors.push_back(std::move(diagnostic));
  return errors;
}

std::string undamaged(const std::string& text, const Form&) {
  return text;
}
std::vector<std::string> good_examples() {
  return Examples(undamaged).of(scenario_form());
}

void collect_mappings(const Form& form, std::set<const Form*>& found) {
  if (form.kind == Kind::mapping && !found.insert(&form).second) return;
  for (const Field& field : form.fields)
    collect_mappings(*field.form, found);
  for (const Case& option : form.cases)
    collect_mappings(*option.form, found);
  if (form.element) collect_mappings(*form.element, found);
}
std::set<const Form*> all_mappings() {
  std::set<const Form*> found;
  collect_mappings(scenario_form(), found);
  return found;
}

// Every mapping of the text that has a key only `name` has gets one more, of nobody's.
std::vector<std::string> with_unknown_key() {
  std::vector<std::string> texts = Examples([](const std::string& text, const Form& form) {
                                     return form.name == "scenario file" ? text : text + ", nobodys_key: 1";
                                   }).of(scenario_form());
  for (const std::string& text : good_examples())
    texts.push_back(text.substr(0, text.size() - 1) + ", nobodys_key: 1}");
  return texts;
}

TEST(Schema, EveryKeyOfTheTableIsInItAndNoOther) {
  const json schema = json::parse(json_schema());
  std::set<std::string> names;
  for (const Form* form : all_mappings()) {
    std::string name(form->name);
    EXPECT_TRUE(names.insert(name).second) << "two mappings are named " << name;
    std::replace(name.begin(), name.end(), ' ', '_');
    const json& object = form == &scenario_form() ? schema : schema.at("definitions").at(name);
    EXPECT_EQ(object.at("additionalProperties"), false) << name;
    EXPECT_EQ(object.at("properties").size(), form->fields.size()) << name;
    std::set<std::string> required;
    for (const Field& field : form->fields) {
      const json& property = object.at("properties").at(std::string(field.key));
      EXPECT_THAT(property.at("description").get<std::string>(), HasSubstr(".")) << name << " " << field.key;
      if (field.required) required.insert(std::string(field.key));
    }
    const json stated = object.contains("required") ? object.at("required") : json::array();
    EXPECT_EQ(stated.get<std::set<std::string>>(), required) << name;
  }
}

TEST(Schema, TellsOnceWhatHasNoEffect) {
  bool some = false;
  const json schema = json::parse(json_schema());
  for (const Form* form : all_mappings()) {
    std::string name(form->name);
    std::replace(name.begin(), name.end(), ' ', '_');
    const json& object = form == &scenario_form() ? schema : schema.at("definitions").at(name);
    for (const Field& field : form->fields) {
      if (!field.no_effect) continue;
      some = true;
      EXPECT_EQ(object.at("properties").at(std::string(field.key)).at("description"),
                std::string(field.description) + " It has no effect in this version.");
    }
  }
  EXPECT_TRUE(some) << "no key is without effect; remove Field::no_effect";
}

TEST(Schema, EveryKeyAndCaseOfTheTableIsAccepted) {
  const auto texts = good_examples();
  ASSERT_GT(texts.size(), 10u);
  std::string all;
  for (const std::string& text : texts) {
    EXPECT_EQ(all_of(form_errors(text)), "") << text;
    all += text;
  }
  for (const Form* form : all_mappings())
    for (const Field& field : form->fields)
      EXPECT_THAT(all, HasSubstr(std::string(field.key) + ": ")) << "no example of it";
}

TEST(Schema, KeysThatAreNotInTheTableAreRejected) {
  for (const std::string& text : with_unknown_key()) {
    const auto errors = form_errors(text);
    ASSERT_FALSE(errors.empty()) << text;
    for (const Diagnostic& error : errors)
      EXPECT_THAT(error.message, HasSubstr("unknown key 'nobodys_key'"));
  }
}

void write_lines(const std::filesystem::path& path, const std::vector<std::string>& lines) {
  std::ofstream file(path);
  for (const std::string& line : lines)
    file << line << "\n";
}

TEST(Schema, AValidatorAgreesWithTheLoader) {
  const std::filesystem::path source = CNUAS_SOURCE_DIR;
  const std::filesystem::path work = std::filesystem::path(CNUAS_BINARY_DIR) / "tests";
  write_lines(work / "schema_accepts.txt", good_examples());
  write_lines(work / "schema_rejects.txt", with_unknown_key());
  std::ofstream(work / "scenario.schema.json") << json_schema();
  const std::string command = "/usr/bin/python3 '" +
                              (source / "tests/scenarios/validate_against_schema.py").string() + "' '" +
                              work.string() + "' '" + (source / "scenarios").string() + "' '" +
                              (source / "tests/scenarios/broken").string() + "'";
  EXPECT_EQ(std::system(command.c_str()), 0) << command;
}

}  // namespace
}  // namespace cnuas::scenarios
