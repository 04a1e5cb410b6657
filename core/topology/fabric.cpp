#include "core/topology/fabric.h"

#include <algorithm>
#include <set>

namespace cnuas {

LinkIndex cable_link(const Fabric& fabric, CableIndex cable, bool a_to_b) {
  return static_cast<LinkIndex>(2 * fabric.gpus.size() + 2 * cable + (a_to_b ? 0 : 1));
}

std::uint32_t link_count(const Fabric& fabric) {
  return static_cast<std::uint32_t>(2 * fabric.gpus.size() + 2 * fabric.cables.size());
}

const LinkProfile& link_profile(const Fabric& fabric, LinkIndex link) {
  const std::size_t position = link / 2;
  return position < fabric.gpus.size() ? fabric.gpus[position].link
                                       : fabric.cables[position - fabric.gpus.size()].link;
}

std::string link_name(const Fabric& fabric, LinkIndex link) {
  const std::size_t position = link / 2;
  const bool forward = link % 2 == 0;
  std::string from;
  std::string to;
  std::string suffix;
  if (position < fabric.gpus.size()) {
    const Gpu& gpu = fabric.gpus[position];
    from = to_string(gpu.id);
    to = fabric.switches[gpu.attached].name;
  } else {
    const std::size_t index = position - fabric.gpus.size();
    const Cable& cable = fabric.cables[index];
    from = fabric.switches[cable.a].name;
    to = fabric.switches[cable.b].name;
    const auto parallel = std::count_if(
        fabric.cables.begin(), fabric.cables.begin() + static_cast<std::ptrdiff_t>(index),
        [&](const Cable& other) {
          return (other.a == cable.a && other.b == cable.b) || (other.a == cable.b && other.b == cable.a);
        });
    if (parallel > 0) suffix = " #" + std::to_string(parallel + 1);
  }
  return (forward ? from + " -> " + to : to + " -> " + from) + suffix;
}

Result<GpuIndex> find_gpu(const Fabric& fabric, GpuId id) {
  const auto found = std::lower_bound(fabric.gpus.begin(), fabric.gpus.end(), id,
                                      [](const Gpu& gpu, GpuId wanted) { return gpu.id < wanted; });
  if (found == fabric.gpus.end() || found->id != id) {
    return fail(ErrorCode::not_found, "the fabric has no GPU " + to_string(id));
  }
  return static_cast<GpuIndex>(found - fabric.gpus.begin());
}

namespace {

std::string in_quotes(const std::string& name) {
  return "'" + name + "'";
}

// Appends one switch and its GPUs.
Result<void> add_rack(Fabric& fabric, const RackParameters& parameters, std::size_t position) {
  const unsigned rack = parameters.first_rack + static_cast<unsigned>(position);
  const unsigned gpus = parameters.gpus_per_rack[position];
  const std::string name = "rack" + std::to_string(rack);
  if (gpus < 1 || gpus > kSlotsPerRack) {
    return fail(ErrorCode::invalid_argument, "a rack holds 1 to 256 GPUs, not " + std::to_string(gpus), name);
  }
  const auto attached = static_cast<SwitchIndex>(fabric.switches.size());
  fabric.switches.push_back(Switch{name, rack, parameters.switch_latency_ps, parameters.port_buffer_bytes});
  const unsigned hosts = std::clamp(parameters.hosts_per_rack, 1u, gpus);
  for (unsigned slot = 0; slot < gpus; ++slot) {
    const Result<GpuId> id = make_gpu_id(rack, slot);
    if (!id) return tl::unexpected<Error>(id.error());
    fabric.gpus.push_back(Gpu{*id, attached, slot * hosts / gpus, parameters.gpu_link});
  }
  return {};
}

Result<Fabric> build_racks(const RackParameters& parameters) {
  Fabric fabric;
  for (std::size_t position = 0; position < parameters.gpus_per_rack.size(); ++position) {
    if (Result<void> added = add_rack(fabric, parameters, position); !added) {
      return tl::unexpected<Error>(added.error());
    }
  }
  return fabric;
}

Result<Fabric> checked(Fabric fabric) {
  if (Result<void> valid = validate(fabric); !valid) return tl::unexpected<Error>(valid.error());
  return fabric;
}

Result<void> validate_gpus(const Fabric& fabric) {
  if (fabric.gpus.empty())
    return fail(ErrorCode::invalid_argument, "a fabric needs at least one GPU", "fabric");
  for (std::size_t i = 0; i < fabric.gpus.size(); ++i) {
    const Gpu& gpu = fabric.gpus[i];
    const std::string where = "GPU " + to_string(gpu.id);
    if (Result<GpuId> id = make_gpu_id(gpu.id.rack(), gpu.id.slot()); !id)
      return tl::unexpected<Error>(id.error());
    if (i > 0 && gpu.id == fabric.gpus[i - 1].id) {
      return fail(ErrorCode::invalid_argument, "two GPUs have the same ID", where);
    }
    if (i > 0 && gpu.id < fabric.gpus[i - 1].id) {
      return fail(ErrorCode::invalid_argument, "GPUs must be listed in ascending order of their IDs", where);
    }
    if (gpu.attached >= fabric.switches.size()) {
      return fail(ErrorCode::invalid_argument, "it is attached to a switch that does not exist", where);
    }
    if (gpu.link.payload_bytes_per_s() == 0) {
      return fail(ErrorCode::invalid_argument, "its link has no bandwidth", where);
    }
    if (gpu.link.latency_ps < 0)
      return fail(ErrorCode::invalid_argument, "its link has a negative latency", where);
  }
  return {};
}

Result<void> validate_switches(const Fabric& fabric) {
  std::set<std::string> names;
  for (const Switch& each : fabric.switches) {
    const std::string where = "switch " + in_quotes(each.name);
    if (each.name.empty()) return fail(ErrorCode::invalid_argument, "a switch needs a name", "switch");
    if (!names.insert(each.name).second)
      return fail(ErrorCode::invalid_argument, "two switches have this name", where);
    if (each.latency_ps < 0) return fail(ErrorCode::invalid_argument, "its latency is negative", where);
  }
  return {};
}

Result<void> validate_cables(const Fabric& fabric) {
  for (std::size_t i = 0; i < fabric.cables.size(); ++i) {
    const Cable& cable = fabric.cables[i];
    if (cable.a >= fabric.switches.size() || cable.b >= fabric.switches.size()) {
      return fail(ErrorCode::invalid_argument, "one of its ends does not exist",
                  "cable " + std::to_string(i));
    }
    const std::string where = "cable between " + in_quotes(fabric.switches[cable.a].name) + " and " +
                              in_quotes(fabric.switches[cable.b].name);
    if (cable.a == cable.b)
      return fail(ErrorCode::invalid_argument, "a cable joins two different switches", where);
    if (cable.link.payload_bytes_per_s() == 0)
      return fail(ErrorCode::invalid_argument, "it has no bandwidth", where);
    if (cable.link.latency_ps < 0) return fail(ErrorCode::invalid_argument, "its latency is negative", where);
  }
  return {};
}

// Every GPU must reach every other, so all switches that carry GPUs must be in one connected part.
Result<void> validate_reachability(const Fabric& fabric) {
  std::vector<std::vector<SwitchIndex>> neighbours(fabric.switches.size());
  for (const Cable& cable : fabric.cables) {
    neighbours[cable.a].push_back(cable.b);
    neighbours[cable.b].push_back(cable.a);
  }
  std::vector<bool> reached(fabric.switches.size(), false);
  std::vector<SwitchIndex> frontier{fabric.gpus.front().attached};
  reached[frontier.front()] = true;
  while (!frontier.empty()) {
    const SwitchIndex current = frontier.back();
    frontier.pop_back();
    for (const SwitchIndex next : neighbours[current]) {
      if (reached[next]) continue;
      reached[next] = true;
      frontier.push_back(next);
    }
  }
  for (const Gpu& gpu : fabric.gpus) {
    if (reached[gpu.attached]) continue;
    return fail(ErrorCode::unreachable,
                "it cannot be reached from GPU " + to_string(fabric.gpus.front().id) +
                    ": no cables lead from switch " +
                    in_quotes(fabric.switches[fabric.gpus.front().attached].name) + " to switch " +
                    in_quotes(fabric.switches[gpu.attached].name),
                "GPU " + to_string(gpu.id));
  }
  return {};
}

}  // namespace

Result<Fabric> build_rack(const RackParameters& parameters) {
  if (parameters.gpus_per_rack.size() != 1) {
    return fail(ErrorCode::invalid_argument,
                "topology 'rack' is one rack, not " + std::to_string(parameters.gpus_per_rack.size()),
                "fabric");
  }
  Result<Fabric> fabric = build_racks(parameters);
  return fabric ? checked(std::move(*fabric)) : fabric;
}

Result<Fabric> build_pair(const RackParameters& parameters) {
  if (parameters.gpus_per_rack.size() != 2) {
    return fail(ErrorCode::invalid_argument,
                "topology 'pair' is two racks, not " + std::to_string(parameters.gpus_per_rack.size()),
                "fabric");
  }
  Result<Fabric> fabric = build_racks(parameters);
  if (!fabric) return fabric;
  fabric->cables.push_back(Cable{0, 1, parameters.inter_switch});
  return checked(std::move(*fabric));
}

Result<Fabric> build_spine(const RackParameters& parameters) {
  const std::size_t racks = parameters.gpus_per_rack.size();
  if (racks < 1 || racks > kMaxRack) {
    return fail(ErrorCode::invalid_argument,
                "topology 'spine' takes 1 to 255 racks, not " + std::to_string(racks), "fabric");
  }
  Result<Fabric> fabric = build_racks(parameters);
  if (!fabric) return fabric;
  const auto spine = static_cast<SwitchIndex>(fabric->switches.size());
  fabric->switches.push_back(Switch{"spine", 0, parameters.switch_latency_ps, parameters.port_buffer_bytes});
  for (SwitchIndex rack = 0; rack < spine; ++rack)
    fabric->cables.push_back(Cable{rack, spine, parameters.inter_switch});
  return checked(std::move(*fabric));
}

Result<void> validate(const Fabric& fabric) {
  if (Result<void> valid = validate_switches(fabric); !valid) return valid;
  if (Result<void> valid = validate_gpus(fabric); !valid) return valid;
  if (Result<void> valid = validate_cables(fabric); !valid) return valid;
  return validate_reachability(fabric);
}

}  // namespace cnuas
