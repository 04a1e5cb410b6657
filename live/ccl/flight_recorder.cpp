#include "live/ccl/flight_recorder.h"

#include <algorithm>
#include <chrono>

#include <nlohmann/json.hpp>

namespace cnuas::live::collectives {
namespace {

using Json = nlohmann::ordered_json;

Json to_json(const FlightEntry& entry) {
  const bool reduces = entry.signature.op != ccl::kNoOperator;
  Json json = {
      {"sequence", entry.sequence},
      {"collective", name(entry.kind)},
      {"count", entry.signature.count},
      {"type", name(static_cast<ccl::DataType>(entry.signature.type))},
      {"operator", reduces ? Json(name(static_cast<ccl::Operator>(entry.signature.op))) : Json(nullptr)},
      {"root", entry.kind == ccl::EnvelopeKind::broadcast ? Json(entry.signature.root) : Json(nullptr)},
      {"algorithm", name(static_cast<ccl::Algorithm>(entry.signature.algorithm))},
      {"pieces", entry.signature.chunks},
      {"canonical", entry.canonical},
      {"in_place", entry.in_place},
      {"began_unix_ns", entry.began_ns},
      {"took_ns", entry.took_ns < 0 ? Json(nullptr) : Json(entry.took_ns)},
      {"state", entry.took_ns < 0             ? "running"
                : entry.status == CNUASCCL_OK ? "done"
                                              : "failed"},
      {"status", status_name(number_of(entry.status))},
      {"frames_sent", entry.frames_sent},
      {"frames_received", entry.frames_received},
  };
  if (entry.culprit != ~Rank{0}) json["culprit"] = entry.culprit;
  if (!entry.text.empty()) json["error"] = entry.text;
  return json;
}

}  // namespace

void FlightRecorder::resize(std::size_t entries) {
  const std::lock_guard lock(mutex_);
  std::rotate(entries_.begin(), entries_.begin() + static_cast<std::ptrdiff_t>(first_), entries_.end());
  first_ = 0;
  most_ = entries;
  if (entries_.size() > most_)
    entries_.erase(entries_.begin(), entries_.end() - static_cast<std::ptrdiff_t>(most_));
}

void FlightRecorder::begin(const FlightEntry& entry) {
  const std::lock_guard lock(mutex_);
  if (entries_.size() < most_) {
    entries_.push_back(entry);
  } else if (most_ > 0) {
    entries_[first_] = entry;
    first_ = (first_ + 1) % most_;
  }
  ++begun_;
}

void FlightRecorder::end(const FlightEntry& entry) {
  const std::lock_guard lock(mutex_);
  if (entries_.empty()) return;
  entries_[(first_ + entries_.size() - 1) % entries_.size()] = entry;
}

std::string FlightRecorder::dump(const Context& context) const {
  const std::lock_guard lock(mutex_);
  const Membership& membership = *context.membership;
  Json gpus = Json::array();
  for (Rank rank = 0; rank < membership.size(); ++rank)
    gpus.push_back(to_string(membership.gpu_of(rank)));
  Json entries = Json::array();
  for (std::size_t i = 0; i < entries_.size(); ++i)
    entries.push_back(to_json(entries_[(first_ + i) % entries_.size()]));
  const auto now = std::chrono::system_clock::now().time_since_epoch();
  const Json json = {
      {"schema", "cnuasccl.flight/1"},
      {"version", CNUASCCL_VERSION_TEXT},
      {"comm_id", context.communicator},
      {"rank", membership.rank()},
      {"n_ranks", membership.size()},
      {"gpus", gpus},
      {"carrier", context.carrier},
      {"dumped_unix_ns", std::chrono::duration_cast<std::chrono::nanoseconds>(now).count()},
      {"collectives", begun_},
      {"entries", entries},
  };
  return json.dump(1, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace cnuas::live::collectives
