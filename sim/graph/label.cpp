#include "sim/graph/label.h"

#include "scenarios/source_text.h"
#include "scenarios/units.h"

#include <algorithm>

#include <fmt/format.h>

namespace cnuas::sim {

namespace {

std::string counted(std::size_t count, std::string_view one, std::string_view many) {
  return fmt::format("{} {}", count, count == 1 ? one : many);
}

// Bytes of the character that begins here, in text that is well-formed.
std::size_t character_bytes(std::string_view utf8) {
  const auto first = static_cast<unsigned char>(utf8.front());
  const std::size_t bytes = first < 0xC0 ? 1 : first < 0xE0 ? 2 : first < 0xF0 ? 3 : 4;
  return std::min(bytes, utf8.size());
}

// East Asian scripts begin at U+1100, three bytes; what is narrow up there is given room to spare.
int columns_of(std::size_t bytes) {
  return bytes >= 3 ? 2 : 1;
}

}  // namespace

std::string link_label(const LinkProfile& link) {
  using scenarios::Quantity;
  return scenarios::to_text(static_cast<std::int64_t>(link.bandwidth_bytes_per_s), Quantity::rate) + ", " +
         scenarios::to_text(link.latency_ps, Quantity::time);
}

std::string fabric_summary(const Fabric& fabric) {
  return gpu_count(fabric.gpus.size()) + ", " + counted(fabric.switches.size(), "switch", "switches") + ", " +
         counted(fabric.cables.size(), "cable", "cables");
}

std::vector<std::vector<GpuIndex>> gpus_by_switch(const Fabric& fabric) {
  std::vector<std::vector<GpuIndex>> result(fabric.switches.size());
  for (GpuIndex gpu = 0; gpu < fabric.gpus.size(); ++gpu)
    result[fabric.gpus[gpu].attached].push_back(gpu);
  return result;
}

std::string gpu_count(std::size_t gpus) {
  return counted(gpus, "GPU", "GPUs");
}

std::string gpu_links_label(const Fabric& fabric, const std::vector<GpuIndex>& gpus) {
  std::vector<std::string> kinds;
  for (const GpuIndex gpu : gpus) {
    std::string label = link_label(fabric.gpus[gpu].link);
    if (std::find(kinds.begin(), kinds.end(), label) == kinds.end()) kinds.push_back(std::move(label));
  }
  return kinds.size() == 1 ? kinds[0] : fmt::format("{} (+{})", kinds[0], kinds.size() - 1);
}

int text_columns(std::string_view utf8) {
  const std::string text = scenarios::printable(utf8);
  int columns = 0;
  for (std::string_view rest = text; !rest.empty();) {
    const std::size_t bytes = character_bytes(rest);
    columns += columns_of(bytes);
    rest.remove_prefix(bytes);
  }
  return columns;
}

std::string shortened(std::string_view utf8, int columns) {
  const std::string text = scenarios::printable(utf8);
  if (text_columns(text) <= columns) return text;
  int used = 0;
  std::string_view rest = text;
  while (used + columns_of(character_bytes(rest)) <= columns - 3) {
    used += columns_of(character_bytes(rest));
    rest.remove_prefix(character_bytes(rest));
  }
  return text.substr(0, text.size() - rest.size()) + "...";
}

}  // namespace cnuas::sim
