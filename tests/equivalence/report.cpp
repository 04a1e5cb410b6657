#include "tests/equivalence/report.h"

#include <algorithm>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace cnuas::equivalence {

namespace {

constexpr std::size_t kMostShown = 40;

std::string name_of(const Script& script) {
  return script.path.empty() ? script.name : script.path;
}

std::string_view word(const Row& row) {
  if (!row.failure.empty()) return "failed";
  return row.verdict.same() ? "same" : "different";
}

std::string place(const Row& row) {
  const Step& step = row.script->steps[row.verdict.step - 1];
  const std::string line = step.line > 0 ? fmt::format(", line {}", step.line) : "";
  return fmt::format("after step {}{}: {}", row.verdict.step, line, describe(step, row.script->fabric));
}

std::string details(const Row& row) {
  std::string text;
  if (!row.failure.empty()) text += fmt::format("{}: {}\n", name_of(*row.script), row.failure);
  if (!row.verdict.same()) {
    text += fmt::format("{}: different {}\n", name_of(*row.script), place(row));
    if (!row.verdict.unrest.empty())
      text += fmt::format("  the daemons do not come to rest: {}\n", row.verdict.unrest);
    const std::size_t shown = std::min(kMostShown, row.verdict.differences.size());
    for (std::size_t i = 0; i < shown; ++i)
      text += "  " + to_text(row.verdict.differences[i]) + "\n";
    if (shown < row.verdict.differences.size())
      text += fmt::format("  and {} more\n", row.verdict.differences.size() - shown);
  }
  if (!text.empty()) text += "  again: " + row.repeat + "\n";
  return text;
}

}  // namespace

std::string table(const std::vector<Row>& rows) {
  std::size_t width = 6;
  for (const Row& row : rows)
    width = std::max(width, name_of(*row.script).size());
  std::string text = fmt::format("{:<{}}  {:>6}  {:>8}  {:>8}  {:>9}  {:>8}  {}\n", "script", width, "steps",
                                 "messages", "read", "compared", "not zero", "verdict");
  for (const Row& row : rows) {
    const Verdict& verdict = row.verdict;
    text += fmt::format("{:<{}}  {:>6}  {:>8}  {:>8}  {:>9}  {:>8}  {}\n", name_of(*row.script), width,
                        verdict.steps, verdict.messages, verdict.deliveries, verdict.values, verdict.not_zero,
                        word(row));
  }
  for (const Row& row : rows)
    text += details(row);
  return text;
}

std::string json(const std::vector<Row>& rows) {
  nlohmann::ordered_json document = {{"schema", "cnuas.equivalence/1"},
                                     {"scripts", nlohmann::ordered_json::array()}};
  for (const Row& row : rows) {
    nlohmann::ordered_json entry = {{"script", name_of(*row.script)},
                                    {"verdict", word(row)},
                                    {"steps", row.verdict.steps},
                                    {"messages", row.verdict.messages},
                                    {"read", row.verdict.deliveries},
                                    {"compared", row.verdict.values},
                                    {"not_zero", row.verdict.not_zero},
                                    {"drop_reasons", row.verdict.drop_reasons},
                                    {"differences", nlohmann::ordered_json::array()},
                                    {"repeat", row.repeat}};
    if (!row.failure.empty()) entry["failure"] = row.failure;
    if (!row.verdict.same()) {
      const Step& step = row.script->steps[row.verdict.step - 1];
      entry["different_after"] = {{"step", row.verdict.step}, {"what", describe(step, row.script->fabric)}};
      if (step.line > 0) entry["different_after"]["line"] = step.line;
      if (!row.verdict.unrest.empty()) entry["unrest"] = row.verdict.unrest;
    }
    for (const Difference& each : row.verdict.differences) {
      nlohmann::ordered_json difference = {{"place", each.place}};
      if (each.port >= 0) difference["port"] = each.port;
      if (!each.type.empty()) difference["type"] = each.type;
      difference["what"] = each.what;
      difference["simulator"] = each.simulator;
      difference["daemon"] = each.daemon;
      entry["differences"].push_back(std::move(difference));
    }
    document["scripts"].push_back(std::move(entry));
  }
  return document.dump(2, ' ', false, nlohmann::ordered_json::error_handler_t::replace) + "\n";
}

}  // namespace cnuas::equivalence
