// Which algorithm a collective takes, and why.
#pragma once

#include "core/ccl/cost.h"
#include "core/ccl/racks.h"
#include "core/ccl/schedule.h"
#include "core/engine/error.h"
#include "core/engine/time.h"
#include "live/ccl/cnuasccl.h"
#include "live/ccl/failure.h"

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

namespace cnuas::live::collectives {

inline constexpr std::size_t kCollectives = 5;

// What a communicator is set to.
struct Settings {
  // By collective; none: the one of the least closed form.
  std::array<std::optional<ccl::Algorithm>, kCollectives> algorithm{};
  bool any_order = false;
  std::int64_t timeout_ns = 60'000'000'000;
  std::uint32_t chunk_limit = 60 * 1024;
  std::optional<bool> checksum;  // none: as the link needs it
  ccl::PortModel port{2'500'000'000, 20 * kMicrosecond, std::nullopt};
  std::uint64_t uplink_bytes_per_s = 0;  // 0: the port's
  std::uint32_t flight_entries = 256;
};

// What the environment says, before any call; null: the variable is not set. Fails with INVALID_ARGUMENT.
struct Environment {
  std::array<std::optional<ccl::Algorithm>, kCollectives> algorithm{};
  bool any_order = false;
};
Failure parse_environment(const char* algorithm, const char* order, Environment& out);

// Fails with INVALID_ARGUMENT. `given` may be shorter than this library's struct.
Failure apply(const cnuasccl_config& given, const Environment& environment, Settings& out);

struct Choice {
  std::shared_ptr<const ccl::Schedule> schedule;
  bool canonical = true;
  bool forced = false;
  Picoseconds predicted_ps = 0;
};

// problem.algorithm and problem.chunks are ignored. Fails with NOT_SUPPORTED, NOT_CANONICAL, TOO_LARGE,
// INVALID_ARGUMENT.
Failure choose(ccl::Problem problem, ccl::DataType type, const Settings& settings, const ccl::Racks& racks,
               Choice& out);

// All candidates with their predicted times, and the one that is taken.
std::string explain(const ccl::Problem& problem, ccl::DataType type, const Settings& settings,
                    const ccl::Racks& racks);

}  // namespace cnuas::live::collectives
