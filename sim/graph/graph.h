// A fabric as a picture: switches, GPUs and the cables between them.
#pragma once

#include "core/topology/fabric.h"

#include <string>
#include <string_view>

namespace cnuas::sim {

// Each is a whole document that ends with a newline, and the same for the same fabric to the last byte.
// Precondition: validate(fabric) holds. Names may be any text: each format's escapes keep them names.

// A picture of its own: no scripts, no fonts or styles from elsewhere; a title and a description for those
// who cannot see it, and a tooltip at each GPU, switch and cable.
std::string draw_svg(std::string_view title, const Fabric& fabric);

// For Graphviz, an undirected graph with a cluster for each switch that has GPUs.
std::string draw_dot(std::string_view title, const Fabric& fabric);

// A flowchart for Mermaid. GPUs are nodes of their own up to kMermaidEdges edges in all; in larger fabrics
// each switch tells how many it has, because Mermaid refuses large graphs.
inline constexpr std::size_t kMermaidEdges = 280;
std::string draw_mermaid(std::string_view title, const Fabric& fabric);

}  // namespace cnuas::sim
