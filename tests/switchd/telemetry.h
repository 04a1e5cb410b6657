// What telemetry_dump tells, and whether it keeps the laws of core/switch/counters.h.
#pragma once

#include "core/engine/error.h"
#include "tests/switchd/management_client.h"

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include <nlohmann/json.hpp>

namespace cnuas::test {

// The counters of all ports in one moment.
class Telemetry {
 public:
  // Errors: those of the request.
  static Result<Telemetry> fetch(ManagementClient& client);

  std::size_t ports() const { return dump_["ports"].size(); }
  // Of all types: "rx_frames", "tx_drops", "queued_frames", ...
  std::uint64_t count(std::size_t port, std::string_view counter) const;
  // Of one type ("DATA", "INVALID"): "forwarded", "queued", ...
  std::uint64_t count(std::size_t port, std::string_view type, std::string_view counter) const;
  // Of all types: of rx_drops_by_reason and tx_drops_by_reason.
  std::uint64_t rx_drops(std::size_t port, std::string_view reason) const;
  std::uint64_t tx_drops(std::size_t port, std::string_view reason) const;

  // One sentence for each law that does not hold, with port, type and figures; none when nothing was lost
  // without a count. Includes that totals are the sums of their types, and drops those of their reasons.
  std::vector<std::string> violations() const;

  const nlohmann::json& dump() const { return dump_; }

 private:
  explicit Telemetry(nlohmann::json dump) : dump_(std::move(dump)) {}
  nlohmann::json dump_;
};

}  // namespace cnuas::test
