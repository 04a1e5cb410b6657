// What a scenario's fabric is, and what its switches know: one table and one JSON value a view.
#pragma once

#include "core/switch/switch.h"
#include "core/topology/routes.h"

#include <optional>
#include <string>
#include <vector>

#include <nlohmann/json_fwd.hpp>

namespace cnuas::sim {

// Tables are whole texts that end with a newline; JSON values are objects, for the caller to put a schema,
// and where they come from, in front. Everywhere: validate(fabric) holds, and `switches` has one entry for
// each of the fabric's. Cables and ports count from 0.
using Switches = std::vector<fabric_switch::Switch>;

// --- Switches, GPUs and cables: fabric_view.cpp ---
std::string fabric_table(const Fabric& fabric);
nlohmann::ordered_json fabric_json(const Fabric& fabric);

// --- Which links messages take: routes_view.cpp ---
struct RouteSelection {
  std::optional<GpuIndex> from;  // none: every GPU
  std::optional<GpuIndex> to;
};
inline constexpr std::size_t kMostRoutes = 131'072;
std::size_t route_count(const Fabric& fabric, const RouteSelection& selection);
// Precondition: route_count() is at most kMostRoutes.
std::string routes_table(const RouteTable& routes, const RouteSelection& selection);
nlohmann::ordered_json routes_json(const RouteTable& routes, const RouteSelection& selection);

// --- How near GPUs are to one another, as `nvidia-smi topo -m` shows it: topo_view.cpp ---
std::string topo_table(const RouteTable& routes);
nlohmann::ordered_json topo_json(const RouteTable& routes);

// --- Which GPU is behind which port, and groups of GPUs: switch_tables_view.cpp ---
std::string fdb_table(const Fabric& fabric, const Switches& switches);
nlohmann::ordered_json fdb_json(const Fabric& fabric, const Switches& switches);
std::string groups_table(const Fabric& fabric, const Switches& switches);
nlohmann::ordered_json groups_json(const Fabric& fabric, const Switches& switches);

}  // namespace cnuas::sim
