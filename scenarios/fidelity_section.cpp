#include "scenarios/fidelity_section.h"

#include <numeric>
#include <string>
#include <vector>

namespace cnuas::scenarios {
namespace {

bool has_faults(const Node& scenario) {
  const Node* faults = scenario.find("faults");
  return faults && !faults->items.empty();
}

void warn_of(std::initializer_list<const char*> keys, const Node& mapping, Diagnostics& diagnostics) {
  for (const char* key : keys)
    if (mapping.has(key))
      diagnostics.warning(mapping.key_place(key), quoted(key) + " has no effect with fluid fidelity",
                          "add 'fidelity: frame' to the scenario, or remove it");
}

void warn_of_frame_settings(const Node& fabric, Diagnostics& diagnostics) {
  const auto of_switch = {"port_buffer", "forwarding", "stall_timeout"};
  warn_of({"frame_size"}, fabric, diagnostics);
  const auto of_link = [&](const Node& parent, const char* key) {
    const Node* link = parent.find(key);
    if (link && link->kind == Node::Kind::mapping) warn_of({"credits"}, *link, diagnostics);
  };
  of_link(fabric, "link");
  of_link(fabric, "inter_switch");
  if (const Node* links = fabric.find("links"))
    for (const Node& each : links->items)
      warn_of({"credits"}, each, diagnostics);
  if (const Node* settings = fabric.find("switch")) warn_of(of_switch, *settings, diagnostics);
  if (const Node* switches = fabric.find("switches"))
    for (const Node& each : switches->items) {
      warn_of(of_switch, each, diagnostics);
      of_link(each, "link");
    }
}

void check_ports(const Node& node, const Fabric& fabric, Diagnostics& diagnostics) {
  std::vector<std::size_t> ports(fabric.switches.size(), 0);
  for (const Gpu& gpu : fabric.gpus)
    ++ports[gpu.attached];
  for (const Cable& cable : fabric.cables) {
    ++ports[cable.a];
    ++ports[cable.b];
  }
  for (SwitchIndex i = 0; i < ports.size(); ++i)
    if (ports[i] > kMostPorts)
      diagnostics.error(node.key_place("switches"),
                        "switch " + quoted(fabric.switches[i].name) + " has " + std::to_string(ports[i]) +
                            " ports, and frame fidelity goes to " + std::to_string(kMostPorts),
                        "use fewer links and GPUs at this switch, or 'fidelity: fluid'");
}

// Switches that are joined so far, as trees; a tree goes by the number of its root.
class Forest {
 public:
  explicit Forest(std::size_t switches) : parent_(switches) {
    std::iota(parent_.begin(), parent_.end(), SwitchIndex{0});
  }
  SwitchIndex root(SwitchIndex each) {
    while (parent_[each] != each)
      each = parent_[each] = parent_[parent_[each]];
    return each;
  }
  // False: they were joined already.
  bool join(SwitchIndex a, SwitchIndex b) {
    const SwitchIndex from = root(a), to = root(b);
    parent_[from] = to;
    return from != to;
  }

 private:
  std::vector<SwitchIndex> parent_;
};

}  // namespace

Fidelity read_fidelity(const Node& scenario) {
  const Node* fidelity = scenario.get("fidelity");
  if (!fidelity || fidelity->text == "auto") return Fidelity::automatic;
  return fidelity->text == "frame" ? Fidelity::frame : Fidelity::fluid;
}

bool runs_frames(const Node& scenario) {
  return chosen_fidelity(read_fidelity(scenario), has_faults(scenario)) == Fidelity::frame;
}

void check_fidelity(const Node& scenario, Diagnostics& diagnostics) {
  const Node* fidelity = scenario.get("fidelity");
  const bool unclear = scenario.has("fidelity") && !fidelity;
  if (unclear || runs_frames(scenario)) return;
  if (has_faults(scenario))
    diagnostics.error(scenario.key_place("faults"), "faults need frame fidelity",
                      "write 'fidelity: frame', or leave 'fidelity' out");
  if (const Node* fabric = scenario.find("fabric")) warn_of_frame_settings(*fabric, diagnostics);
}

void check_for_frames(const Node& scenario, const Fabric& fabric, Diagnostics& diagnostics) {
  const Node& node = *scenario.find("fabric");
  check_ports(node, fabric, diagnostics);
  Forest joined(fabric.switches.size());
  for (CableIndex i = 0; i < fabric.cables.size(); ++i) {
    const Cable& cable = fabric.cables[i];
    if (joined.join(cable.a, cable.b)) continue;
    const std::string ends =
        quoted(fabric.switches[cable.a].name) + " and " + quoted(fabric.switches[cable.b].name);
    diagnostics.error(
        node.find("links")->items[i].place,
        "the link between " + ends + " closes a circle, on which frames would go round for ever",
        has_faults(scenario) ? "remove it; or use 'fidelity: fluid', without faults"
                             : "remove it, or use 'fidelity: fluid'");
    return;
  }
}

}  // namespace cnuas::scenarios
