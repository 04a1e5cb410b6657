#include "scenarios/scalar_check.h"

#include "core/topology/gpu_id.h"
#include "scenarios/similar.h"
#include "scenarios/units.h"
#include "scenarios/yaml_syntax.h"

#include <algorithm>
#include <charconv>
#include <optional>
#include <vector>

namespace cnuas::scenarios {
namespace {

constexpr std::string_view kDigits = "0123456789";

bool only(std::string_view text, std::string_view set) {
  return !text.empty() && text.find_first_not_of(set) == std::string_view::npos;
}

bool leading_zero(std::string_view text) {
  return text.size() > 1 && text[0] == '0' && text[1] >= '0' && text[1] <= '9';
}

std::string without_article(std::string_view what) {
  for (std::string_view article : {"a ", "an "})
    if (what.starts_with(article)) return std::string(what.substr(article.size()));
  return std::string(what);
}

class ScalarCheck {
 public:
  ScalarCheck(Node& node, const Form& form, const std::string& subject, std::string_view alternatives,
              Diagnostics& diagnostics)
      : node_(node), form_(form), subject_(subject), alternatives_(alternatives), diagnostics_(diagnostics) {}

  void run() {
    switch (form_.kind) {
      case Kind::text:
        return text();
      case Kind::word:
        return word();
      case Kind::integer:
        return integer();
      case Kind::fraction:
        return fraction();
      case Kind::share:
        return share();
      case Kind::probability:
        return probability();
      case Kind::boolean:
        return boolean();
      case Kind::time:
        return quantity(Quantity::time);
      case Kind::size:
        return quantity(Quantity::size);
      case Kind::rate:
        return quantity(Quantity::rate);
      case Kind::gpu:
        return gpu();
      case Kind::list:
      case Kind::mapping:
      case Kind::choice:
        return;
    }
  }

 private:
  void error(std::string message, std::string help = {}) {
    diagnostics_.error(node_.place, std::move(message), std::move(help));
  }
  std::string takes() const {
    return subject_ + " takes " + std::string(alternatives_.empty() ? form_.what : alternatives_);
  }

  void text() {
    const std::string_view type = node_.in_quotes ? std::string_view() : implicit_type(node_.text);
    if (!type.empty())
      error(subject_ + " takes text, and YAML reads " + quoted(node_.text) + " as " + std::string(type),
            "put it in quotes: \"" + node_.text.substr(0, 60) + "\"");
    else if (node_.text.find_first_not_of(" \t\n") == std::string::npos)
      error(subject_ + " is empty", "it takes text");
  }

  void word() {
    const auto& words = form_.words;
    if (std::find(words.begin(), words.end(), node_.text) != words.end()) return;
    for (const UnavailableWord& known : form_.unavailable) {
      if (known.word != node_.text) continue;
      if (!known.message.empty()) error(std::string(known.message));
      return;
    }
    const auto near = most_similar(node_.text, words);
    std::string help = "the names are " + listing(words, "and");
    if (near)
      help = "did you mean '" + std::string(*near) + "'? The names are " + listing(words, "and");
    else if (!alternatives_.empty())
      help = "it takes " + std::string(alternatives_) + "; the names are " + listing(words, "and");
    error("unknown " + without_article(form_.what) + " " + quoted(node_.text), help);
  }

  void integer() {
    const std::string_view text = node_.text;
    if (node_.in_quotes) {
      error(takes() + ", and " + quoted(text) + " in quotes is text",
            only(text, kDigits) ? "remove the quotes" : "");
    } else if (leading_zero(text) && only(text, kDigits)) {
      const bool octal = only(text, "01234567");
      const std::string decimal(text.substr(std::min(text.find_first_not_of('0'), text.size() - 1)));
      error(quoted(text) + " begins with a zero" + (octal ? ", and YAML 1.1 reads it in base 8" : ""),
            "write " + decimal + ", without the zero");
    } else if (!only(text, kDigits)) {
      error(takes() + ", and this is " + quoted(text), number_help());
    } else {
      const auto [end, code] = std::from_chars(text.data(), text.data() + text.size(), node_.number);
      if (code != std::errc{} || node_.number < form_.least || node_.number > form_.most) out_of_range();
    }
  }

  std::string number_help() const {
    const std::string_view text = node_.text;
    const bool other_digits = !implicit_type(text).empty() && text[0] != '-';
    if (other_digits) return "write it in decimal digits only";
    return alternatives_.empty() ? range() : "";
  }

  std::string range() const {
    return "from " + std::to_string(form_.least) + " to " + std::to_string(form_.most);
  }

  void out_of_range() { error(subject_ + " is out of range: " + quoted(node_.text), range()); }

  // Digits, perhaps with a point between them.
  static bool decimal(std::string_view text) {
    return only(text, "0123456789.") && std::count(text.begin(), text.end(), '.') <= 1 &&
           text.front() != '.' && text.back() != '.' && !leading_zero(text);
  }

  void not_a_number(std::string_view example) {
    error(takes() + ", and this is " + quoted(node_.text),
          node_.in_quotes ? "remove the quotes" : "write a decimal number such as " + std::string(example));
  }

  // Takes `text`, a number by its form; false when it has no double.
  bool to_fraction(std::string_view text) {
    return std::from_chars(text.data(), text.data() + text.size(), node_.fraction).ec == std::errc{};
  }

  void fraction() {
    const std::string_view text = node_.text;
    if (!decimal(text) || node_.in_quotes)
      not_a_number("0.5");
    else if (!to_fraction(text) || node_.fraction <= 0 || node_.fraction > 1)
      error(subject_ + " is out of range: " + quoted(text), "above 0 and at most 1");
  }

  void share() {
    const std::string_view text = node_.text;
    const std::size_t slash = std::min(text.find('/'), text.size());
    const std::string_view part = text.substr(0, slash),
                           whole = text.substr(std::min(slash + 1, text.size()));
    bool in_range = true;
    if (only(part, kDigits) && only(whole, kDigits) && !leading_zero(part) && !leading_zero(whole)) {
      in_range = to_fraction(whole);
      const double divisor = node_.fraction;
      in_range = in_range && divisor > 0 && to_fraction(part);
      if (in_range) node_.fraction /= divisor;
    } else if (decimal(text) && !node_.in_quotes) {
      in_range = to_fraction(text);
    } else {
      error(takes() + ", and this is " + quoted(text),
            node_.in_quotes ? "remove the quotes" : "write 1/2 or 0.5");
      return;
    }
    if (!in_range || node_.fraction <= 0 || node_.fraction >= 1)
      error(subject_ + " is out of range: " + quoted(text), "above 0 and below 1");
  }

  void probability() {
    std::string_view number = node_.text, exponent = "0";
    if (const std::size_t e = number.find_first_of("eE"); e != std::string_view::npos) {
      exponent = number.substr(e + 1);
      number = number.substr(0, e);
      if (exponent.starts_with('-') || exponent.starts_with('+')) exponent.remove_prefix(1);
    }
    if (!decimal(number) || !only(exponent, kDigits) || node_.in_quotes)
      not_a_number("0.001, or 1e-9");
    else if (!to_fraction(node_.text) || node_.fraction <= 0 || node_.fraction >= 0.01)
      error(subject_ + " is out of range: " + quoted(node_.text), "above 0 and below 0.01");
  }

  void boolean() {
    const bool yes = node_.text == "true";
    if (!node_.in_quotes && (yes || node_.text == "false")) {
      node_.number = yes ? 1 : 0;
      return;
    }
    error(takes() + ", and this is " + quoted(node_.text),
          node_.in_quotes ? "remove the quotes" : "write true or false, in small letters");
  }

  void quantity(Quantity kind) {
    // A bare 0 is the one number that would mean the same in every unit, and still is none of them.
    const auto value = parse_quantity(node_.text, kind);
    if (!value) {
      error(value.error().message, value.error().help);
      return;
    }
    node_.number = *value;
    if (*value < form_.least && form_.least == 1)
      error(subject_ + " must be above 0");
    else if (*value < form_.least)
      error(subject_ + " is too small: " + quoted(node_.text), "at least " + to_text(form_.least, kind));
    else if (form_.most > 0 && *value > form_.most)
      error(subject_ + " is too large: " + quoted(node_.text), "at most " + to_text(form_.most, kind));
  }

  void gpu() {
    const std::string_view text = node_.text;
    const bool hexadecimal = text.starts_with("0x") && only(text.substr(2), "0123456789abcdefABCDEF");
    const auto id = parse_gpu_id(node_.text);
    if (hexadecimal && !node_.in_quotes) {
      error("YAML reads " + quoted(text) + " as a number",
            id ? "write " + to_string(*id) + ", or put it in quotes" : "write rack/slot, as in 1/3");
    } else if (!hexadecimal && !rack_and_slot(text)) {
      const bool number = node_.in_quotes && only(text, kDigits);
      error(takes() + ", and this is " + quoted(text) + (number ? " in quotes" : ""),
            number && !alternatives_.empty() ? "remove the quotes" : "");
    } else if (!id) {
      error("there cannot be a GPU " + quoted(text) + ": " + id.error().message);
    } else {
      node_.number = id->value;
    }
  }

  bool rack_and_slot(std::string_view text) {
    const std::size_t slash = text.find('/');
    if (slash == std::string_view::npos) return false;
    const std::string_view rack = text.substr(0, slash), slot = text.substr(slash + 1);
    return only(rack, kDigits) && only(slot, kDigits) && !leading_zero(rack) && !leading_zero(slot);
  }

  Node& node_;
  const Form& form_;
  const std::string& subject_;
  std::string_view alternatives_;
  Diagnostics& diagnostics_;
};

}  // namespace

bool integer_like(const Node& scalar) {
  std::string_view text = scalar.text;
  if (!text.empty() && (text[0] == '-' || text[0] == '+')) text.remove_prefix(1);
  return !scalar.in_quotes && only(text, kDigits);
}

void check_scalar(Node& scalar, const Form& form, const std::string& subject, std::string_view alternatives,
                  Diagnostics& diagnostics) {
  ScalarCheck(scalar, form, subject, alternatives, diagnostics).run();
}

}  // namespace cnuas::scenarios
