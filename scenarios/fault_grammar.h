// What may stand under `faults`.
#pragma once

#include "scenarios/fabric_grammar.h"
#include "scenarios/value_forms.h"

namespace cnuas::scenarios {

inline constexpr std::int64_t kMostFaults = 10'000;

inline constexpr Field kFaultAtField = {"at", &kTime, true, "When it begins, from the start of each run."};
inline constexpr Field kFaultForField = {"for", &kSpan, false,
                                         "How long it lasts. Default: the rest of the run."};

// --- links ---

inline constexpr Field kFaultPortField = {"port", &kGpu, false,
                                          "The GPU at whose port it happens, in both directions."};
inline constexpr Field kFaultLinkField = {"link", &kEnds, false,
                                          "The two switches on whose link it happens, in both directions."};
inline constexpr Alternative kPortOrLink[] = {{"port", "link", true}};
inline constexpr Refusal kLinkFaultRefused[] = {
    {"gpu", "this happens to a link", "write 'port: 1/3' for the link of a GPU"},
    {"hold", "only a slow receiver holds frames", "write 'gpu: 1/3, receiver: slow, hold: 10 us'"},
};

inline constexpr std::string_view kDown[] = {"down"};
inline constexpr UnavailableWord kUp[] = {{"up", "a fault sets something down, and 'for' says for how long"}};
inline constexpr Form kSetDown = {.kind = Kind::word, .what = "a state", .words = kDown, .unavailable = kUp};
inline constexpr Field kLinkDownFields[] = {
    kFaultAtField,
    kFaultPortField,
    kFaultLinkField,
    {"set", &kSetDown, true, "down: what is queued for the link or on it is lost, and counted."},
    kFaultForField,
};
inline constexpr Form kLinkDown = {.kind = Kind::mapping,
                                   .name = "link down",
                                   .what = "a mapping with 'set'",
                                   .fields = kLinkDownFields,
                                   .refused = kLinkFaultRefused,
                                   .alternatives = kPortOrLink};

inline constexpr Form kLanes = {.kind = Kind::share, .what = "a share of the lanes such as 1/2 or 0.5"};
inline constexpr Field kLanesLostFields[] = {
    kFaultAtField,
    kFaultPortField,
    kFaultLinkField,
    {"lanes", &kLanes, true, "Share of the lanes, and so of the rate, that is left: above 0 and below 1."},
    kFaultForField,
};
inline constexpr Form kLanesLost = {.kind = Kind::mapping,
                                    .name = "lanes lost",
                                    .what = "a mapping with 'lanes'",
                                    .fields = kLanesLostFields,
                                    .refused = kLinkFaultRefused,
                                    .alternatives = kPortOrLink};

inline constexpr Form kErrorRate = {.kind = Kind::probability, .what = "a probability such as 1e-9"};
inline constexpr Field kBitErrorFields[] = {
    kFaultAtField,
    kFaultPortField,
    kFaultLinkField,
    {"bit_error_rate", &kErrorRate, true,
     "Probability that a bit arrives wrong, above 0 and below 0.01. Nothing is lost: packets are sent "
     "again."},
    kFaultForField,
};
inline constexpr Form kBitErrors = {.kind = Kind::mapping,
                                    .name = "bit errors",
                                    .what = "a mapping with 'bit_error_rate'",
                                    .fields = kBitErrorFields,
                                    .refused = kLinkFaultRefused,
                                    .alternatives = kPortOrLink};

// --- receivers and switches ---

inline constexpr std::string_view kReceiverStates[] = {"slow", "dead"};
inline constexpr Form kReceiverState = {
    .kind = Kind::word, .what = "a state of a receiver", .words = kReceiverStates};
inline constexpr Field kReceiverFields[] = {
    kFaultAtField,
    {"gpu", &kGpu, true, "The GPU that receives."},
    {"receiver", &kReceiverState, true,
     "slow: it takes one frame at a time, and holds each. dead: it takes one more frame, and then none."},
    {"hold", &kSpan, false, "How long a slow receiver holds each frame."},
    kFaultForField,
};
inline constexpr Refusal kReceiverRefused[] = {
    {"port", "a receiver is a GPU", "write 'gpu: 1/3'"},
    {"link", "a receiver is a GPU", "write 'gpu: 1/3'"},
};
inline constexpr Form kReceiverFault = {.kind = Kind::mapping,
                                        .name = "receiver fault",
                                        .what = "a mapping with 'receiver'",
                                        .fields = kReceiverFields,
                                        .refused = kReceiverRefused};

inline constexpr Field kRestartFields[] = {
    kFaultAtField,
    {"switch", &kText, true, "Name of the switch: rack1, spine, or the one that an explicit fabric gave it."},
    {"set", &kSetDown, true, "down: its queues and tables are lost, and all its links are down."},
    kFaultForField,
};
inline constexpr Refusal kRestartRefused[] = {
    {"port", "a fault happens to a switch, a port or a link", "make two faults of it"},
    {"link", "a fault happens to a switch, a port or a link", "make two faults of it"},
    {"gpu", "a fault happens to a switch, a port or a link", "make two faults of it"},
};
inline constexpr Form kRestart = {.kind = Kind::mapping,
                                  .name = "switch down",
                                  .what = "a mapping with 'switch'",
                                  .fields = kRestartFields,
                                  .refused = kRestartRefused};

inline constexpr Case kFaultCases[] = {{&kReceiverFault, "receiver"},
                                       {&kLanesLost, "lanes"},
                                       {&kBitErrors, "bit_error_rate"},
                                       {&kRestart, "switch"},
                                       {&kLinkDown, "set"}};
inline constexpr Form kFault = {.kind = Kind::choice,
                                .name = "fault",
                                .what = "a mapping such as {at: 10 us, port: 2/3, set: down, for: 50 us}",
                                .cases = kFaultCases};
inline constexpr Form kFaults = {
    .kind = Kind::list, .what = "a list of faults", .least = 0, .most = kMostFaults, .element = &kFault};

}  // namespace cnuas::scenarios
