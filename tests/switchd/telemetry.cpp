#include "tests/switchd/telemetry.h"

#include <array>
#include <utility>

namespace cnuas::test {

namespace {

using nlohmann::json;

constexpr std::array<std::string_view, 8> kTypes{
    "INVALID",           "DATA",      "DOORBELL",      "ATOMIC", "COLLECTIVE_REDUCE",
    "COLLECTIVE_GATHER", "DISCOVERY", "LINK_KEEPALIVE"};

std::uint64_t number(const json& object, std::string_view key) {
  return object.at(std::string(key)).get<std::uint64_t>();
}

// {"no_route": {"DATA": 3}}: of one reason, or of one type.
std::uint64_t of_reason(const json& reasons, std::string_view reason) {
  std::uint64_t sum = 0;
  const auto types = reasons.find(std::string(reason));
  if (types == reasons.end()) return 0;
  for (const auto& [type, count] : types->items())
    sum += count.get<std::uint64_t>();
  return sum;
}
std::uint64_t of_type(const json& reasons, std::string_view type) {
  std::uint64_t sum = 0;
  for (const auto& [reason, types] : reasons.items())
    sum += types.value(std::string(type), std::uint64_t{0});
  return sum;
}

class Checker {
 public:
  void equal(std::uint64_t left, std::uint64_t right, const std::string& where, const std::string& law) {
    if (left == right) return;
    found_.push_back(where + ": " + law + " does not hold: " + std::to_string(left) + " and " +
                     std::to_string(right));
  }
  std::vector<std::string> found() && { return std::move(found_); }

 private:
  std::vector<std::string> found_;
};

void check_type(Checker& check, const std::string& where, const json& port, std::string_view type) {
  const json& of = port.at("by_type").at(std::string(type));
  const auto n = [&](std::string_view key) { return number(of, key); };
  check.equal(n("rx_frames"), n("rx_dropped") + n("consumed") + n("forwarded"), where,
              "rx_frames = rx_dropped + consumed + forwarded");
  check.equal(n("offered") + n("carried_over"), n("tx_frames") + n("tx_dropped") + n("queued"), where,
              "offered + carried_over = tx_frames + tx_dropped + queued");
  check.equal(n("rx_dropped"), of_type(port.at("rx_drops_by_reason"), type), where,
              "rx_dropped = sum of rx_drops_by_reason");
  check.equal(n("tx_dropped"), of_type(port.at("tx_drops_by_reason"), type), where,
              "tx_dropped = sum of tx_drops_by_reason");
}

void check_totals(Checker& check, const std::string& where, const json& port) {
  constexpr std::array<std::pair<std::string_view, std::string_view>, 7> kTotals{
      {{"rx_frames", "rx_frames"},
       {"rx_bytes", "rx_bytes"},
       {"tx_frames", "tx_frames"},
       {"tx_bytes", "tx_bytes"},
       {"rx_drops", "rx_dropped"},
       {"tx_drops", "tx_dropped"},
       {"queued_frames", "queued"}}};
  for (const auto& [total, counter] : kTotals) {
    std::uint64_t sum = 0;
    for (const std::string_view type : kTypes)
      sum += number(port.at("by_type").at(std::string(type)), counter);
    check.equal(number(port, total), sum, where, std::string(total) + " = sum over all types");
  }
}

}  // namespace

Result<Telemetry> Telemetry::fetch(ManagementClient& client) {
  Result<json> dump = client.request({{"command", "telemetry_dump"}});
  if (!dump) return tl::unexpected(dump.error());
  return Telemetry(std::move(*dump));
}

std::uint64_t Telemetry::count(std::size_t port, std::string_view counter) const {
  return number(dump_.at("ports").at(port), counter);
}

std::uint64_t Telemetry::count(std::size_t port, std::string_view type, std::string_view counter) const {
  return number(dump_.at("ports").at(port).at("by_type").at(std::string(type)), counter);
}

std::uint64_t Telemetry::rx_drops(std::size_t port, std::string_view reason) const {
  return of_reason(dump_.at("ports").at(port).at("rx_drops_by_reason"), reason);
}

std::uint64_t Telemetry::tx_drops(std::size_t port, std::string_view reason) const {
  return of_reason(dump_.at("ports").at(port).at("tx_drops_by_reason"), reason);
}

std::vector<std::string> Telemetry::violations() const {
  Checker check;
  for (std::size_t i = 0; i < ports(); ++i) {
    const json& port = dump_.at("ports").at(i);
    const std::string where = "port " + std::to_string(i);
    check.equal(number(port, "port"), i, where, "ports stand in order");
    for (const std::string_view type : kTypes)
      check_type(check, where + ", " + std::string(type), port, type);
    check_totals(check, where, port);
  }
  for (const std::string_view type : kTypes) {
    std::uint64_t made = 0;
    std::uint64_t offered = 0;
    for (std::size_t i = 0; i < ports(); ++i) {
      made += count(i, type, "copies") + count(i, type, "own");
      offered += count(i, type, "offered");
    }
    check.equal(made, offered, std::string(type), "sum of copies + sum of own = sum of offered");
  }
  return std::move(check).found();
}

}  // namespace cnuas::test
