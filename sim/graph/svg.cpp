#include "scenarios/units.h"
#include "sim/graph/escape.h"
#include "sim/graph/graph.h"
#include "sim/graph/label.h"
#include "sim/graph/layout.h"

#include <algorithm>

#include <fmt/format.h>

namespace cnuas::sim {

namespace {

constexpr std::string_view kStyle =
    "  <style>\n"
    "    text { font-family: sans-serif; fill: #1e293b; }\n"
    "    .heading { font-size: 16px; font-weight: bold; }\n"
    "    .name { font-size: 13px; font-weight: bold; text-anchor: middle; }\n"
    "    .small { font-size: 11px; }\n"
    "    .centred { text-anchor: middle; }\n"
    "    .paper { fill: #ffffff; }\n"
    "    .rack { fill: #f8fafc; stroke: #94a3b8; }\n"
    "    .switch { fill: #dbeafe; stroke: #1d4ed8; stroke-width: 1.5; }\n"
    "    .gpu { stroke: #15803d; }\n"
    "    .host0 { fill: #dcfce7; }\n"
    "    .host1 { fill: #fef3c7; }\n"
    "    .link { fill: none; stroke: #64748b; }\n"
    "    .cable { fill: none; stroke: #1d4ed8; stroke-width: 2; }\n"
    "    .label { font-size: 11px; stroke: #ffffff; stroke-width: 3; paint-order: stroke; }\n"
    "  </style>\n";

std::string rectangle(const Box& box, std::string_view style, int corner) {
  return fmt::format("<rect class=\"{}\" x=\"{}\" y=\"{}\" width=\"{}\" height=\"{}\" rx=\"{}\"/>", style,
                     box.x, box.y, box.width, box.height, corner);
}

std::string text(Point at, std::string_view style, std::string_view content) {
  return fmt::format("<text class=\"{}\" x=\"{}\" y=\"{}\">{}</text>", style, at.x, at.y, xml_text(content));
}

// Shown by browsers as a tooltip and read out by screen readers.
std::string tip(std::string_view content) {
  return "<title>" + xml_text(content) + "</title>";
}

std::string cable(const Fabric& fabric, const CablePlace& place) {
  const Cable& each = fabric.cables[place.index];
  const std::string label = link_label(each.link);
  std::string points;
  for (const Point& point : place.way)
    points += fmt::format("{}{},{}", points.empty() ? "" : " ", point.x, point.y);
  return fmt::format("  <g>{}<polyline class=\"cable\" points=\"{}\"/>{}</g>\n",
                     tip(fabric.switches[each.a].name + " to " + fabric.switches[each.b].name + ": " + label),
                     points, text(place.label, "label", label));
}

// A line under the switch, and one beside each column of GPUs with a branch to each of them.
std::string gpu_wires(const SwitchPlace& place) {
  constexpr int kBeside = 5;
  const int bus = place.box.bottom() + 7;
  const auto& boxes = place.gpu_boxes;
  const auto columns = static_cast<std::size_t>(place.columns);
  std::string path = fmt::format("M{},{} V{} M{},{} H{}", place.box.middle(), place.box.bottom(), bus,
                                 std::min(boxes.front().x - kBeside, place.box.middle()), bus,
                                 std::max(boxes[columns - 1].x - kBeside, place.box.middle()));
  for (std::size_t column = 0; column < columns; ++column) {
    const int x = boxes[column].x - kBeside;
    int y = bus;
    for (std::size_t i = column; i < boxes.size(); i += columns) {
      path += fmt::format(" M{},{} V{} H{}", x, y, boxes[i].y + kGpuHeight / 2, boxes[i].x);
      y = boxes[i].y + kGpuHeight / 2;
    }
  }
  return fmt::format("    <path class=\"link\" d=\"{}\"/>\n", path);
}

std::string gpus(const Fabric& fabric, const SwitchPlace& place) {
  std::string out = gpu_wires(place);
  for (std::size_t i = 0; i < place.gpus.size(); ++i) {
    const Gpu& gpu = fabric.gpus[place.gpus[i]];
    const Box& box = place.gpu_boxes[i];
    const std::string id = to_string(gpu.id);
    out += fmt::format("    <g>{}{}{}</g>\n",
                       tip(fmt::format("GPU {}, host {}: {}", id, gpu.host, link_label(gpu.link))),
                       rectangle(box, gpu.host % 2 == 0 ? "gpu host0" : "gpu host1", 4),
                       text({box.middle(), box.y + 16}, "small centred", id));
  }
  return out;
}

std::string switch_box(const Switch& each, const SwitchPlace& place) {
  const std::string latency = scenarios::to_text(each.latency_ps, scenarios::Quantity::time);
  return fmt::format("    <g>{}{}{}{}</g>\n", tip("switch " + each.name + ": " + latency),
                     rectangle(place.box, "switch", 6),
                     text({place.box.middle(), place.box.y + 17}, "name", shortened(each.name, kLongestName)),
                     text({place.box.middle(), place.box.y + 32}, "small centred", latency));
}

std::string rack_title(const Fabric& fabric, const SwitchPlace& place) {
  const unsigned rack = fabric.switches[place.index].rack;
  return "    " +
         text({place.rack.middle(), place.rack.bottom() - 24}, "small centred",
              fmt::format("rack {}: {}", rack, gpu_count(place.gpus.size()))) +
         text({place.rack.middle(), place.rack.bottom() - 9}, "small centred",
              gpu_links_label(fabric, place.gpus)) +
         "\n";
}

std::string switch_and_gpus(const Fabric& fabric, const SwitchPlace& place) {
  const std::string drawn = switch_box(fabric.switches[place.index], place);
  if (place.gpus.empty()) return "  <g>\n" + drawn + "  </g>\n";
  return "  <g>\n" + gpus(fabric, place) + drawn + rack_title(fabric, place) + "  </g>\n";
}

// What is joined to what, for those who cannot see it.
std::string description(const Fabric& fabric) {
  std::string out = fabric_summary(fabric) + ".";
  const auto gpus = gpus_by_switch(fabric);
  for (SwitchIndex index = 0; index < fabric.switches.size(); ++index) {
    if (gpus[index].empty()) continue;
    out += fmt::format(" Switch {} serves rack {}: {}, {}.", fabric.switches[index].name,
                       fabric.switches[index].rack, gpu_count(gpus[index].size()),
                       gpu_links_label(fabric, gpus[index]));
  }
  for (const Cable& cable : fabric.cables) {
    out += fmt::format(" Cable from {} to {}: {}.", fabric.switches[cable.a].name,
                       fabric.switches[cable.b].name, link_label(cable.link));
  }
  return out;
}

std::string heading(std::string_view title, const Fabric& fabric, const Layout& layout) {
  const bool hosts =
      std::any_of(fabric.gpus.begin(), fabric.gpus.end(), [](const Gpu& gpu) { return gpu.host > 0; });
  // Cut to the width of the picture, which a title does not decide.
  const int columns = std::max(8, (layout.width - 2 * kMargin) / 10);
  return "  " + text({kMargin, 30}, "heading", shortened(title, columns)) + "\n  " +
         text({kMargin, 50}, "small", fabric_summary(fabric) + (hosts ? "; hosts alternate in colour" : "")) +
         "\n";
}

}  // namespace

std::string draw_svg(std::string_view title, const Fabric& fabric) {
  const Layout layout = lay_out(fabric);
  std::string out = fmt::format(
      "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n"
      "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{0}\" height=\"{1}\" viewBox=\"0 0 {0} {1}\" "
      "role=\"img\" aria-labelledby=\"title description\">\n"
      "  <title id=\"title\">{2}</title>\n  <desc id=\"description\">{3}</desc>\n",
      layout.width, layout.height, xml_text(title), xml_text(description(fabric)));
  out += kStyle;
  out += "  " + rectangle({0, 0, layout.width, layout.height}, "paper", 0) + "\n";
  out += heading(title, fabric, layout);
  for (const SwitchPlace& place : layout.switches)
    if (!place.gpus.empty()) out += "  " + rectangle(place.rack, "rack", 8) + "\n";
  for (const CablePlace& place : layout.cables)
    out += cable(fabric, place);
  for (const SwitchPlace& place : layout.switches)
    out += switch_and_gpus(fabric, place);
  return out + "</svg>\n";
}

}  // namespace cnuas::sim
