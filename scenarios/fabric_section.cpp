#include "scenarios/fabric_section.h"

#include <string>
#include <vector>

namespace cnuas::scenarios {
namespace {

std::string counted_racks(std::size_t racks) {
  return std::to_string(racks) + (racks == 1 ? " rack" : " racks");
}

// GPUs of each rack; empty when an error has been reported, or racks or gpus_per_rack are not good.
std::vector<unsigned> read_racks(const Node& fabric, Diagnostics& diagnostics) {
  const Node* gpus = fabric.get("gpus_per_rack");
  const Node* racks = fabric.get("racks");
  if (!gpus || (fabric.has("racks") && !racks)) return {};
  if (gpus->kind == Node::Kind::scalar) {
    const auto count = static_cast<std::size_t>(racks ? racks->number : 1);
    return std::vector<unsigned>(count, static_cast<unsigned>(gpus->number));
  }
  std::vector<unsigned> list;
  for (const Node& item : gpus->items)
    list.push_back(static_cast<unsigned>(item.number));
  if (racks && static_cast<std::size_t>(racks->number) != list.size()) {
    diagnostics.error(fabric.key_place("gpus_per_rack"),
                      "'gpus_per_rack' lists " + counted_racks(list.size()) + ", and 'racks' says " +
                          std::to_string(racks->number),
                      "list one number for each rack, or leave 'racks' out");
    return {};
  }
  return list;
}

// The two GPU IDs that are reserved, and racks past the last number.
bool numbers_fit(const Node& fabric, unsigned first_rack, const std::vector<unsigned>& gpus,
                 Diagnostics& diagnostics) {
  const std::size_t last_rack = first_rack + gpus.size() - 1;
  if (first_rack == 0) {
    diagnostics.error(fabric.get("first_rack")->place,
                      "GPU 0/0 would have the reserved ID 0x0000, which means \"no GPU\"",
                      "number the racks from 1: 'first_rack: 1', or leave 'first_rack' out");
    return false;
  }
  if (last_rack > kMaxRack) {
    diagnostics.error(
        fabric.has("first_rack") ? fabric.find("first_rack")->place : fabric.key_place("racks"),
        "the last rack would have number " + std::to_string(last_rack) + ", and rack numbers end at 255",
        "lower 'first_rack' or the number of racks");
    return false;
  }
  if (last_rack == kMaxRack && gpus.back() == kSlotsPerRack) {
    const Node& counts = *fabric.get("gpus_per_rack");
    diagnostics.error(counts.kind == Node::Kind::list ? counts.items.back().place : counts.place,
                      "GPU 255/255 would have the reserved ID 0xFFFF, which means \"all GPUs\"",
                      "rack 255 can have at most 255 GPUs; or number the racks lower with 'first_rack'");
    return false;
  }
  return true;
}

enum class Shape { rack, pair, spine };

std::optional<Shape> read_topology(const Node& fabric, std::size_t racks, Diagnostics& diagnostics) {
  const Shape usual = racks == 1 ? Shape::rack : racks == 2 ? Shape::pair : Shape::spine;
  if (!fabric.has("topology")) return usual;
  const Node* topology = fabric.get("topology");
  if (!topology) return std::nullopt;
  if (topology->text == "spine") return Shape::spine;
  const Shape wanted = topology->text == "rack" ? Shape::rack : Shape::pair;
  if (wanted == usual) return wanted;
  const std::string takes = wanted == Shape::rack ? "one rack" : "two racks";
  const std::string instead = usual == Shape::rack   ? "rack"
                              : usual == Shape::pair ? "pair' or 'topology: spine"
                                                     : "spine";
  diagnostics.error(
      topology->place,
      "topology '" + topology->text + "' is " + takes + ", and the fabric has " + std::to_string(racks),
      "write 'topology: " + instead + "', or change the number of racks to " +
          (wanted == Shape::rack ? "1" : "2"));
  return std::nullopt;
}

// The link between switches where one is needed; nothing when it is missing or not good.
std::optional<LinkProfile> read_inter_switch(const Node& fabric, Shape shape, std::size_t racks,
                                             Diagnostics& diagnostics) {
  const bool given = fabric.has("inter_switch");
  const Node* link = fabric.get("inter_switch");
  if (shape == Shape::rack) {
    if (given)
      diagnostics.warning(fabric.key_place("inter_switch"), "'inter_switch' has no effect with one rack");
    return LinkProfile{};
  }
  if (link) return read_link(*link);
  if (!given)
    diagnostics.error(fabric.has("racks") ? fabric.key_place("racks") : fabric.key_place("gpus_per_rack"),
                      counted_racks(racks) + (shape == Shape::pair ? " need" : " and a spine need") +
                          std::string(" the key 'inter_switch'"),
                      "add to the fabric for example 'inter_switch: {bandwidth: 400 GB/s, latency: 1 us}'");
  return std::nullopt;
}

Result<Fabric> build(Shape shape, const RackParameters& parameters) {
  if (shape == Shape::rack) return build_rack(parameters);
  return shape == Shape::pair ? build_pair(parameters) : build_spine(parameters);
}

std::optional<Fabric> read_regular_fabric(const Node& node, Diagnostics& diagnostics) {
  RackParameters parameters;
  parameters.gpus_per_rack = read_racks(node, diagnostics);
  const Switch settings = read_switch(node, diagnostics);
  parameters.switch_latency_ps = settings.latency_ps;
  parameters.port_buffer_bytes = settings.port_buffer_bytes;
  if (parameters.gpus_per_rack.empty()) return std::nullopt;
  const std::size_t racks = parameters.gpus_per_rack.size();

  bool good = node.good;
  if (const Node* first = node.get("first_rack"))
    parameters.first_rack = static_cast<unsigned>(first->number);
  good &= numbers_fit(node, parameters.first_rack, parameters.gpus_per_rack, diagnostics);
  const std::optional<Shape> shape = read_topology(node, racks, diagnostics);
  if (!shape) return std::nullopt;
  const std::optional<LinkProfile> inter_switch = read_inter_switch(node, *shape, racks, diagnostics);
  if (!inter_switch || !good) return std::nullopt;

  parameters.inter_switch = *inter_switch;
  parameters.gpu_link = read_link(*node.get("link"));
  if (const Node* hosts = node.get("hosts"))
    parameters.hosts_per_rack = static_cast<unsigned>(hosts->get("per_rack")->number);
  Result<Fabric> fabric = build(*shape, parameters);
  if (fabric) {
    for (Switch& each : fabric->switches) {
      each.cut_through = settings.cut_through;
      each.stall_timeout_ps = settings.stall_timeout_ps;
    }
    return std::move(*fabric);
  }
  diagnostics.error(node.key_place("gpus_per_rack"), fabric.error().where + ": " + fabric.error().message);
  return std::nullopt;
}

}  // namespace

LinkProfile read_link(const Node& link) {
  if (link.kind == Node::Kind::scalar) return find_link_preset(link.text)->profile;
  LinkProfile profile;
  if (const Node* preset = link.get("preset")) profile = find_link_preset(preset->text)->profile;
  if (const Node* bandwidth = link.get("bandwidth"))
    profile.bandwidth_bytes_per_s = static_cast<std::uint64_t>(bandwidth->number);
  if (const Node* latency = link.get("latency")) profile.latency_ps = latency->number;
  if (const Node* credits = link.get("credits"))
    profile.credit_bytes = static_cast<std::uint64_t>(credits->number);
  const Node* flit = link.get("flit");
  const Node* header = link.get("header_flits");
  const Node* data = link.get("max_data_flits");
  if (!flit && !header && !data) return profile;
  if (!profile.packets) profile.packets.emplace();
  if (flit) profile.packets->flit_bytes = static_cast<std::uint32_t>(flit->number);
  if (header) profile.packets->header_flits = static_cast<std::uint32_t>(header->number);
  if (data) profile.packets->max_data_flits = static_cast<std::uint32_t>(data->number);
  return profile;
}

void change_switch(const Node& settings, Switch& changed) {
  if (const Node* latency = settings.get("latency")) changed.latency_ps = latency->number;
  if (const Node* buffer = settings.get("port_buffer"))
    changed.port_buffer_bytes = static_cast<std::uint64_t>(buffer->number);
  if (const Node* forwarding = settings.get("forwarding"))
    changed.cut_through = forwarding->text == "cut_through";
  if (const Node* timeout = settings.get("stall_timeout")) changed.stall_timeout_ps = timeout->number;
}

Switch read_switch(const Node& fabric, Diagnostics& diagnostics) {
  Switch settings;
  settings.latency_ps = 250 * kNanosecond;
  settings.port_buffer_bytes = 256 * 1024;
  const Node* node = fabric.find("switch");
  if (!node) return settings;
  change_switch(*node, settings);
  const Node* reduction = node->get("reduction");
  if (reduction && reduction->text != "none")
    diagnostics.warning(reduction->place,
                        "'reduction: " + reduction->text + "' has no effect in this version",
                        "no algorithm reduces in switches yet");
  return settings;
}

std::optional<Fabric> read_fabric(const Node& fabric, Diagnostics& diagnostics) {
  const Node* topology = fabric.find("topology");
  const bool is_explicit = topology && topology->text == "explicit";
  std::optional<Fabric> read =
      is_explicit ? read_explicit_fabric(fabric, diagnostics) : read_regular_fabric(fabric, diagnostics);
  const Node* frame_size = fabric.get("frame_size");
  if (read && frame_size) read->frame_bytes = static_cast<std::uint64_t>(frame_size->number);  // message: 0
  return read;
}

}  // namespace cnuas::scenarios
