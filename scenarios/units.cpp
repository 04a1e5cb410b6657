#include "scenarios/units.h"

#include "scenarios/similar.h"
#include "scenarios/source_text.h"

#include <algorithm>
#include <optional>
#include <span>
#include <vector>

namespace cnuas::scenarios {
namespace {

__extension__ using Wide = unsigned __int128;

// value = number * scale / divisor
struct Unit {
  std::string_view name;
  std::uint64_t scale;
  std::uint32_t divisor = 1;
  bool preferred = false;  // to_text writes it
};

constexpr Unit kTimes[] = {
    {"ps", 1, 1, true},
    {"ns", 1'000, 1, true},
    {"us", 1'000'000, 1, true},
    {"ms", 1'000'000'000, 1, true},
    {"s", 1'000'000'000'000, 1, true},
};

// KB is decimal here, as kB is: the binary prefixes have names of their own.
constexpr Unit kSizes[] = {
    {"B", 1, 1, true},
    {"kB", 1'000, 1, true},
    {"KB", 1'000},
    {"MB", 1'000'000, 1, true},
    {"GB", 1'000'000'000, 1, true},
    {"TB", 1'000'000'000'000, 1, true},
    {"KiB", 1ULL << 10, 1, true},
    {"MiB", 1ULL << 20, 1, true},
    {"GiB", 1ULL << 30, 1, true},
    {"TiB", 1ULL << 40, 1, true},
};

constexpr Unit kRates[] = {
    {"B/s", 1, 1, true},
    {"kB/s", 1'000, 1, true},
    {"KB/s", 1'000},
    {"MB/s", 1'000'000, 1, true},
    {"GB/s", 1'000'000'000, 1, true},
    {"TB/s", 1'000'000'000'000, 1, true},
    {"KiB/s", 1ULL << 10},
    {"MiB/s", 1ULL << 20},
    {"GiB/s", 1ULL << 30},
    {"TiB/s", 1ULL << 40},
    {"b/s", 1, 8},
    {"bit/s", 1, 8},
    {"kb/s", 125},
    {"Kb/s", 125},
    {"kbit/s", 125},
    {"Mb/s", 125'000},
    {"Mbit/s", 125'000},
    {"Gb/s", 125'000'000},
    {"Gbit/s", 125'000'000},
    {"Tb/s", 125'000'000'000},
    {"Tbit/s", 125'000'000'000},
};

struct Traits {
  std::span<const Unit> units;
  std::string_view names;
  std::string_view noun;      // "a time"
  std::string_view smallest;  // what a value must be a whole number of
  std::int64_t most;
  std::string_view most_text;
};

const Traits& traits(Quantity quantity) {
  static constexpr Traits kTraits[] = {
      {kTimes, "ps, ns, us, ms or s", "a time", "picoseconds", kLongestTime_ps, "1000 s"},
      {kSizes, "B, KiB, MiB, GiB, TiB (binary) or kB, MB, GB, TB (decimal)", "a size", "bytes",
       kLargestSize_bytes, "1024 TiB"},
      {kRates, "GB/s (bytes), GiB/s or Gb/s (bits), likewise with k, M or T", "a rate", "bytes per second",
       kHighestRate_bytes_per_s, "1000 TB/s"},
  };
  return kTraits[static_cast<unsigned>(quantity)];
}

bool digit(char c) {
  return c >= '0' && c <= '9';
}

std::string_view trimmed(std::string_view text) {
  const auto blank = [](char c) { return c == ' ' || c == '\t'; };
  while (!text.empty() && blank(text.front()))
    text.remove_prefix(1);
  while (!text.empty() && blank(text.back()))
    text.remove_suffix(1);
  return text;
}

std::string_view take_digits(std::string_view& text) {
  const auto end = std::find_if_not(text.begin(), text.end(), digit);
  const std::string_view digits = text.substr(0, static_cast<std::size_t>(end - text.begin()));
  text.remove_prefix(digits.size());
  return digits;
}

tl::unexpected<UnitError> refuse(std::string message, std::string help) {
  return tl::unexpected<UnitError>(UnitError{std::move(message), std::move(help)});
}

// A decimal number cut into its digits.
struct Decimal {
  std::string_view whole;
  std::string_view fraction;  // without zeros at its end
};

// What is wrong with text that goes on after its digits in a way that no unit does; empty when nothing is.
std::string_view number_help(std::string_view whole, std::string_view rest) {
  if (rest.empty()) return {};
  const bool signed_digit = rest.size() > 1 && (digit(rest[1]) || rest[1] == '-' || rest[1] == '+');
  if (rest[0] == '_' || rest[0] == ',' || rest[0] == '\'')
    return "write the number without separators between digits";
  if ((rest[0] == 'e' || rest[0] == 'E') && signed_digit)
    return "write the number without an exponent, with a larger or smaller unit";
  if (whole == "0" && (rest[0] == 'x' || rest[0] == 'X')) return "write a decimal number";
  return {};
}

// Takes the number off the front of `text` and leaves the rest, where the unit is.
tl::expected<Decimal, UnitError> take_decimal(std::string_view text, std::string_view& rest,
                                              const Traits& kind) {
  const std::string not_one = quoted(text) + " is not " + std::string(kind.noun);
  const std::string units = "a decimal number and one of the units " + std::string(kind.names);
  if (text.empty()) return refuse(std::string(kind.noun) + " is missing", "write " + units);
  if (text[0] == '-') return refuse(quoted(text) + " is negative", std::string(kind.noun) + " counts from 0");
  rest = text;
  Decimal number{take_digits(rest), {}};
  if (number.whole.empty()) return refuse(not_one, "write " + units);
  if (number.whole.size() > 1 && number.whole[0] == '0')
    return refuse(quoted(text) + " begins with a zero", "write the number without leading zeros");
  if (!rest.empty() && rest[0] == '.') {
    rest.remove_prefix(1);
    number.fraction = take_digits(rest);
    if (number.fraction.empty()) return refuse(not_one, "digits are missing after the decimal point");
    while (!number.fraction.empty() && number.fraction.back() == '0')
      number.fraction.remove_suffix(1);
  }
  const std::string_view help = number_help(number.whole, rest);
  if (!help.empty()) return refuse(not_one, std::string(help));
  return number;
}

const Unit* find_unit(std::span<const Unit> units, std::string_view name) {
  const auto found = std::find_if(units.begin(), units.end(), [&](const Unit& u) { return u.name == name; });
  return found == units.end() ? nullptr : &*found;
}

// Units that `name` may have been meant as: the same letters in other cases, and forms common elsewhere.
std::vector<std::string_view> meant_units(std::string_view name, std::span<const Unit> units) {
  const auto folded = [](std::string_view text) {
    std::string lower(text);
    for (char& c : lower)
      if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
    return lower;
  };
  const std::string given = folded(name);
  std::vector<std::string> spellings = {given, given + "b", given + "ib"};                   // 64K, 1Mi
  if (given.ends_with("ps")) spellings.push_back(given.substr(0, given.size() - 2) + "/s");  // Gbps
  if (given.ends_with("sec")) spellings.push_back(given.substr(0, given.size() - 2));        // nsec
  if (given == "\xC2\xB5s" || given == "\xCE\xBCs") spellings.push_back("us");               // micro sign, mu
  // Gbps means bits and GBps bytes: where the cases tell, only the one that fits.
  const std::string exact =
      name.ends_with("ps") ? std::string(name.substr(0, name.size() - 2)) + "/s" : std::string();
  if (const Unit* unit = find_unit(units, exact)) return {unit->name};
  std::vector<std::string_view> meant;
  for (const Unit& unit : units)
    if (std::find(spellings.begin(), spellings.end(), folded(unit.name)) != spellings.end())
      meant.push_back(unit.name);
  return meant;
}

UnitError unknown_unit(std::string_view name, Quantity quantity) {
  const Traits& kind = traits(quantity);
  const std::string units = "the units here are " + std::string(kind.names);
  for (Quantity other : {Quantity::time, Quantity::size, Quantity::rate})
    if (other != quantity && find_unit(traits(other).units, name))
      return {quoted(name) + " is a unit of " + std::string(traits(other).noun.substr(2)) + ", and this is " +
                  std::string(kind.noun),
              units};
  const std::vector<std::string_view> meant = meant_units(name, kind.units);
  return {"unknown unit " + quoted(name),
          meant.empty() ? units : "did you mean " + listing(meant) + "? " + units};
}

// Exact; no value when the result is not whole or does not fit.
struct Scaled {
  bool whole = true;
  bool fits = true;
  Wide value = 0;
};

Scaled scale(const Decimal& number, const Unit& unit) {
  constexpr std::size_t kMostDigits = 18;  // of either part: the products below stay within 128 bits
  if (number.whole.size() > kMostDigits) return {.fits = false};
  if (number.fraction.size() > kMostDigits) return {.whole = false};
  Wide whole = 0, fraction = 0, power = 1;
  for (char c : number.whole)
    whole = whole * 10 + static_cast<unsigned>(c - '0');
  for (char c : number.fraction) {
    fraction = fraction * 10 + static_cast<unsigned>(c - '0');
    power *= 10;
  }
  fraction *= unit.scale;
  if (fraction % power != 0) return {.whole = false};
  const Wide total = whole * unit.scale + fraction / power;
  if (total % unit.divisor != 0) return {.whole = false};
  return {.value = total / unit.divisor};
}

}  // namespace

tl::expected<std::int64_t, UnitError> parse_quantity(std::string_view text, Quantity quantity) {
  const Traits& kind = traits(quantity);
  text = trimmed(text);
  std::string_view rest;
  const auto number = take_decimal(text, rest, kind);
  if (!number) return tl::unexpected<UnitError>(number.error());
  const std::string_view name = trimmed(rest);
  if (name.empty()) {
    const std::string_view usual = quantity == Quantity::time   ? "ns"
                                   : quantity == Quantity::size ? "B"
                                                                : "GB/s";
    return refuse(quoted(text) + " has no unit", "write for example '" + std::string(text) + " " +
                                                     std::string(usual) + "'; the units are " +
                                                     std::string(kind.names));
  }
  const Unit* unit = find_unit(kind.units, name);
  if (!unit) return tl::unexpected<UnitError>(unknown_unit(name, quantity));
  const Scaled scaled = scale(*number, *unit);
  if (!scaled.whole)
    return refuse(quoted(text) + " is not a whole number of " + std::string(kind.smallest),
                  "values are kept exactly, in " + std::string(kind.smallest) + "; round it");
  if (!scaled.fits || scaled.value > static_cast<Wide>(kind.most))
    return refuse(quoted(text) + " is too large", "at most " + std::string(kind.most_text));
  return static_cast<std::int64_t>(scaled.value);
}

std::string_view unit_names(Quantity quantity) {
  return traits(quantity).names;
}

std::string quantity_pattern(Quantity quantity) {
  std::string alternatives;
  for (const Unit& unit : traits(quantity).units) {
    if (!alternatives.empty()) alternatives += '|';
    alternatives += unit.name;
  }
  return R"(^[ \t]*(0|[1-9][0-9]*)(\.[0-9]+)?[ \t]*()" + alternatives + R"()[ \t]*$)";
}

std::string to_text(std::int64_t value, Quantity quantity) {
  const auto magnitude = static_cast<std::uint64_t>(std::max<std::int64_t>(value, 0));
  const Unit* best = nullptr;
  std::uint64_t least = 0;
  for (const Unit& unit : traits(quantity).units) {
    if (!unit.preferred || magnitude % unit.scale != 0) continue;
    const std::uint64_t count = magnitude / unit.scale;
    if (best && (count >= least || magnitude == 0)) continue;
    best = &unit;
    least = count;
  }
  return std::to_string(least) + " " + std::string(best->name);
}

}  // namespace cnuas::scenarios
