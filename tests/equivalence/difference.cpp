#include "tests/equivalence/difference.h"

#include <algorithm>
#include <map>
#include <string_view>
#include <utility>

namespace cnuas::equivalence {

namespace {

using fabric_switch::DropReason;
using fabric_switch::TypeCounters;

struct CounterField {
  std::string_view name;
  std::uint64_t TypeCounters::*member;
};
constexpr CounterField kCounters[] = {
    {"rx_frames", &TypeCounters::rx_frames},
    {"rx_bytes", &TypeCounters::rx_bytes},
    {"rx_dropped", &TypeCounters::rx_dropped},
    {"consumed", &TypeCounters::consumed},
    {"forwarded", &TypeCounters::forwarded},
    {"copies", &TypeCounters::copies},
    {"own", &TypeCounters::own},
    {"carried_over", &TypeCounters::carried_over},
    {"offered", &TypeCounters::offered},
    {"tx_frames", &TypeCounters::tx_frames},
    {"tx_bytes", &TypeCounters::tx_bytes},
    {"tx_dropped", &TypeCounters::tx_dropped},
};

// Does not compile when there are more counters, or fewer.
constexpr bool lists_all(const TypeCounters& counters) {
  [[maybe_unused]] const auto& [a, b, c, d, e, f, g, h, i, j, k, l] = counters;
  return std::size(kCounters) == 12;
}
static_assert(lists_all(TypeCounters{}));

std::string type_name(std::size_t slot) {
  return slot == 0 ? "INVALID" : std::string(wire::name(static_cast<wire::FrameType>(slot)));
}

std::string text(std::uint64_t value) {
  return std::to_string(value);
}
std::string text(bool value) {
  return value ? "true" : "false";
}
std::string text(wire::ByteOrder order) {
  return order == wire::ByteOrder::big ? "big" : "little";
}
std::string text(fabric_switch::PortRole role) {
  return role == fabric_switch::PortRole::gpu ? "gpu" : "inter_switch";
}
std::string text(GpuId id) {
  return id == kNoGpu ? "none" : id == kBroadcast ? "all" : to_string(id);
}
std::string text(const Delivery& frame) {
  const wire::FrameHeader& header = frame.header;
  char digest[17];
  std::snprintf(digest, sizeof digest, "%016llx", static_cast<unsigned long long>(frame.digest));
  return type_name(fabric_switch::slot(header.type)) + " to " + text(header.destination) + " of " +
         text(std::uint64_t{wire::kHeaderBytes + header.payload_bytes}) + " B, " + text(header.order) +
         "-endian, digest " + digest;
}
std::string text(const fabric_switch::FdbEntry& entry) {
  return "port " + text(std::uint64_t{entry.port}) + ", " +
         (entry.origin == fabric_switch::FdbOrigin::configured ? "configured" : "learned");
}
std::string text(const fabric_switch::Group& group) {
  std::string members;
  for (const GpuId each : group.members)
    members += (members.empty() ? "" : " ") + text(each);
  return "group " + text(std::uint64_t{group.id}) + " '" + group.name + "' of " + members;
}

constexpr std::string_view kAbsent = "none";

class Comparer {
 public:
  explicit Comparer(const Fabric& fabric) : fabric_(fabric) {}

  Comparison run(const StepObservation& simulator, const StepObservation& daemon) {
    place_ = "the step";
    value("refused", simulator.refused, daemon.refused);
    deliveries(simulator.deliveries, daemon.deliveries);
    for (std::size_t i = 0; i < fabric_.switches.size(); ++i) {
      place_ = fabric_.switches[i].name;
      port_ = -1;
      of_switch(simulator.switches[i], daemon.switches[i]);
    }
    return std::move(result_);
  }

 private:
  void report(std::string what, std::string simulator, std::string daemon) {
    result_.differences.push_back(
        {place_, port_, type_, std::move(what), std::move(simulator), std::move(daemon)});
  }
  template <class Value>
  void value(std::string_view what, const Value& simulator, const Value& daemon) {
    ++result_.values;
    if (simulator != daemon) report(std::string(what), text(simulator), text(daemon));
  }
  void count(std::string_view what, std::uint64_t simulator, std::uint64_t daemon) {
    if (simulator != 0) ++result_.not_zero;
    value(what, simulator, daemon);
  }

  // Frames of one source keep their order; those of several may be mixed in any.
  using BySource = std::map<std::pair<GpuIndex, GpuId>, std::vector<Delivery>>;
  static BySource sorted(const std::vector<Delivery>& deliveries) {
    BySource by_source;
    for (const Delivery& each : deliveries)
      by_source[{each.to, each.header.source}].push_back(each);
    return by_source;
  }
  void deliveries(const std::vector<Delivery>& simulator, const std::vector<Delivery>& daemon) {
    BySource left = sorted(simulator);
    BySource right = sorted(daemon);
    for (const auto& [key, unused] : right)
      left.try_emplace(key);
    for (const auto& [key, frames] : left) {
      place_ = to_string(fabric_.gpus[key.first].id);
      sequences("from " + text(key.second), frames, right[key]);
    }
  }
  void sequences(const std::string& from, const std::vector<Delivery>& simulator,
                 const std::vector<Delivery>& daemon) {
    value("frames read " + from, std::uint64_t{simulator.size()}, std::uint64_t{daemon.size()});
    const std::size_t both = std::min(simulator.size(), daemon.size());
    result_.values += both;
    const auto [first, second] = std::mismatch(
        simulator.begin(), simulator.begin() + static_cast<std::ptrdiff_t>(both), daemon.begin());
    const std::size_t at = static_cast<std::size_t>(first - simulator.begin());
    if (at < both) report("frame " + std::to_string(at + 1) + " read " + from, text(*first), text(*second));
  }

  void of_switch(const SwitchObservation& simulator, const SwitchObservation& daemon) {
    fdb(simulator.fdb, daemon.fdb);
    groups(simulator.groups, daemon.groups);
    for (std::size_t i = 0; i < std::max(simulator.ports.size(), daemon.ports.size()); ++i) {
      port_ = static_cast<int>(i);
      const PortObservation nothing;
      of_port(i < simulator.ports.size() ? simulator.ports[i] : nothing,
              i < daemon.ports.size() ? daemon.ports[i] : nothing);
    }
  }

  void fdb(const std::vector<fabric_switch::FdbEntry>& simulator,
           const std::vector<fabric_switch::FdbEntry>& daemon) {
    std::map<GpuId, std::pair<std::string, std::string>> entries;
    for (const auto& each : simulator)
      entries[each.gpu].first = text(each);
    for (const auto& each : daemon)
      entries[each.gpu].second = text(each);
    for (const auto& [gpu, sides] : entries)
      either("forwarding database, " + text(gpu), sides.first, sides.second);
  }

  void groups(const std::vector<fabric_switch::Group>& simulator,
              const std::vector<fabric_switch::Group>& daemon) {
    for (std::size_t i = 0; i < std::max(simulator.size(), daemon.size()); ++i) {
      either("group table, entry " + std::to_string(i + 1), i < simulator.size() ? text(simulator[i]) : "",
             i < daemon.size() ? text(daemon[i]) : "");
    }
  }
  void either(std::string what, std::string simulator, std::string daemon) {
    ++result_.values;
    if (simulator == daemon) return;
    report(std::move(what), simulator.empty() ? std::string(kAbsent) : std::move(simulator),
           daemon.empty() ? std::string(kAbsent) : std::move(daemon));
  }

  void of_port(const PortObservation& simulator, const PortObservation& daemon) {
    value("role", simulator.role, daemon.role);
    value("admin_up", simulator.admin_up, daemon.admin_up);
    value("link_up", simulator.link_up, daemon.link_up);
    value("stalled", simulator.stalled, daemon.stalled);
    value("ingress_paused", simulator.ingress_paused, daemon.ingress_paused);
    value("byte_order", simulator.order, daemon.order);
    value("gpu", simulator.gpu, daemon.gpu);
    count("queued_bytes", simulator.queued_bytes, daemon.queued_bytes);
    for (std::size_t slot = 0; slot < fabric_switch::kTypeSlots; ++slot) {
      type_ = type_name(slot);
      of_type(slot, simulator, daemon);
    }
    type_.clear();
  }

  void of_type(std::size_t slot, const PortObservation& simulator, const PortObservation& daemon) {
    for (const CounterField& each : kCounters)
      count(each.name, simulator.by_type[slot].*each.member, daemon.by_type[slot].*each.member);
    count("queued", simulator.queued[slot], daemon.queued[slot]);
    for (std::size_t reason = 0; reason < fabric_switch::kDropReasons; ++reason) {
      const std::string name(fabric_switch::name(static_cast<DropReason>(reason)));
      if (simulator.rx_drops[reason][slot] + simulator.tx_drops[reason][slot] > 0)
        result_.drop_reasons.insert(name);
      count("rx_drops " + name, simulator.rx_drops[reason][slot], daemon.rx_drops[reason][slot]);
      count("tx_drops " + name, simulator.tx_drops[reason][slot], daemon.tx_drops[reason][slot]);
    }
  }

  const Fabric& fabric_;
  Comparison result_;
  std::string place_;
  int port_ = -1;
  std::string type_;
};

}  // namespace

std::string to_text(const Difference& difference) {
  std::string text = difference.place;
  if (difference.port >= 0) text += " port " + std::to_string(difference.port);
  if (!difference.type.empty()) text += ", " + difference.type;
  return text + ", " + difference.what + ": " + difference.simulator + " in the simulator, " +
         difference.daemon + " in the daemon";
}

Comparison compare(const Fabric& fabric, const StepObservation& simulator, const StepObservation& daemon) {
  return Comparer(fabric).run(simulator, daemon);
}

}  // namespace cnuas::equivalence
