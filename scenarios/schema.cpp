#include "scenarios/schema.h"

#include "scenarios/grammar.h"
#include "scenarios/units.h"

#include <algorithm>
#include <string>

#include <nlohmann/json.hpp>

namespace cnuas::scenarios {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::string_view kGpuPattern =
    "^((25[0-5]|2[0-4][0-9]|1[0-9][0-9]|[1-9]?[0-9])/(25[0-5]|2[0-4][0-9]|1[0-9][0-9]|[1-9]?[0-9])"
    "|0[xX][0-9A-Fa-f]{1,4})$";

std::string definition_name(std::string_view form) {
  std::string name(form);
  std::replace(name.begin(), name.end(), ' ', '_');
  return name;
}

Json reference(const std::string& definition) {
  return Json{{"$ref", "#/definitions/" + definition}};
}

Json array_of(std::span<const std::string_view> words) {
  Json array = Json::array();
  for (std::string_view word : words)
    array.push_back(word);
  return array;
}

Json keys(std::initializer_list<std::string_view> names) {
  return Json{{"required", array_of({names.begin(), names.size()})}};
}

class SchemaWriter {
 public:
  Json write() {
    Json schema;
    schema["$schema"] = "http://json-schema.org/draft-07/schema#";
    schema["title"] = "CnuasLink scenario";
    schema["description"] = "A fabric of GPUs, and what runs on it.";
    schema.update(mapping(scenario_form()));
    schema["definitions"] = definitions_;
    return schema;
  }

 private:
  Json value(const Form& form) {
    switch (form.kind) {
      case Kind::text:
        return Json{{"type", "string"}, {"pattern", "\\S"}};
      case Kind::word:
        return Json{{"type", "string"}, {"enum", array_of(form.words)}};
      case Kind::integer:
        return Json{{"type", "integer"}, {"minimum", form.least}, {"maximum", form.most}};
      case Kind::fraction:
        return Json{{"type", "number"}, {"exclusiveMinimum", 0}, {"maximum", 1}};
      case Kind::share:
        return number_or_text(1, "^[1-9][0-9]*/[1-9][0-9]*$");
      case Kind::probability:
        return number_or_text(0.01, "^[0-9]+(\\.[0-9]+)?[eE][-+]?[0-9]+$");
      case Kind::boolean:
        return Json{{"type", "boolean"}};
      case Kind::time:
        return quantity("time", Quantity::time);
      case Kind::size:
        return quantity("size", Quantity::size);
      case Kind::rate:
        return quantity("rate", Quantity::rate);
      case Kind::gpu:
        return define("gpu", Json{{"type", "string"}, {"pattern", kGpuPattern}, {"description", form.what}});
      case Kind::list:
        return Json{{"type", "array"},
                    {"items", value(*form.element)},
                    {"minItems", form.least},
                    {"maxItems", form.most}};
      case Kind::mapping:
        return define(definition_name(form.name), mapping(form));
      case Kind::choice:
        return choice(form);
    }
    return Json::object();
  }

  // YAML readers do not agree on what 1e-9 is: for some it is text.
  static Json number_or_text(double below, std::string_view pattern) {
    return Json{{"type", {"number", "string"}},
                {"exclusiveMinimum", 0},
                {"exclusiveMaximum", below},
                {"pattern", pattern}};
  }

  Json define(const std::string& name, Json definition) {
    definitions_[name] = std::move(definition);
    return reference(name);
  }

  Json quantity(const std::string& name, Quantity kind) {
    return define(name, Json{{"type", "string"},
                             {"pattern", quantity_pattern(kind)},
                             {"description", "Units: " + std::string(unit_names(kind)) + "."}});
  }

  Json choice(const Form& form) {
    Json options = Json::array();
    for (const Case& option : form.cases) {
      Json schema = value(*option.form);
      if (option.key.empty() && option.form->kind == Kind::mapping) exclude(form, schema);
      options.push_back(std::move(schema));
    }
    return Json{{"oneOf", std::move(options)}};
  }

  // The case without a key is only for what no other case takes. Where a mere key decides it does not have
  // that key anyway; a value of a key has to be ruled out.
  static void exclude(const Form& form, Json& schema) {
    for (const Case& other : form.cases) {
      if (other.value.empty()) continue;
      const std::string key(other.key);
      Json taken = keys({other.key});
      taken["properties"][key]["const"] = other.value;
      schema = Json{{"allOf", Json::array({schema, Json{{"not", taken}}})}};
    }
  }

  Json mapping(const Form& form) {
    Json schema{{"type", "object"}, {"additionalProperties", false}};
    Json required = Json::array();
    Json properties = Json::object();
    for (const Field& field : form.fields) {
      properties[std::string(field.key)] = described(field);
      if (field.required) required.push_back(field.key);
    }
    if (!required.empty()) schema["required"] = required;
    schema["properties"] = properties;
    for (const Alternative& pair : form.alternatives) {
      Json rule = pair.required ? Json{{"oneOf", Json::array({keys({pair.one}), keys({pair.other})})}}
                                : Json{{"not", keys({pair.one, pair.other})}};
      schema["allOf"].push_back(std::move(rule));
    }
    return schema;
  }

  // Beside a $ref draft-07 ignores everything, so a described reference is wrapped.
  Json described(const Field& field) {
    std::string text(field.description);
    if (field.no_effect) text += " It has no effect in this version.";
    Json schema{{"description", text}};
    Json inner = value(*field.form);
    if (inner.contains("$ref"))
      schema["allOf"] = Json::array({inner});
    else
      schema.update(inner);
    return schema;
  }

  Json definitions_ = Json::object();
};

}  // namespace

std::string json_schema() {
  return SchemaWriter().write().dump(2) + "\n";
}

}  // namespace cnuas::scenarios
