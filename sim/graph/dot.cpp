#include "scenarios/units.h"
#include "sim/graph/escape.h"
#include "sim/graph/graph.h"
#include "sim/graph/label.h"

#include <fmt/format.h>

namespace cnuas::sim {

namespace {

// Nodes are named by position: names of switches are only ever labels.
std::string switch_node(const Fabric& fabric, SwitchIndex index) {
  const Switch& each = fabric.switches[index];
  const std::string label =
      shortened(each.name, 64) + "\n" + scenarios::to_text(each.latency_ps, scenarios::Quantity::time);
  return fmt::format("s{} [label={}, shape=box, style=filled, fillcolor=\"#dbeafe\"];\n", index,
                     dot_string(label));
}

std::string rack(const Fabric& fabric, SwitchIndex index, const std::vector<GpuIndex>& gpus) {
  const std::string label = fmt::format("rack {}: {}\n{}", fabric.switches[index].rack,
                                        gpu_count(gpus.size()), gpu_links_label(fabric, gpus));
  std::string out = fmt::format("  subgraph cluster_s{} {{\n    label={};\n    labelloc=b;\n    {}", index,
                                dot_string(label), switch_node(fabric, index));
  for (const GpuIndex gpu : gpus) {
    const Gpu& each = fabric.gpus[gpu];
    const std::string tip =
        fmt::format("GPU {}, host {}: {}", to_string(each.id), each.host, link_label(each.link));
    out += fmt::format("    g{} [label={}, tooltip={}];\n    s{} -- g{};\n", gpu,
                       dot_string(to_string(each.id)), dot_string(tip), index, gpu);
  }
  return out + "  }\n";
}

}  // namespace

std::string draw_dot(std::string_view title, const Fabric& fabric) {
  std::string out = fmt::format(
      "graph fabric {{\n  label={};\n  labelloc=t;\n  fontname=\"sans-serif\";\n"
      "  node [shape=box, style=rounded, fontname=\"sans-serif\"];\n  edge [fontname=\"sans-serif\"];\n",
      dot_string(fmt::format("{}\n{}", shortened(title, 64), fabric_summary(fabric))));
  const auto gpus = gpus_by_switch(fabric);
  // Switches without GPUs first: Graphviz draws the first end of an edge above the second.
  for (SwitchIndex index = 0; index < fabric.switches.size(); ++index)
    if (gpus[index].empty()) out += "  " + switch_node(fabric, index);
  for (SwitchIndex index = 0; index < fabric.switches.size(); ++index)
    if (!gpus[index].empty()) out += rack(fabric, index, gpus[index]);
  for (const Cable& cable : fabric.cables) {
    const bool a_above = gpus[cable.a].empty() || !gpus[cable.b].empty();
    // Two switches with GPUs stand at one height, a cable between them or not.
    const bool level = !gpus[cable.a].empty() && !gpus[cable.b].empty();
    out += fmt::format("  s{} -- s{} [label={}, penwidth=2{}];\n", a_above ? cable.a : cable.b,
                       a_above ? cable.b : cable.a, dot_string(link_label(cable.link)),
                       level ? ", constraint=false" : "");
  }
  return out + "}\n";
}

}  // namespace cnuas::sim
