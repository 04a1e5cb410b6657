#include "scenarios/participants.h"

#include "scenarios/similar.h"

#include <algorithm>
#include <bitset>
#include <string>

namespace cnuas::scenarios {
namespace {

// "rack 1 has the GPUs 1/0 to 1/7", or which racks there are.
std::string gpus_there_are(const Fabric& fabric, unsigned rack) {
  const Gpu* first = nullptr;
  const Gpu* last = nullptr;
  for (const Gpu& gpu : fabric.gpus) {
    if (gpu.id.rack() != rack) continue;
    if (!first) first = &gpu;
    last = &gpu;
  }
  if (first)
    return "rack " + std::to_string(rack) + " has the GPUs " + to_string(first->id) + " to " +
           to_string(last->id);
  const unsigned low = fabric.gpus.front().id.rack(), high = fabric.gpus.back().id.rack();
  if (low == high) return "there is only rack " + std::to_string(low);
  return "the racks with GPUs go from " + std::to_string(low) + " to " + std::to_string(high);
}

std::vector<GpuId> first_gpus(const Fabric& fabric, std::size_t count) {
  std::vector<GpuId> ranks;
  for (std::size_t i = 0; i < count; ++i)
    ranks.push_back(fabric.gpus[i].id);
  return ranks;
}

// `once`: why a GPU cannot be listed twice; empty: it can.
std::vector<GpuId> listed_gpus(const Node& list, const Fabric& fabric, std::string_view once,
                               Diagnostics& diagnostics) {
  std::vector<GpuId> ranks;
  std::bitset<1 << 16> seen;
  bool complete = true;
  for (const Node& item : list.items) {
    const std::optional<GpuId> id = item.good ? read_gpu(item, fabric, diagnostics) : std::nullopt;
    const bool repeated = id && seen[id->value] && !once.empty();
    if (repeated)
      diagnostics.error(item.place, "GPU " + to_string(*id) + " is listed twice", std::string(once));
    complete &= id && !repeated;
    if (!id) continue;
    seen.set(id->value);
    ranks.push_back(*id);
  }
  return complete ? ranks : std::vector<GpuId>{};
}

}  // namespace

std::optional<GpuId> read_gpu(const Node& node, const Fabric& fabric, Diagnostics& diagnostics) {
  const GpuId id{static_cast<std::uint16_t>(node.number)};
  if (find_gpu(fabric, id)) return id;
  diagnostics.error(node.place, "the fabric has no GPU " + to_string(id), gpus_there_are(fabric, id.rack()));
  return std::nullopt;
}

std::vector<GpuId> read_ranks(const Node& item, const Fabric& fabric, Diagnostics& diagnostics) {
  if (!item.has("ranks")) return first_gpus(fabric, fabric.gpus.size());
  const Node* ranks = item.find("ranks");
  if (ranks->kind == Node::Kind::list)
    return listed_gpus(*ranks, fabric, "every GPU has one rank", diagnostics);
  if (!ranks->good) return {};
  const auto count = static_cast<std::size_t>(ranks->number);
  if (count <= fabric.gpus.size()) return first_gpus(fabric, count);
  diagnostics.error(ranks->place,
                    std::to_string(count) + " ranks on a fabric of " + std::to_string(fabric.gpus.size()) +
                        (fabric.gpus.size() == 1 ? " GPU" : " GPUs"),
                    "a GPU has one rank; lower 'ranks', or leave it out for all GPUs");
  return {};
}

std::vector<GpuId> read_gpus(const Node& node, const Fabric& fabric, bool repeats, Diagnostics& diagnostics) {
  if (node.kind == Node::Kind::list)
    return listed_gpus(node, fabric, repeats ? "" : "name every GPU once", diagnostics);
  if (node.text == "all") return first_gpus(fabric, fabric.gpus.size());
  const std::optional<GpuId> id = read_gpu(node, fabric, diagnostics);
  return id ? std::vector<GpuId>{*id} : std::vector<GpuId>{};
}

void report_unknown_switch(const Node& name, const Fabric& fabric, Diagnostics& diagnostics) {
  std::vector<std::string_view> names;
  for (const Switch& each : fabric.switches)
    names.push_back(each.name);
  const auto near = most_similar(name.text, names);
  names.resize(std::min<std::size_t>(names.size(), 20));
  diagnostics.error(name.place, "there is no switch " + quoted(name.text),
                    near ? "a switch with a similar name exists: " + quoted(*near)
                         : "the switches are " + printable(listing(names, "and")));
}

std::optional<SwitchIndex> read_switch_name(const Node& name, const Fabric& fabric,
                                            Diagnostics& diagnostics) {
  for (SwitchIndex i = 0; i < fabric.switches.size(); ++i)
    if (fabric.switches[i].name == name.text) return i;
  report_unknown_switch(name, fabric, diagnostics);
  return std::nullopt;
}

std::optional<CableIndex> read_cable(const Node& ends, const Fabric& fabric, Diagnostics& diagnostics) {
  const auto a = read_switch_name(ends.items[0], fabric, diagnostics);
  const auto b = read_switch_name(ends.items[1], fabric, diagnostics);
  if (!a || !b) return std::nullopt;
  std::vector<std::string_view> neighbours;
  for (CableIndex i = 0; i < fabric.cables.size(); ++i) {
    const Cable& cable = fabric.cables[i];
    if ((cable.a == *a && cable.b == *b) || (cable.a == *b && cable.b == *a)) return i;
    if (cable.a == *a || cable.b == *a)
      neighbours.push_back(fabric.switches[cable.a == *a ? cable.b : cable.a].name);
  }
  neighbours.resize(std::min<std::size_t>(neighbours.size(), 20));
  const std::string first = quoted(ends.items[0].text);
  diagnostics.error(ends.place, "no link joins " + first + " and " + quoted(ends.items[1].text),
                    neighbours.empty()
                        ? "switch " + first + " has no links to others"
                        : "switch " + first + " has links to " + printable(listing(neighbours, "and")));
  return std::nullopt;
}

}  // namespace cnuas::scenarios
