#include "scenarios/units.h"
#include "sim/inspect/views.h"
#include "sim/report/columns.h"

#include <algorithm>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace cnuas::sim {

namespace {

using Json = nlohmann::ordered_json;

constexpr double kGiga = 1e9;

// Calls visit(from, to) for each pair that is wanted, in order.
template <class Visitor>
void for_each_pair(const Fabric& fabric, const RouteSelection& selection, Visitor visit) {
  const auto count = static_cast<GpuIndex>(fabric.gpus.size());
  const GpuIndex from_end = selection.from ? *selection.from + 1 : count;
  const GpuIndex to_end = selection.to ? *selection.to + 1 : count;
  for (GpuIndex from = selection.from.value_or(0); from < from_end; ++from) {
    for (GpuIndex to = selection.to.value_or(0); to < to_end; ++to)
      if (from != to) visit(from, to);
  }
}

// The first of the links with the least payload rate.
LinkIndex narrowest(const Fabric& fabric, const std::vector<LinkIndex>& links) {
  return *std::min_element(links.begin(), links.end(), [&](LinkIndex a, LinkIndex b) {
    return link_profile(fabric, a).payload_bytes_per_s() < link_profile(fabric, b).payload_bytes_per_s();
  });
}

std::string joined(const Fabric& fabric, const std::vector<LinkIndex>& links) {
  std::string text;
  for (const LinkIndex link : links)
    text += (text.empty() ? "" : ", ") + link_name(fabric, link);
  return text;
}

}  // namespace

std::size_t route_count(const Fabric& fabric, const RouteSelection& selection) {
  const std::size_t gpus = fabric.gpus.size();
  if (selection.from && selection.to) return *selection.from == *selection.to ? 0 : 1;
  return (selection.from || selection.to ? 1 : gpus) * (gpus - 1);
}

std::string routes_table(const RouteTable& routes, const RouteSelection& selection) {
  const Fabric& fabric = routes.fabric();
  std::vector<std::vector<std::string>> rows;
  std::vector<LinkIndex> links;
  for_each_pair(fabric, selection, [&](GpuIndex from, GpuIndex to) {
    routes.links(from, to, links);
    rows.push_back(
        {to_string(fabric.gpus[from].id), to_string(fabric.gpus[to].id),
         scenarios::to_text(routes.latency_ps(from, to), scenarios::Quantity::time),
         fmt::format("{:.2f}", static_cast<double>(routes.bottleneck_bytes_per_s(from, to)) / kGiga),
         link_name(fabric, narrowest(fabric, links)), joined(fabric, links)});
  });
  return in_columns(
      {{"from", true}, {"to", true}, {"latency"}, {"payload (GB/s)"}, {"bottleneck", true}, {"links", true}},
      rows);
}

Json routes_json(const RouteTable& routes, const RouteSelection& selection) {
  const Fabric& fabric = routes.fabric();
  Json list = Json::array();
  std::vector<LinkIndex> links;
  for_each_pair(fabric, selection, [&](GpuIndex from, GpuIndex to) {
    routes.links(from, to, links);
    Json names = Json::array();
    for (const LinkIndex link : links)
      names.push_back(link_name(fabric, link));
    list.push_back({{"from", to_string(fabric.gpus[from].id)},
                    {"to", to_string(fabric.gpus[to].id)},
                    {"latency_ps", routes.latency_ps(from, to)},
                    {"bottleneck",
                     {{"link", link_name(fabric, narrowest(fabric, links))},
                      {"payload_bytes_per_s", routes.bottleneck_bytes_per_s(from, to)}}},
                    {"links", std::move(names)}});
  });
  return {{"routes", std::move(list)}};
}

}  // namespace cnuas::sim
