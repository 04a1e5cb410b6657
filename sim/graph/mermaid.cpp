#include "scenarios/units.h"
#include "sim/graph/escape.h"
#include "sim/graph/graph.h"
#include "sim/graph/label.h"

#include <fmt/format.h>

namespace cnuas::sim {

namespace {

std::string switch_label(const Switch& each) {
  return mermaid_text(shortened(each.name, 64)) + "<br/>" +
         mermaid_text(scenarios::to_text(each.latency_ps, scenarios::Quantity::time));
}

std::string rack(const Fabric& fabric, SwitchIndex index, const std::vector<GpuIndex>& gpus) {
  std::string out = fmt::format("  subgraph r{}[\"{}\"]\n    s{}[\"{}\"]\n", index,
                                mermaid_text(fmt::format("rack {}", fabric.switches[index].rack)), index,
                                switch_label(fabric.switches[index]));
  for (const GpuIndex gpu : gpus) {
    const Gpu& each = fabric.gpus[gpu];
    out += fmt::format("    s{} --- g{}(\"{}\")\n", index, gpu, mermaid_text(to_string(each.id)));
  }
  return out + "  end\n";
}

// A switch whose GPUs are told and not drawn.
std::string counted_rack(const Fabric& fabric, SwitchIndex index, const std::vector<GpuIndex>& gpus) {
  const std::string range =
      fmt::format("{}: {} to {}", gpu_count(gpus.size()), to_string(fabric.gpus[gpus.front()].id),
                  to_string(fabric.gpus[gpus.back()].id));
  return fmt::format("  s{}[\"{}<br/>{}<br/>{}\"]\n", index, switch_label(fabric.switches[index]),
                     mermaid_text(range), mermaid_text(gpu_links_label(fabric, gpus)));
}

}  // namespace

std::string draw_mermaid(std::string_view title, const Fabric& fabric) {
  std::string out = fmt::format("---\ntitle: {}\n---\nflowchart TB\n  accDescr: {}\n",
                                yaml_string(shortened(title, 64)), fabric_summary(fabric));
  const auto gpus = gpus_by_switch(fabric);
  const bool each_gpu = fabric.gpus.size() + fabric.cables.size() <= kMermaidEdges;
  for (SwitchIndex index = 0; index < fabric.switches.size(); ++index) {
    if (gpus[index].empty()) {
      out += fmt::format("  s{}[[\"{}\"]]\n", index, switch_label(fabric.switches[index]));
    } else {
      out += each_gpu ? rack(fabric, index, gpus[index]) : counted_rack(fabric, index, gpus[index]);
    }
  }
  for (const Cable& cable : fabric.cables) {
    const bool a_above = gpus[cable.a].empty() || !gpus[cable.b].empty();
    out += fmt::format("  s{} ===|\"{}\"| s{}\n", a_above ? cable.a : cable.b,
                       mermaid_text(link_label(cable.link)), a_above ? cable.b : cable.a);
  }
  return out;
}

}  // namespace cnuas::sim
