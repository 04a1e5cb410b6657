#include "scenarios/fault_section.h"

#include "scenarios/participants.h"

#include <map>
#include <optional>
#include <string>
#include <tuple>

namespace cnuas::scenarios {
namespace {

// What a fault acts on: two of one subject cannot act at the same time.
struct Subject {
  std::string_view kind;
  bool cable = false;
  std::uint32_t index = 0;
  auto operator<=>(const Subject&) const = default;
};

class FaultReader {
 public:
  FaultReader(const Fabric& fabric, Diagnostics& diagnostics) : fabric_(fabric), diagnostics_(diagnostics) {}

  void add(const Node& node, std::vector<Fault>& faults) {
    Fault fault;
    fault.at_ps = node.get("at")->number;
    if (const Node* duration = node.get("for")) fault.duration_ps = duration->number;
    const std::optional<Subject> subject = read_what(node, fault);
    if (!subject || !is_free(*subject, fault, node)) return;
    spans_[*subject].push_back(Span{fault.at_ps, fault.duration_ps});
    faults.push_back(fault);
  }

 private:
  struct Span {
    Picoseconds begin_ps;
    std::optional<Picoseconds> duration_ps;
    bool before(Picoseconds time) const { return duration_ps && begin_ps + *duration_ps <= time; }
  };

  // Fills in Fault::what. Nothing: an error has been reported.
  std::optional<Subject> read_what(const Node& node, Fault& fault) {
    if (node.has("receiver")) return read_receiver(node, fault);
    if (node.has("switch")) return read_restart(node, fault);
    const std::optional<LinkTarget> link = read_target(node);
    if (!link) return std::nullopt;
    std::string_view kind = "down";
    if (const Node* lanes = node.get("lanes")) {
      fault.what = LanesLost{*link, lanes->fraction};
      kind = "lanes";
    } else if (const Node* rate = node.get("bit_error_rate")) {
      fault.what = BitErrorRate{*link, rate->fraction};
      kind = "bits";
    } else {
      fault.what = LinkDown{*link};
    }
    const auto* cable = std::get_if<CableIndex>(&*link);
    return Subject{kind, cable != nullptr, cable ? *cable : std::get<GpuId>(*link).value};
  }

  std::optional<LinkTarget> read_target(const Node& node) {
    if (const Node* port = node.get("port")) {
      if (const auto id = read_gpu(*port, fabric_, diagnostics_)) return LinkTarget(*id);
    } else if (const auto cable = read_cable(*node.get("link"), fabric_, diagnostics_)) {
      return LinkTarget(*cable);
    }
    return std::nullopt;
  }

  std::optional<Subject> read_receiver(const Node& node, Fault& fault) {
    const bool slow = node.get("receiver")->text == "slow";
    const Node* hold = node.get("hold");
    if (slow && !hold)
      diagnostics_.error(node.key_place("receiver"),
                         "a slow receiver needs the time that it holds each frame",
                         "add for example 'hold: 10 us'");
    else if (!slow && hold)
      diagnostics_.error(node.key_place("hold"), "a dead receiver holds its frame for good",
                         "remove 'hold', or write 'receiver: slow'");
    const std::optional<GpuId> id = read_gpu(*node.get("gpu"), fabric_, diagnostics_);
    if (!id || slow != (hold != nullptr)) return std::nullopt;
    if (slow)
      fault.what = SlowReceiver{*id, hold->number};
    else
      fault.what = DeadReceiver{*id};
    return Subject{"receiver", false, id->value};
  }

  std::optional<Subject> read_restart(const Node& node, Fault& fault) {
    const auto index = read_switch_name(*node.get("switch"), fabric_, diagnostics_);
    if (!index) return std::nullopt;
    fault.what = SwitchRestart{*index};
    return Subject{"switch", false, *index};
  }

  bool is_free(const Subject& subject, const Fault& fault, const Node& node) {
    const Span span{fault.at_ps, fault.duration_ps};
    for (const Span& other : spans_[subject]) {
      if (other.before(span.begin_ps) || span.before(other.begin_ps)) continue;
      diagnostics_.error(node.place, "another fault of this kind is there at the same time",
                         "let one end, with 'for', before the other begins");
      return false;
    }
    return true;
  }

  const Fabric& fabric_;
  Diagnostics& diagnostics_;
  std::map<Subject, std::vector<Span>> spans_;
};

}  // namespace

std::vector<Fault> read_faults(const Node& scenario, const Fabric& fabric, Diagnostics& diagnostics) {
  std::vector<Fault> faults;
  const Node* list = scenario.find("faults");
  if (!list) return faults;
  FaultReader reader(fabric, diagnostics);
  for (const Node& node : list->items)
    if (node.good) reader.add(node, faults);
  return faults;
}

}  // namespace cnuas::scenarios
