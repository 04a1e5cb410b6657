#include "scenarios/fabric_section.h"
#include "scenarios/participants.h"

#include <algorithm>
#include <map>
#include <string>
#include <vector>

namespace cnuas::scenarios {
namespace {

class ExplicitFabric {
 public:
  ExplicitFabric(const Node& fabric, Diagnostics& diagnostics)
      : node_(fabric), diagnostics_(diagnostics), defaults_(read_switch(fabric, diagnostics)) {}

  std::optional<Fabric> read() {
    const std::size_t before = diagnostics_.errors();
    const Node* switches = node_.find("switches");
    if (!switches) return std::nullopt;
    for (const Node& item : switches->items)
      add_switch(item);
    if (const Node* links = node_.find("links")) {
      for (const Node& item : links->items)
        add_cable(item);
    }
    if (!node_.good || diagnostics_.errors() != before) return std::nullopt;
    std::sort(fabric_.gpus.begin(), fabric_.gpus.end(),
              [](const Gpu& a, const Gpu& b) { return a.id < b.id; });
    if (fabric_.gpus.empty()) {
      diagnostics_.error(node_.key_place("switches"), "no switch has GPUs",
                         "add for example 'rack: 1, gpus: 8' to one of them");
      return std::nullopt;
    }
    if (const Result<void> valid = validate(fabric_); !valid) {
      const Error& error = valid.error();
      const std::string_view key =
          error.code == ErrorCode::unreachable && node_.has("links") ? "links" : "switches";
      diagnostics_.error(
          node_.key_place(key), error.where.empty() ? error.message : error.where + ": " + error.message,
          error.code == ErrorCode::unreachable
              ? "add to 'links' for example {between: [leaf1, leaf2], bandwidth: 400 GB/s, latency: 1 us}"
              : "");
      return std::nullopt;
    }
    return std::move(fabric_);
  }

 private:
  void add_switch(const Node& item) {
    const Node* name = item.get("name");
    if (!name) return;
    const auto index = static_cast<SwitchIndex>(fabric_.switches.size());
    const auto [before, added] = by_name_.emplace(name->text, index);
    if (!added) {
      diagnostics_.error(name->place, "there are two switches named " + quoted(name->text),
                         "names are unique");
      return;
    }
    Switch made = defaults_;
    made.name = name->text;
    change_switch(item, made);
    const Node* gpus = item.get("gpus");
    const bool has_gpus = gpus && gpus->number > 0;
    if (const Node* rack = item.get("rack"); rack && has_gpus)
      made.rack = static_cast<unsigned>(rack->number);
    fabric_.switches.push_back(std::move(made));
    if (!item.good) return;
    if (has_gpus)
      add_gpus(item, index);
    else
      warn_of_idle_settings(item);
  }

  // What only concerns GPUs, at a switch that has none.
  void warn_of_idle_settings(const Node& item) {
    for (const char* key : {"rack", "first_slot", "link"})
      if (item.has(key))
        diagnostics_.warning(item.key_place(key), quoted(key) + " has no effect at a switch without GPUs",
                             "'gpus: N' gives the switch GPUs");
  }

  void add_gpus(const Node& item, SwitchIndex index) {
    const Node* rack = item.get("rack");
    const std::string name = quoted(item.get("name")->text);
    if (!rack) {
      diagnostics_.error(item.key_place("gpus"), "switch " + name + " has GPUs and no 'rack'",
                         "add for example 'rack: 1': a GPU is named by its rack and slot");
      return;
    }
    const Node* link = item.has("link") ? item.get("link") : node_.get("link");
    if (!link) {
      if (!node_.has("link"))
        diagnostics_.error(item.key_place("gpus"), "switch " + name + " has GPUs and no 'link' to them",
                           "add for example 'link: nvlink4', here or to the fabric");
      return;
    }
    const Node* first = item.get("first_slot");
    const std::int64_t first_slot = first ? first->number : 0;
    for (std::int64_t i = 0; i < item.get("gpus")->number; ++i)
      if (!add_gpu(item, index, static_cast<unsigned>(rack->number), static_cast<unsigned>(first_slot + i),
                   read_link(*link)))
        return;
  }

  bool add_gpu(const Node& item, SwitchIndex index, unsigned rack, unsigned slot, const LinkProfile& link) {
    const Place& place = item.get("gpus")->place;
    const std::string name = std::to_string(rack) + "/" + std::to_string(slot);
    if (slot >= kSlotsPerRack) {
      diagnostics_.error(place, "there would be a GPU " + name + ", and slots end at 255",
                         "lower 'gpus' or 'first_slot'");
      return false;
    }
    const Result<GpuId> id = make_gpu_id(rack, slot);
    if (!id) {
      const bool none = rack == 0;
      diagnostics_.error(
          place,
          "GPU " + name + " would have the reserved ID " +
              (none ? "0x0000, which means \"no GPU\"" : "0xFFFF, which means \"all GPUs\""),
          none ? "use another rack, or begin with 'first_slot: 1'" : "use another rack, or fewer GPUs");
      return false;
    }
    const auto [owner, added] = owner_.emplace(id->value, index);
    if (!added) {
      diagnostics_.error(place,
                         "GPU " + name +
                             " is at two switches: " + quoted(fabric_.switches[owner->second].name) +
                             " and " + quoted(fabric_.switches[index].name),
                         "give one of them another 'rack', or a 'first_slot' past the other's GPUs");
      return false;
    }
    fabric_.gpus.push_back(Gpu{*id, index, 0, link});
    return true;
  }

  void add_cable(const Node& item) {
    const Node* between = item.get("between");
    if (!between) return;
    const std::optional<SwitchIndex> a = end_of_cable(between->items[0]);
    const std::optional<SwitchIndex> b = end_of_cable(between->items[1]);
    if (!a || !b) return;
    if (*a == *b)
      diagnostics_.error(between->items[1].place,
                         "the link joins switch " + quoted(between->items[1].text) + " to itself",
                         "name two different switches");
    else if (item.good)
      fabric_.cables.push_back(Cable{*a, *b, read_link(item)});
  }

  std::optional<SwitchIndex> end_of_cable(const Node& name) {
    const auto found = by_name_.find(name.text);
    if (found != by_name_.end()) return found->second;
    // Which names there are is only known when all switches could be read.
    if (node_.get("switches")) report_unknown_switch(name, fabric_, diagnostics_);
    return std::nullopt;
  }

  const Node& node_;
  Diagnostics& diagnostics_;
  Switch defaults_;
  Fabric fabric_;
  std::map<std::string, SwitchIndex> by_name_;
  std::map<std::uint16_t, SwitchIndex> owner_;
};

}  // namespace

std::optional<Fabric> read_explicit_fabric(const Node& fabric, Diagnostics& diagnostics) {
  return ExplicitFabric(fabric, diagnostics).read();
}

}  // namespace cnuas::scenarios
