// What may stand in traffic, as an item of the workload or a phase of a step.
#pragma once

#include "scenarios/value_forms.h"

namespace cnuas::scenarios {

inline constexpr std::string_view kPatterns[] = {"point_to_point", "incast", "uniform", "hotspot"};
inline constexpr Form kPattern = {.kind = Kind::word, .what = "a traffic pattern", .words = kPatterns};
inline constexpr std::string_view kTrafficKinds[] = {"data", "doorbell", "atomic"};
inline constexpr Form kTrafficKind = {
    .kind = Kind::word, .what = "a kind of message", .words = kTrafficKinds};

inline constexpr std::string_view kAllGpus[] = {"all"};
inline constexpr Form kAllGpusWord = {.kind = Kind::word, .what = "a GPU", .words = kAllGpus};
inline constexpr Case kGpusCases[] = {{&kAllGpusWord}, {&kGpu}, {&kGpuList}};
inline constexpr Form kGpus = {
    .kind = Kind::choice, .what = "a GPU such as 1/3, a list of GPUs, or 'all'", .cases = kGpusCases};

inline constexpr Form kMessages = {
    .kind = Kind::integer, .what = "a whole number", .least = 1, .most = 1'000'000};
inline constexpr Form kHotFraction = {.kind = Kind::fraction,
                                      .what = "a number above 0 and at most 1, such as 0.5"};

inline constexpr Field kTrafficItemFields[] = {
    {"traffic", &kPattern, true,
     "point_to_point: the first of 'from' sends to the first of 'to', the second to the second and so on. "
     "incast: all send to one. uniform: every message goes to any of 'to' but the sender itself. hotspot: "
     "likewise, but a fraction of them to the first of 'to'."},
    {"from", &kGpus, true, "Who sends: a GPU, a list of GPUs, or all; in an incast, all but the receiver."},
    {"to", &kGpus, true, "Who receives: a GPU, a list of GPUs, or all."},
    {"size", &kSizeAboveZero, false, "Of each message. Needed for data; the other kinds have their own."},
    {"messages", &kMessages, false, "How many each GPU sends, one after the other. Default: 1."},
    {"kind", &kTrafficKind, false, "Type of the frames: data (default), doorbell or atomic."},
    {"interval", &kSpan, false,
     "From one message of a GPU to its next, at least. Default: each as soon as the port is free."},
    {"hot_fraction", &kHotFraction, false,
     "Fraction of a hotspot's messages for the first of 'to'. Default: 0.5."},
    {"name", &kText, false, "Name in the results. Default: the pattern."},
};
inline constexpr Refusal kTrafficItemRefused[] = {
    {"step", "traffic of its own is not part of a step", "call it 'name', or make two items of it"},
    {"phases", "traffic of its own has no phases", "begin the item with 'step: NAME'"},
    {"overlap", "only phases of a step overlap", "remove 'overlap'"},
    {"ranks", "traffic has senders and receivers", "write 'from' and 'to'"},
};
inline constexpr Form kTrafficItem = {.kind = Kind::mapping,
                                      .name = "traffic",
                                      .what = "a mapping with 'traffic'",
                                      .fields = kTrafficItemFields,
                                      .refused = kTrafficItemRefused};

inline constexpr Field kTrafficPhaseFields[] = {
    kTrafficItemFields[0], kTrafficItemFields[1], kTrafficItemFields[2],
    kTrafficItemFields[3], kTrafficItemFields[4], kTrafficItemFields[5],
    kTrafficItemFields[6], kTrafficItemFields[7], kOverlapField,
};
inline constexpr Refusal kTrafficPhaseRefused[] = {
    {"name", "a phase has no name", "the step has one: 'step: NAME'"},
    {"ranks", "traffic has senders and receivers", "write 'from' and 'to'"},
};
inline constexpr Form kTrafficPhase = {.kind = Kind::mapping,
                                       .name = "traffic phase",
                                       .what = "a mapping with 'traffic'",
                                       .fields = kTrafficPhaseFields,
                                       .refused = kTrafficPhaseRefused};

}  // namespace cnuas::scenarios
