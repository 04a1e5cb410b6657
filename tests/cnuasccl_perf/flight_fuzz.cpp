// Any bytes, as the dumps of several ranks, a line "---" between two: what can be read is diagnosed, and both
// reports can be written.

#include "live/ccl/flight/diagnosis.h"
#include "live/ccl/flight/dump.h"
#include "live/ccl/flight/report.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <utility>
#include <vector>

#include <nlohmann/json.hpp>

namespace {

using namespace cnuas;
using namespace cnuas::live::flight;

[[noreturn]] void die(const char* what) {
  std::fprintf(stderr, "%s\n", what);
  std::abort();
}

void check(const Diagnosis& diagnosis) {
  if (diagnosis.dumps.size() != diagnosis.gpus.size()) die("not a place for every rank");
  for (std::size_t i = 0; i < diagnosis.culprits.size(); ++i) {
    if (diagnosis.culprits[i] >= diagnosis.gpus.size()) die("a culprit that is no rank");
    if (i > 0 && diagnosis.culprits[i] <= diagnosis.culprits[i - 1]) die("culprits out of order");
  }
  if (diagnosis.verdict != Verdict::well && diagnosis.text.empty()) die("no reason");
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const std::string kBetween = "\n---\n";
  const std::string text(reinterpret_cast<const char*>(data), size);
  std::vector<Dump> dumps;
  std::vector<std::string> problems;
  for (std::size_t at = 0; at <= text.size();) {
    const std::size_t end = std::min(text.find(kBetween, at), text.size());
    if (Result<Dump> dump =
            parse_dump(text.substr(at, end - at), "rank_" + std::to_string(dumps.size()) + ".json")) {
      dumps.push_back(std::move(*dump));
    } else {
      problems.push_back(dump.error().message);
      if (problems.back().empty()) die("refused without a reason");
    }
    at = end + kBetween.size();
  }
  const std::vector<Diagnosis> diagnoses = diagnose(dumps, problems);
  for (const Diagnosis& each : diagnoses)
    check(each);
  if (to_text(diagnoses).empty() != diagnoses.empty()) die("a report of nothing");
  if (!nlohmann::json::parse(to_json(diagnoses, problems), nullptr, false).is_object()) die("no JSON");
  return 0;
}
