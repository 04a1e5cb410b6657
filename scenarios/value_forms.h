// Forms of single values that several sections share.
#pragma once

#include "scenarios/grammar.h"

namespace cnuas::scenarios {

inline constexpr Form kText = {.kind = Kind::text, .what = "text"};
inline constexpr Form kBoolean = {.kind = Kind::boolean, .what = "true or false"};
inline constexpr Form kTime = {.kind = Kind::time, .what = "a time such as 350 ns"};
inline constexpr Form kSpan = {.kind = Kind::time, .what = "a time such as 350 ns", .least = 1};
inline constexpr Form kSize = {.kind = Kind::size, .what = "a size such as 64 KiB"};
inline constexpr Form kSizeAboveZero = {.kind = Kind::size, .what = "a size such as 64 KiB", .least = 1};
inline constexpr Form kRate = {.kind = Kind::rate, .what = "a rate such as 400 GB/s", .least = 1};
inline constexpr Form kGpu = {.kind = Kind::gpu, .what = "a GPU such as 1/3 (rack/slot)"};

inline constexpr std::int64_t kMostGpus = 65'280;  // 255 racks of 256
inline constexpr Form kGpuList = {
    .kind = Kind::list, .what = "a list of GPUs", .least = 1, .most = kMostGpus, .element = &kGpu};

inline constexpr Field kOverlapField = {
    "overlap", &kBoolean, false,
    "true: the phases after it do not wait for it, and share links and processors with it. Default: false."};

}  // namespace cnuas::scenarios
