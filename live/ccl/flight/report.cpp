#include "live/ccl/flight/report.h"

#include <algorithm>
#include <cstdio>

#include <nlohmann/json.hpp>

namespace cnuas::live::flight {
namespace {

using Json = nlohmann::ordered_json;

constexpr double kNsPerMs = 1e6;

std::string hex(std::uint64_t number) {
  char text[24];
  std::snprintf(text, sizeof text, "0x%08llx", static_cast<unsigned long long>(number));
  return text;
}

std::string state_of(const Dump* dump, std::uint64_t sequence) {
  if (dump == nullptr) return "no dump";
  const Entry* entry = dump->entry(sequence);
  if (entry == nullptr) return dump->begun <= sequence ? "not entered" : "forgotten";
  return entry->state == Entry::State::running ? "running"
         : entry->state == Entry::State::done  ? "done"
                                               : "failed";
}

// When the first rank entered the collective that the verdict is about.
std::int64_t origin(const Diagnosis& diagnosis) {
  std::int64_t first = 0;
  for (const Dump* dump : diagnosis.dumps) {
    const Entry* entry = dump == nullptr ? nullptr : dump->entry(diagnosis.sequence);
    if (entry != nullptr && (first == 0 || entry->began_unix_ns < first)) first = entry->began_unix_ns;
  }
  return first;
}

std::string rank_line(const Diagnosis& diagnosis, std::size_t rank, std::int64_t since) {
  const Dump* dump = diagnosis.dumps[rank];
  const bool blamed = std::count(diagnosis.culprits.begin(), diagnosis.culprits.end(), rank) > 0;
  char text[96];
  std::snprintf(text, sizeof text, "%c rank %-4zu GPU %-8s %-12s", blamed ? '*' : ' ', rank,
                diagnosis.gpus[rank].substr(0, 8).c_str(), state_of(dump, diagnosis.sequence).c_str());
  std::string line = text;
  const Entry* entry = dump == nullptr ? nullptr : dump->entry(diagnosis.sequence);
  if (entry != nullptr) {
    std::snprintf(text, sizeof text, "entered +%.3f ms",
                  static_cast<double>(entry->began_unix_ns - since) / kNsPerMs);
    line += text;
    if (entry->took_ns) {
      std::snprintf(text, sizeof text, ", took %.3f ms", static_cast<double>(*entry->took_ns) / kNsPerMs);
      line += text;
    }
    if (entry->state == Entry::State::failed) line += ", " + entry->status;
    if (entry->call != diagnosis.call) line += ", called " + entry->call;
  }
  line.erase(line.find_last_not_of(' ') + 1);
  return line + "\n";
}

std::size_t dumps_of(const Diagnosis& diagnosis) {
  return diagnosis.dumps.size() -
         static_cast<std::size_t>(std::count(diagnosis.dumps.begin(), diagnosis.dumps.end(), nullptr));
}

Json rank_json(const Diagnosis& diagnosis, std::size_t rank) {
  const Dump* dump = diagnosis.dumps[rank];
  Json json = {{"rank", rank},
               {"gpu", diagnosis.gpus[rank]},
               {"file", dump == nullptr ? Json(nullptr) : Json(dump->file)},
               {"begun", dump == nullptr ? Json(nullptr) : Json(dump->begun)}};
  if (diagnosis.verdict == Verdict::well) return json;
  json["state"] = state_of(dump, diagnosis.sequence);
  const Entry* entry = dump == nullptr ? nullptr : dump->entry(diagnosis.sequence);
  if (entry == nullptr) return json;
  json["call"] = entry->call;
  json["status"] = entry->status;
  json["began_unix_ns"] = entry->began_unix_ns;
  json["took_ns"] = entry->took_ns ? Json(*entry->took_ns) : Json(nullptr);
  if (!entry->error.empty()) json["error"] = entry->error;
  return json;
}

}  // namespace

std::string to_text(const std::vector<Diagnosis>& diagnoses) {
  std::string text;
  for (const Diagnosis& each : diagnoses) {
    text += "communicator " + hex(each.communicator) + ": " + std::to_string(each.gpus.size()) + " ranks, " +
            std::to_string(dumps_of(each)) + " dumps\n";
    text += std::string(name(each.verdict)) + ": " + each.text + "\n";
    if (each.verdict == Verdict::well) continue;
    text += "sequence " + std::to_string(each.sequence) + ": " + each.call + "\n";
    const std::int64_t since = origin(each);
    for (std::size_t rank = 0; rank < each.gpus.size(); ++rank)
      text += rank_line(each, rank, since);
  }
  return text;
}

std::string to_json(const std::vector<Diagnosis>& diagnoses, const std::vector<std::string>& problems) {
  Json list = Json::array();
  for (const Diagnosis& each : diagnoses) {
    const bool well = each.verdict == Verdict::well;
    Json ranks = Json::array();
    for (std::size_t rank = 0; rank < each.gpus.size(); ++rank)
      ranks.push_back(rank_json(each, rank));
    list.push_back({{"comm_id", each.communicator},
                    {"n_ranks", each.gpus.size()},
                    {"verdict", name(each.verdict)},
                    {"culprits", each.culprits},
                    {"text", each.text},
                    {"sequence", well ? Json(nullptr) : Json(each.sequence)},
                    {"call", well ? Json(nullptr) : Json(each.call)},
                    {"ranks", ranks}});
  }
  const Json json = {{"schema", "cnuasccl.flight-report/1"}, {"communicators", list}, {"problems", problems}};
  return json.dump(1, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace cnuas::live::flight
