// Scenarios spoilt at random, always in the same ways: loading never crashes, and either gives a scenario or
// says why not.

#include "tests/scenarios/loading.h"

#include <filesystem>
#include <random>
#include <string>
#include <vector>

#include <gtest/gtest.h>

namespace cnuas::scenarios {
namespace {

// Not std::uniform_int_distribution: what it draws differs between libraries.
class Random {
 public:
  explicit Random(std::uint64_t seed) : engine_(seed) {}
  std::size_t below(std::size_t bound) { return bound == 0 ? 0 : engine_() % bound; }

 private:
  std::mt19937_64 engine_;
};

std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> lines;
  std::size_t start = 0;
  while (start < text.size()) {
    const std::size_t end = std::min(text.find('\n', start), text.size() - 1);
    lines.push_back(text.substr(start, end - start + 1));
    start = end + 1;
  }
  return lines;
}

std::string joined(const std::vector<std::string>& lines) {
  std::string text;
  for (const std::string& line : lines)
    text += line;
  return text;
}

void mutate_bytes(std::string& text, Random& random) {
  const std::string telling = "\0\t\r\n :-[]{}#&*!|>'\"%@`,?0123456789eE.\x7F\x80\xFF";
  const std::size_t at = random.below(text.size());
  switch (random.below(4)) {
    case 0:
      text[at] = static_cast<char>(random.below(256));
      break;
    case 1:
      text.insert(at, 1, telling[random.below(telling.size())]);
      break;
    case 2:
      text.erase(at, 1 + random.below(5));
      break;
    default:
      text.resize(at);
  }
}

void mutate_lines(std::string& text, Random& random) {
  std::vector<std::string> lines = lines_of(text);
  const auto any = [&] { return lines.begin() + static_cast<std::ptrdiff_t>(random.below(lines.size())); };
  if (lines.empty()) return;
  switch (random.below(5)) {
    case 0:
      lines.erase(any());
      break;
    case 1:
      lines.insert(any(), *any());
      break;
    case 2:
      std::iter_swap(any(), any());
      break;
    case 3:
      any()->insert(0, random.below(4), ' ');
      break;
    default:
      any()->erase(0, 1 + random.below(3));
  }
  text = joined(lines);
}

// A word for another: keys, numbers, units and names change places, or give way to something extreme.
void mutate_words(std::string& text, Random& random) {
  const std::vector<std::string> extreme = {"~",        "0",          "-1",     "99999999999999999999",
                                            "1e9",      "no",         "'",      "0 ns",
                                            "1024 TiB", "1000 s",     "0x0000", "255/255",
                                            "[]",       "{}",         "1 B/s",  "1000 TB/s",
                                            "&a *a",    "!!binary x", "<<: *a", "? x",
                                            "256"};
  const auto word_at = [&](std::size_t from) {
    const std::size_t start =
        std::min(text.find_first_of("abcdefghijklmnopqrstuvwxyz_0123456789/", from), text.size());
    const std::size_t end = std::min(text.find_first_of(" ,:]}\n", start), text.size());
    return std::pair(start, end - start);
  };
  const auto [from, length] = word_at(random.below(text.size()));
  const auto [other, other_length] = word_at(random.below(text.size()));
  const std::string replacement =
      random.below(2) == 0 ? extreme[random.below(extreme.size())] : text.substr(other, other_length);
  text.replace(from, length, replacement);
}

void mutate(std::string& text, Random& random) {
  if (text.empty()) return;
  switch (random.below(3)) {
    case 0:
      return mutate_bytes(text, random);
    case 1:
      return mutate_lines(text, random);
    default:
      return mutate_words(text, random);
  }
}

void expect_scenario_or_errors(const std::string& text) {
  const LoadResult result = load_text(text);
  bool errors = false;
  for (const Diagnostic& diagnostic : result.diagnostics) {
    errors |= diagnostic.severity == Severity::error;
    EXPECT_FALSE(diagnostic.message.empty());
    EXPECT_GE(diagnostic.line, 0);
    EXPECT_GE(diagnostic.width, 1);
    format(diagnostic);
  }
  EXPECT_NE(result.scenario.has_value(), errors) << text;
  if (!result.scenario) return;
  EXPECT_TRUE(validate(result.scenario->fabric)) << text;
  EXPECT_FALSE(result.scenario->workload.items.empty()) << text;
}

class Mutation : public testing::TestWithParam<std::filesystem::path> {};

TEST_P(Mutation, GivesAScenarioOrErrors) {
  const std::string original = read_bytes(GetParam());
  Random random(20'240'517);
  for (int round = 0; round < 600 && !HasFailure(); ++round) {
    std::string text = original;
    const std::size_t changes = 1 + random.below(4);
    for (std::size_t i = 0; i < changes; ++i)
      mutate(text, random);
    SCOPED_TRACE(text);
    expect_scenario_or_errors(text);
  }
}

std::string test_name(const testing::TestParamInfo<std::filesystem::path>& info) {
  std::string name = info.param.stem().string();
  std::replace(name.begin(), name.end(), '-', '_');
  return name;
}
INSTANTIATE_TEST_SUITE_P(Shipped, Mutation,
                         testing::ValuesIn(files_in(std::filesystem::path(CNUAS_SOURCE_DIR) / "scenarios",
                                                    ".yaml")),
                         test_name);

}  // namespace
}  // namespace cnuas::scenarios
