#include "scenarios/participants.h"

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

std::vector<GpuId> listed_gpus(const Node& list, const Fabric& fabric, Diagnostics& diagnostics) {
  std::vector<GpuId> ranks;
  std::bitset<1 << 16> seen;
  bool complete = true;
  for (const Node& item : list.items) {
    const std::optional<GpuId> id = item.good ? read_gpu(item, fabric, diagnostics) : std::nullopt;
    if (id && seen[id->value])
      diagnostics.error(item.place, "GPU " + to_string(*id) + " is listed twice", "every GPU has one rank");
    complete &= id && !seen[id->value];
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
  if (ranks->kind == Node::Kind::list) return listed_gpus(*ranks, fabric, diagnostics);
  if (!ranks->good) return {};
  const auto count = static_cast<std::size_t>(ranks->number);
  if (count <= fabric.gpus.size()) return first_gpus(fabric, count);
  diagnostics.error(ranks->place,
                    std::to_string(count) + " ranks on a fabric of " + std::to_string(fabric.gpus.size()) +
                        (fabric.gpus.size() == 1 ? " GPU" : " GPUs"),
                    "a GPU has one rank; lower 'ranks', or leave it out for all GPUs");
  return {};
}

}  // namespace cnuas::scenarios
