// What may stand under `fabric`.
#pragma once

#include "core/engine/time.h"
#include "scenarios/value_forms.h"

namespace cnuas::scenarios {

inline constexpr std::int64_t kMostSwitches = 512;  // of an explicit fabric: the route of every pair is kept
inline constexpr std::int64_t kMostCables = 65'536;

// --- link, inter_switch: a preset, a preset with changes, or a description in full ---

inline constexpr std::string_view kPresetNames[] = {"nvlink1", "nvlink2", "nvlink3", "nvlink4", "nvlink5"};
inline constexpr Form kPreset = {.kind = Kind::word, .what = "a link preset", .words = kPresetNames};
inline constexpr Form kFlit = {.kind = Kind::size, .what = "a size such as 16 B", .least = 1, .most = 65'536};
inline constexpr Form kHeaderFlits = {
    .kind = Kind::integer, .what = "a whole number", .least = 0, .most = 256};
inline constexpr Form kDataFlits = {
    .kind = Kind::integer, .what = "a whole number", .least = 1, .most = 65'536};

inline constexpr std::string_view kBandwidthText =
    "Raw rate in each direction, all lanes of the port together, e.g. 450 GB/s.";
inline constexpr std::string_view kLinkLatencyText =
    "From the last bit sent to the last bit received, in each direction, e.g. 500 ns.";
inline constexpr std::string_view kPresetText = "An NVLink generation, all links of one GPU as one port.";
inline constexpr std::string_view kFlitText =
    "Size of a flit, the unit in which packets are made. Given, or with one of the other two packet "
    "settings, the link "
    "carries packets with headers; otherwise it is a pure pipe. Default: 16 B.";
inline constexpr std::string_view kHeaderFlitsText = "Flits of every packet that carry no data. Default: 1.";
inline constexpr std::string_view kDataFlitsText = "Data flits of the largest packet. Default: 16.";

inline constexpr Form kCredits = {
    .kind = Kind::size, .what = "a size such as 256 KiB", .least = 1, .most = std::int64_t{1} << 40};
inline constexpr std::string_view kCreditsText =
    "Credits of the link: a frame is sent while fewer bytes than this are on their way or not yet "
    "acknowledged. Frame "
    "fidelity. Default: no limit.";

inline constexpr Field kPresetLinkFields[] = {
    {"preset", &kPreset, true, kPresetText},
    {"bandwidth", &kRate, false, "Instead of the preset's rate. Raw, in each direction."},
    {"latency", &kTime, false, "Instead of the preset's latency, in each direction."},
    {"flit", &kFlit, false, "Instead of the preset's flit size."},
    {"header_flits", &kHeaderFlits, false, "Instead of the preset's header flits for every packet."},
    {"max_data_flits", &kDataFlits, false, "Instead of the preset's data flits of the largest packet."},
    {"credits", &kCredits, false, kCreditsText},
};
inline constexpr Form kPresetLink = {
    .kind = Kind::mapping, .name = "link with preset", .what = "a mapping", .fields = kPresetLinkFields};

inline constexpr Field kPlainLinkFields[] = {
    {"bandwidth", &kRate, true, kBandwidthText},
    {"latency", &kTime, true, kLinkLatencyText},
    {"flit", &kFlit, false, kFlitText},
    {"header_flits", &kHeaderFlits, false, kHeaderFlitsText},
    {"max_data_flits", &kDataFlits, false, kDataFlitsText},
    {"credits", &kCredits, false, kCreditsText},
};
inline constexpr Form kPlainLink = {
    .kind = Kind::mapping, .name = "link", .what = "a mapping", .fields = kPlainLinkFields};

inline constexpr Case kLinkCases[] = {{&kPreset}, {&kPresetLink, "preset"}, {&kPlainLink}};
inline constexpr Form kLink = {
    .kind = Kind::choice,
    .what = "a link preset, or a mapping such as {bandwidth: 450 GB/s, latency: 500 ns}",
    .cases = kLinkCases};

// --- switch, hosts ---

inline constexpr std::string_view kReductions[] = {"none", "rank_order", "arrival"};
inline constexpr Form kReduction = {.kind = Kind::word, .what = "a kind of reduction", .words = kReductions};
inline constexpr Form kPortBuffer = {
    .kind = Kind::size, .what = "a size such as 256 KiB", .least = 1, .most = std::int64_t{1} << 40};
inline constexpr std::string_view kForwardings[] = {"cut_through", "store_and_forward"};
inline constexpr Form kForwarding = {
    .kind = Kind::word, .what = "a way of forwarding", .words = kForwardings};
inline constexpr Form kStallTimeout = {
    .kind = Kind::time, .what = "a time such as 50 ms", .least = kMicrosecond, .most = 100 * kSecond};
inline constexpr Field kSwitchFields[] = {
    {"latency", &kTime, false, "From the last bit in to the first bit out. Default: 250 ns."},
    {"port_buffer", &kPortBuffer, false,
     "Egress queue of each port, beside what is on its way when a full queue asks to stop. Frame fidelity. "
     "Default: 256 KiB."},
    {"forwarding", &kForwarding, false,
     "cut_through (default): a frame goes on once its header is in. store_and_forward: once all of it is. "
     "Frame fidelity."},
    {"stall_timeout", &kStallTimeout, false,
     "A queue that has not moved for so long is dropped. Frame fidelity. Default: 50 ms."},
    {"reduction", &kReduction, false,
     "Whether switches reduce: not at all (none, the default), in the order of ranks, or as contributions "
     "arrive."},
};
inline constexpr Form kSwitch = {.kind = Kind::mapping,
                                 .name = "switch",
                                 .what = "a mapping such as {latency: 250 ns}",
                                 .fields = kSwitchFields};

inline constexpr Form kHostsPerRack = {
    .kind = Kind::integer, .what = "a whole number", .least = 1, .most = 256};
inline constexpr Field kHostsFields[] = {
    {"per_rack", &kHostsPerRack, true, "Hosts of each rack; GPUs are dealt to them in slot order."},
};
inline constexpr Form kHosts = {.kind = Kind::mapping,
                                .name = "hosts",
                                .what = "a mapping such as {per_rack: 2}",
                                .fields = kHostsFields};

// --- frames ---

inline constexpr std::string_view kWholeMessage[] = {"message"};
inline constexpr Form kMessageFrame = {.kind = Kind::word, .what = "a frame size", .words = kWholeMessage};
inline constexpr Form kFrameBytes = {
    .kind = Kind::size, .what = "a size such as 64 KiB", .least = 64, .most = 65'536};
inline constexpr Case kFrameSizeCases[] = {{&kMessageFrame}, {&kFrameBytes}};
inline constexpr Form kFrameSize = {
    .kind = Kind::choice, .what = "a size such as 64 KiB, or 'message'", .cases = kFrameSizeCases};
inline constexpr Field kFrameSizeField = {
    "frame_size", &kFrameSize, false,
    "The largest frame, header included, from 64 B to 64 KiB; message: every message is one frame, however "
    "long. Frame fidelity. Default: 64 KiB."};

// --- racks by number ---

inline constexpr std::string_view kTopologies[] = {"rack", "pair", "spine", "explicit"};
inline constexpr Form kTopology = {.kind = Kind::word, .what = "a topology", .words = kTopologies};
inline constexpr Form kRacks = {.kind = Kind::integer, .what = "a whole number", .least = 1, .most = 255};
inline constexpr Form kRackNumber = {
    .kind = Kind::integer, .what = "a whole number", .least = 0, .most = 255};
inline constexpr Form kGpuCount = {.kind = Kind::integer, .what = "a whole number", .least = 1, .most = 256};
inline constexpr Form kGpuCounts = {
    .kind = Kind::list, .what = "a list of whole numbers", .least = 1, .most = 255, .element = &kGpuCount};
inline constexpr Case kGpusPerRackCases[] = {{&kGpuCount}, {&kGpuCounts}};
inline constexpr Form kGpusPerRack = {.kind = Kind::choice,
                                      .what = "a whole number, or a list with one for each rack",
                                      .cases = kGpusPerRackCases};

inline constexpr Field kRegularFabricFields[] = {
    {"topology", &kTopology, false,
     "rack: one rack. pair: two racks, their switches joined by one link. spine: every rack's switch linked "
     "to one "
     "spine switch. explicit: switches and links one by one. Default: by the number of racks."},
    {"racks", &kRacks, false, "Number of racks. Default: 1, or as many as gpus_per_rack lists."},
    {"first_rack", &kRackNumber, false, "Number of the first rack; the others count on from it. Default: 1."},
    {"gpus_per_rack", &kGpusPerRack, true, "GPUs of every rack, or a list with the number for each rack."},
    {"link", &kLink, true, "The link between each GPU and its switch."},
    {"switch", &kSwitch, false, "What all switches have in common."},
    {"inter_switch", &kLink, false, "The link from a rack's switch to the other rack's, or to the spine."},
    kFrameSizeField,
    {"hosts", &kHosts, false, "How GPUs are spread over hosts.", true},
};
inline constexpr Refusal kRegularFabricRefused[] = {
    {"switches", "'switches' needs an explicit topology", "add 'topology: explicit', or remove 'switches'"},
    {"links", "'links' needs an explicit topology", "add 'topology: explicit', or remove 'links'"},
};
inline constexpr Form kRegularFabric = {.kind = Kind::mapping,
                                        .name = "fabric",
                                        .what = "a mapping such as {gpus_per_rack: 8, link: nvlink4}",
                                        .fields = kRegularFabricFields,
                                        .refused = kRegularFabricRefused};

// --- switches and links one by one ---

inline constexpr Form kGpusOfSwitch = {
    .kind = Kind::integer, .what = "a whole number", .least = 0, .most = 256};
inline constexpr Field kExplicitSwitchFields[] = {
    {"name", &kText, true, "Name of the switch, by which links refer to it."},
    {"rack", &kRackNumber, false, "Rack of its GPUs. Needed when it has any."},
    {"gpus", &kGpusOfSwitch, false, "Number of GPUs at this switch. Default: 0, a spine."},
    {"first_slot", &kRackNumber, false,
     "Slot of its first GPU; the others count on from it. Default: 0. For several switches in one rack."},
    {"latency", &kTime, false,
     "From the last bit in to the first bit out. Default: that of the fabric's 'switch'."},
    {"port_buffer", &kPortBuffer, false, "Instead of the 'port_buffer' of the fabric's 'switch'."},
    {"forwarding", &kForwarding, false, "Instead of the 'forwarding' of the fabric's 'switch'."},
    {"stall_timeout", &kStallTimeout, false, "Instead of the 'stall_timeout' of the fabric's 'switch'."},
    {"link", &kLink, false,
     "The link between each of its GPUs and the switch. Default: the fabric's 'link'."},
};
inline constexpr Form kExplicitSwitch = {.kind = Kind::mapping,
                                         .name = "explicit switch",
                                         .what = "a mapping such as {name: leaf1, rack: 1, gpus: 8}",
                                         .fields = kExplicitSwitchFields};
inline constexpr Form kExplicitSwitches = {.kind = Kind::list,
                                           .what = "a list of switches",
                                           .least = 1,
                                           .most = kMostSwitches,
                                           .element = &kExplicitSwitch};

inline constexpr Form kEnds = {
    .kind = Kind::list, .what = "a list of two switch names", .least = 2, .most = 2, .element = &kText};
inline constexpr std::string_view kBetweenText = "Names of the two switches that the link joins.";
inline constexpr Field kPresetCableFields[] = {
    {"between", &kEnds, true, kBetweenText},
    kPresetLinkFields[0],
    kPresetLinkFields[1],
    kPresetLinkFields[2],
    kPresetLinkFields[3],
    kPresetLinkFields[4],
    kPresetLinkFields[5],
    kPresetLinkFields[6],
};
inline constexpr Field kPlainCableFields[] = {
    {"between", &kEnds, true, kBetweenText},
    kPlainLinkFields[0],
    kPlainLinkFields[1],
    kPlainLinkFields[2],
    kPlainLinkFields[3],
    kPlainLinkFields[4],
    kPlainLinkFields[5],
};
inline constexpr Form kPresetCable = {.kind = Kind::mapping,
                                      .name = "explicit link with preset",
                                      .what = "a mapping with 'between'",
                                      .fields = kPresetCableFields};
inline constexpr Form kPlainCable = {.kind = Kind::mapping,
                                     .name = "explicit link",
                                     .what = "a mapping with 'between'",
                                     .fields = kPlainCableFields};
inline constexpr Case kCableCases[] = {{&kPresetCable, "preset"}, {&kPlainCable}};
inline constexpr Form kCable = {
    .kind = Kind::choice,
    .what = "a mapping such as {between: [leaf1, spine], bandwidth: 400 GB/s, latency: 1 us}",
    .cases = kCableCases};
inline constexpr Form kCables = {
    .kind = Kind::list, .what = "a list of links", .least = 0, .most = kMostCables, .element = &kCable};

inline constexpr std::string_view kExplicitWord[] = {"explicit"};
inline constexpr Form kExplicitTopology = {.kind = Kind::word, .what = "a topology", .words = kExplicitWord};
inline constexpr Field kExplicitFabricFields[] = {
    {"topology", &kExplicitTopology, true, "explicit: switches and links one by one."},
    {"switches", &kExplicitSwitches, true, "All switches; those without GPUs are spines."},
    {"links", &kCables, false, "Links between switches, each carrying its bandwidth in both directions."},
    {"link", &kLink, false, "The link between a GPU and its switch, for switches that do not say."},
    {"switch", &kSwitch, false, "What all switches have in common, unless they say otherwise."},
    kFrameSizeField,
    {"hosts", &kHosts, false, "How GPUs are spread over hosts.", true},
};
inline constexpr Refusal kExplicitFabricRefused[] = {
    {"racks", "'racks' has no place in an explicit fabric",
     "each switch names its rack: {name: leaf1, rack: 1, gpus: 8}"},
    {"first_rack", "'first_rack' has no place in an explicit fabric",
     "each switch names its rack: {name: leaf1, rack: 1, gpus: 8}"},
    {"gpus_per_rack", "'gpus_per_rack' has no place in an explicit fabric",
     "each switch says how many GPUs it has: {name: leaf1, rack: 1, gpus: 8}"},
    {"inter_switch", "'inter_switch' has no place in an explicit fabric",
     "each entry of 'links' describes itself: {between: [a, b], bandwidth: 400 GB/s, latency: 1 us}"},
};
inline constexpr Form kExplicitFabric = {.kind = Kind::mapping,
                                         .name = "explicit fabric",
                                         .what = "a mapping with 'switches' and 'links'",
                                         .fields = kExplicitFabricFields,
                                         .refused = kExplicitFabricRefused};

inline constexpr Case kFabricCases[] = {{&kExplicitFabric, "topology", "explicit"}, {&kRegularFabric}};
inline constexpr Form kFabric = {.kind = Kind::choice,
                                 .what = "a mapping such as {gpus_per_rack: 8, link: nvlink4}",
                                 .cases = kFabricCases};

}  // namespace cnuas::scenarios
