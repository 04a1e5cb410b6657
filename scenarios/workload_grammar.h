// What may stand under `workload`, `background` and `stragglers`.
#pragma once

#include "scenarios/traffic_grammar.h"
#include "scenarios/value_forms.h"

namespace cnuas::scenarios {

inline constexpr std::int64_t kMostSizes = 4096;
inline constexpr std::int64_t kMostItems = 10'000;  // of workload, phases, background, stragglers

// --- names; core/ccl/collective.h has the same ---

inline constexpr std::string_view kCollectives[] = {"all_reduce", "broadcast", "all_gather", "reduce_scatter",
                                                    "all_to_all"};
inline constexpr std::string_view kAlgorithms[] = {
    "auto",    "ring", "chain",       "direct",   "one_shot", "recursive_doubling", "halving_doubling",
    "halving", "tree", "double_tree", "pairwise", "bruck"};
// The same with `all` in front.
inline constexpr std::string_view kAlgorithmsOrAll[] = {"all",
                                                        "auto",
                                                        "ring",
                                                        "chain",
                                                        "direct",
                                                        "one_shot",
                                                        "recursive_doubling",
                                                        "halving_doubling",
                                                        "halving",
                                                        "tree",
                                                        "double_tree",
                                                        "pairwise",
                                                        "bruck"};
inline constexpr UnavailableWord kFutureAlgorithms[] = {{"in_switch"}, {"hierarchical"}};
inline constexpr UnavailableWord kNotOneAlgorithm[] = {
    {"in_switch"}, {"hierarchical"}, {"all", "'all' is more than one algorithm: write 'algorithms: all'"}};
inline constexpr UnavailableWord kNotInAList[] = {
    {"in_switch"}, {"hierarchical"}, {"all", "'all' stands alone: write 'algorithms: all'"}};
inline constexpr std::string_view kDataTypes[] = {"int8",  "uint8",  "int32",   "uint32",
                                                  "int64", "uint64", "float32", "float64"};
inline constexpr std::string_view kOperators[] = {"sum", "product", "min", "max"};

inline constexpr Form kCollective = {.kind = Kind::word, .what = "a collective", .words = kCollectives};
inline constexpr Form kAlgorithm = {
    .kind = Kind::word, .what = "an algorithm", .words = kAlgorithms, .unavailable = kNotOneAlgorithm};
inline constexpr Form kAlgorithmOrAll = {
    .kind = Kind::word, .what = "an algorithm", .words = kAlgorithmsOrAll, .unavailable = kFutureAlgorithms};
inline constexpr Form kListedAlgorithm = {
    .kind = Kind::word, .what = "an algorithm", .words = kAlgorithms, .unavailable = kNotInAList};
inline constexpr Form kAlgorithmList = {
    .kind = Kind::list, .what = "a list of algorithms", .least = 1, .most = 64, .element = &kListedAlgorithm};
inline constexpr Case kAlgorithmsCases[] = {{&kAlgorithmList}, {&kAlgorithmOrAll}};
inline constexpr Form kAlgorithmsForm = {
    .kind = Kind::choice, .what = "a list of algorithms, 'all' or 'auto'", .cases = kAlgorithmsCases};
inline constexpr Form kDataType = {.kind = Kind::word, .what = "an element type", .words = kDataTypes};
inline constexpr Form kOperator = {.kind = Kind::word, .what = "an operator", .words = kOperators};

// --- sizes ---

inline constexpr Form kSizeList = {
    .kind = Kind::list, .what = "a list of sizes", .least = 1, .most = kMostSizes, .element = &kSize};
inline constexpr Form kFactor = {
    .kind = Kind::integer, .what = "a whole number", .least = 2, .most = 1'000'000};
inline constexpr std::string_view kFromText = "The first size.";
inline constexpr std::string_view kToText =
    "The last size, if the steps meet it; nothing larger in any case.";
inline constexpr Field kFactorRangeFields[] = {
    {"from", &kSize, true, kFromText},
    {"to", &kSize, true, kToText},
    {"factor", &kFactor, true,
     "What each size is multiplied with to give the next, at least 2. Or 'step': what is added to it."},
};
inline constexpr Refusal kFactorRangeRefused[] = {
    {"step", "a range of sizes grows by 'factor' or by 'step', not by both", "remove one of them"}};
inline constexpr Form kFactorRange = {.kind = Kind::mapping,
                                      .name = "sizes",
                                      .what = "a mapping with 'from', 'to' and 'factor'",
                                      .fields = kFactorRangeFields,
                                      .refused = kFactorRangeRefused};
inline constexpr Field kStepRangeFields[] = {
    {"from", &kSize, true, kFromText},
    {"to", &kSize, true, kToText},
    {"step", &kSizeAboveZero, true, "What is added to each size to give the next."},
};
inline constexpr Refusal kStepRangeRefused[] = {
    {"factor", "a range of sizes grows by 'factor' or by 'step', not by both", "remove one of them"}};
inline constexpr Form kStepRange = {.kind = Kind::mapping,
                                    .name = "sizes with step",
                                    .what = "a mapping with 'from', 'to' and 'step'",
                                    .fields = kStepRangeFields,
                                    .refused = kStepRangeRefused};
inline constexpr Case kSizesCases[] = {{&kSizeList}, {&kStepRange, "step"}, {&kFactorRange}};
inline constexpr Form kSizes = {
    .kind = Kind::choice,
    .what = "a list such as [4 KiB, 1 MiB], or a range such as {from: 1 KiB, to: 1 GiB, factor: 4}",
    .cases = kSizesCases};

// --- who takes part ---

inline constexpr Form kRankCount = {
    .kind = Kind::integer, .what = "a whole number", .least = 1, .most = kMostGpus};
inline constexpr Case kRanksCases[] = {{&kRankCount}, {&kGpuList}};
inline constexpr Form kRanks = {.kind = Kind::choice,
                                .what = "a number of GPUs, or a list of them such as [1/0, 2/3]",
                                .cases = kRanksCases};
inline constexpr Form kRankNumber = {
    .kind = Kind::integer, .what = "a rank", .least = 0, .most = kMostGpus - 1};
inline constexpr Case kRootCases[] = {{&kRankNumber}, {&kGpu}};
inline constexpr Form kRoot = {
    .kind = Kind::choice, .what = "a rank such as 0, or a GPU such as 1/3", .cases = kRootCases};
inline constexpr Form kChunks = {
    .kind = Kind::integer, .what = "a whole number", .least = 1, .most = 1'000'000};

inline constexpr std::string_view kRanksText =
    "Who takes part: the first so many GPUs, by rack and slot, or a list of GPUs, the first being rank 0. "
    "Default: all.";
inline constexpr std::string_view kSizeText =
    "Size as nccl-tests counts it: the vector for all_reduce and broadcast, the array of all ranks together "
    "for "
    "all_gather and reduce_scatter, one rank's send buffer for all_to_all.";

inline constexpr Field kCollectiveField = {"collective", &kCollective, true, "The operation."};
inline constexpr Field kAlgorithmField = {
    "algorithm", &kAlgorithm, false,
    "How it is carried out. auto (default): what the cost model finds fastest."};
inline constexpr Field kTypeField = {"type", &kDataType, false, "Type of the elements. Default: float32."};
inline constexpr Field kOperatorField = {"operator", &kOperator, false,
                                         "What a reduction does with the elements. Default: sum."};
inline constexpr Field kRanksField = {"ranks", &kRanks, false, kRanksText};
inline constexpr Field kRootField = {"root", &kRoot, false,
                                     "Who has the data of a broadcast: a rank, or a GPU. Default: rank 0."};
inline constexpr Field kChunksField = {"chunks", &kChunks, false,
                                       "Pieces into which a pipelined algorithm (chain, tree, double_tree) "
                                       "cuts the vector. Default: by size and ranks."};

// --- items of the workload ---

inline constexpr Field kMeasurementFields[] = {
    kCollectiveField,
    kAlgorithmField,
    {"algorithms", &kAlgorithmsForm, false,
     "Several of them, each measured at every size; all: those it has."},
    {"sizes", &kSizes, false, "Sizes to measure, one by one or as a range."},
    {"size", &kSize, false, kSizeText},
    kTypeField,
    kOperatorField,
    kRanksField,
    kRootField,
    kChunksField,
};
inline constexpr Refusal kMeasurementRefused[] = {
    {"step", "a collective of its own is not part of a step", "make two items of it, each with its '- '"},
    {"phases", "a collective of its own has no phases", "begin the item with 'step: NAME'"},
    {"overlap", "only phases of a step overlap", "remove 'overlap'"},
    {"traffic", "an item is a collective or traffic, not both", "make two items of it, each with its '- '"},
};
inline constexpr Alternative kMeasurementAlternatives[] = {{"size", "sizes", true},
                                                           {"algorithm", "algorithms", false}};
inline constexpr Form kMeasurement = {.kind = Kind::mapping,
                                      .name = "collective",
                                      .what = "a mapping with 'collective'",
                                      .fields = kMeasurementFields,
                                      .refused = kMeasurementRefused,
                                      .alternatives = kMeasurementAlternatives};

inline constexpr Field kComputeFields[] = {
    {"compute", &kSpan, true, "How long each GPU computes, at normal speed."},
    kRanksField,
    kOverlapField,
};
inline constexpr Refusal kComputeRefused[] = {
    {"collective", "a phase computes or communicates, not both",
     "make two phases of it; with 'overlap: true' in the first they run side by side"},
    {"traffic", "a phase computes or communicates, not both",
     "make two phases of it; with 'overlap: true' in the first they run side by side"},
};
inline constexpr Form kCompute = {.kind = Kind::mapping,
                                  .name = "compute phase",
                                  .what = "a mapping with 'compute'",
                                  .fields = kComputeFields,
                                  .refused = kComputeRefused};
inline constexpr Field kCollectivePhaseFields[] = {
    kCollectiveField, kAlgorithmField, {"size", &kSize, true, kSizeText},
    kTypeField,       kOperatorField,  kRanksField,
    kRootField,       kChunksField,    kOverlapField,
};
inline constexpr Refusal kCollectivePhaseRefused[] = {
    {"sizes", "a phase has one size", "write 'size: 1 MiB'"},
    {"algorithms", "a phase has one algorithm", "write 'algorithm: ring'"},
    {"traffic", "a phase is a collective or traffic, not both",
     "make two phases of it; with 'overlap: true' in the first they run side by side"},
};
inline constexpr Form kCollectivePhase = {.kind = Kind::mapping,
                                          .name = "collective phase",
                                          .what = "a mapping with 'collective'",
                                          .fields = kCollectivePhaseFields,
                                          .refused = kCollectivePhaseRefused};
inline constexpr Case kPhaseCases[] = {
    {&kCompute, "compute"}, {&kCollectivePhase, "collective"}, {&kTrafficPhase, "traffic"}};
inline constexpr Form kPhase = {.kind = Kind::choice,
                                .name = "phase",
                                .what = "a mapping such as {compute: 250 us}",
                                .cases = kPhaseCases};
inline constexpr Form kPhases = {
    .kind = Kind::list, .what = "a list of phases", .least = 1, .most = kMostItems, .element = &kPhase};
inline constexpr Field kStepFields[] = {
    {"step", &kText, true, "Name of the training step; results carry it."},
    {"phases", &kPhases, true, "What happens in the step, one after the other unless phases overlap."},
};
inline constexpr Form kStep = {
    .kind = Kind::mapping, .name = "step", .what = "a mapping with 'step'", .fields = kStepFields};

inline constexpr Case kItemCases[] = {
    {&kMeasurement, "collective"}, {&kTrafficItem, "traffic"}, {&kStep, "step"}};
inline constexpr Form kItem = {.kind = Kind::choice,
                               .name = "item of the workload",
                               .what = "a mapping such as {collective: all_reduce, size: 1 MiB}",
                               .cases = kItemCases};
inline constexpr Form kWorkload = {
    .kind = Kind::list,
    .what = "a list of collectives, traffic and steps, each beginning with '- '",
    .least = 1,
    .most = kMostItems,
    .element = &kItem};

// --- beside the workload ---

inline constexpr Field kFlowFields[] = {
    {"from", &kGpu, true, "The GPU that sends."},
    {"to", &kGpu, true, "The GPU that receives."},
    {"rate", &kRate, false, "Most it sends. Default: its fair share of whatever there is."},
    {"start", &kTime, false, "When it begins, from the start of each run. Default: 0 us."},
    {"for", &kSpan, false, "How long it lasts. Default: as long as the run."},
};
inline constexpr Form kFlow = {.kind = Kind::mapping,
                               .name = "background flow",
                               .what = "a mapping such as {from: 1/0, to: 2/0}",
                               .fields = kFlowFields};
inline constexpr Form kBackground = {
    .kind = Kind::list, .what = "a list of flows", .least = 0, .most = kMostItems, .element = &kFlow};

inline constexpr Form kSpeed = {.kind = Kind::fraction,
                                .what = "a number above 0 and at most 1, such as 0.5"};
inline constexpr Field kStragglerFields[] = {
    {"gpu", &kGpu, true, "The GPU."},
    {"speed", &kSpeed, true, "Fraction of the normal speed at which it computes, above 0 and at most 1."},
};
inline constexpr Form kStraggler = {.kind = Kind::mapping,
                                    .name = "straggler",
                                    .what = "a mapping such as {gpu: 1/3, speed: 0.5}",
                                    .fields = kStragglerFields};
inline constexpr Form kStragglers = {.kind = Kind::list,
                                     .what = "a list of stragglers",
                                     .least = 0,
                                     .most = kMostGpus,
                                     .element = &kStraggler};

}  // namespace cnuas::scenarios
