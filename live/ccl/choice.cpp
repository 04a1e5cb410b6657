#include "live/ccl/choice.h"

#include "core/ccl/envelope.h"
#include "core/ccl/select.h"
#include "live/abi/growing_struct.h"

#include <algorithm>
#include <cstring>
#include <iterator>

namespace cnuas::live::collectives {
namespace {

constexpr ccl::Collective kAll[kCollectives] = {ccl::Collective::all_reduce, ccl::Collective::broadcast,
                                                ccl::Collective::all_gather, ccl::Collective::reduce_scatter,
                                                ccl::Collective::all_to_all};

constexpr std::int64_t kLongestLatencyNs = 1'000'000'000;  // 65,533 of them in a row are still a time

bool has(ccl::Collective collective, ccl::Algorithm algorithm) {
  const auto all = ccl::algorithms_of(collective);
  return std::find(all.begin(), all.end(), algorithm) != all.end();
}

// For every collective that has it.
void force(ccl::Algorithm algorithm, std::array<std::optional<ccl::Algorithm>, kCollectives>& out) {
  for (const ccl::Collective collective : kAll)
    if (has(collective, algorithm)) out[static_cast<std::size_t>(collective)] = algorithm;
}

Failure bad_item(std::string_view item, const std::string& why) {
  return failure(CNUASCCL_INVALID_ARGUMENT, "CNUASCCL_ALGORITHM: '" + std::string(item) + "' " + why);
}

Failure parse_item(std::string_view item, Environment& out) {
  const std::size_t colon = item.find(':');
  const std::string_view wanted = colon == std::string_view::npos ? item : item.substr(colon + 1);
  const auto algorithm = ccl::parse_algorithm(wanted);
  if (!algorithm && wanted != "auto") return bad_item(item, "names no algorithm");
  if (colon == std::string_view::npos) {
    if (!algorithm) out.algorithm = {};
    if (algorithm) force(*algorithm, out.algorithm);
    return {};
  }
  const auto collective = ccl::parse_collective(item.substr(0, colon));
  if (!collective) return bad_item(item, "names no collective");
  if (algorithm && !has(*collective, *algorithm))
    return bad_item(item, "names an algorithm that the collective does not have");
  out.algorithm[static_cast<std::size_t>(*collective)] = algorithm;
  return {};
}

ccl::Problem with(ccl::Problem problem, ccl::Algorithm algorithm, ccl::DataType type) {
  problem.algorithm = algorithm;
  problem.chunks =
      ccl::default_chunks(problem.collective, algorithm, problem.ranks, problem.count * size_of(type));
  return problem;
}

Failure of(const Error& error) {
  switch (error.code) {
    case ErrorCode::unsupported:
      return failure(CNUASCCL_NOT_SUPPORTED, error.message);
    case ErrorCode::out_of_range:
      return failure(CNUASCCL_TOO_LARGE, error.message);
    default:
      return failure(CNUASCCL_INVALID_ARGUMENT, error.message);
  }
}

std::string in_microseconds(Picoseconds time) {
  const Picoseconds tenths = time / (kMicrosecond / 10);
  return std::to_string(tenths / 10) + "." + std::to_string(tenths % 10);
}

std::string in_racks(const ccl::Racks& racks) {
  if (!racks.several()) return {};
  return std::to_string(racks.uplink_bytes_per_s.size()) + " racks with " +
         std::to_string(racks.uplink_bytes_per_s[0] / 1'000'000) + " MB/s between them, ";
}

std::string padded(std::string text, std::size_t width) {
  if (text.size() < width) text.append(width - text.size(), ' ');
  return text;
}
std::string right(std::string text, std::size_t width) {
  if (text.size() < width) text.insert(0, width - text.size(), ' ');
  return text;
}

}  // namespace

Failure parse_environment(const char* algorithm, const char* order, Environment& out) {
  if (order != nullptr && std::strcmp(order, "any") != 0 && std::strcmp(order, "canonical") != 0)
    return failure(CNUASCCL_INVALID_ARGUMENT,
                   std::string("CNUASCCL_ORDER is '") + order + "'; it may be 'any' or 'canonical'");
  out.any_order = order != nullptr && std::strcmp(order, "any") == 0;
  if (algorithm == nullptr) return {};
  std::string_view rest(algorithm);
  while (!rest.empty()) {
    const std::size_t comma = std::min(rest.find(','), rest.size());
    const std::string_view item = rest.substr(0, comma);
    if (Failure wrong = parse_item(item, out); wrong.failed()) return wrong;
    rest.remove_prefix(std::min(comma + 1, rest.size()));
  }
  return {};
}

Failure apply(const cnuasccl_config& given, const Environment& environment, Settings& out) {
  const auto refuse = [](std::string text) { return failure(CNUASCCL_INVALID_ARGUMENT, std::move(text)); };
  cnuasccl_config config;
  cnuasccl_config_init(&config, sizeof config);
  growing::read_over(config, given);
  const int algorithm = number_of(config.algorithm);
  if (algorithm < CNUASCCL_AUTO || algorithm > CNUASCCL_BRUCK)
    return refuse("there is no algorithm " + std::to_string(algorithm));
  if (config.timeout_ns <= 0) return refuse("timeout_ns must be above 0");
  if (config.chunk_bytes < 64 || config.chunk_bytes > ccl::kMaxChunkBytes || config.chunk_bytes % 8 != 0)
    return refuse("chunk_bytes must be a multiple of 8 from 64 to 61440");
  if (config.checksum < -1 || config.checksum > 1) return refuse("checksum must be -1, 0 or 1");
  if (config.rate_bytes_per_s == 0) return refuse("rate_bytes_per_s must be above 0");
  if (config.latency_ns < 0 || config.latency_ns > kLongestLatencyNs)
    return refuse("latency_ns must be from 0 to 1,000,000,000");
  if (config.flight_entries > 65'536) return refuse("flight_entries may be at most 65536");
  Settings settings;
  settings.algorithm = environment.algorithm;
  if (algorithm != CNUASCCL_AUTO) {
    settings.algorithm = {};
    force(static_cast<ccl::Algorithm>(algorithm - 1), settings.algorithm);
  }
  settings.any_order = config.any_order != 0 || environment.any_order;
  settings.timeout_ns = config.timeout_ns;
  settings.chunk_limit = config.chunk_bytes;
  settings.checksum = std::nullopt;
  if (config.checksum >= 0) settings.checksum = config.checksum != 0;
  settings.port = {config.rate_bytes_per_s, config.latency_ns * 1000, std::nullopt};
  settings.uplink_bytes_per_s = config.uplink_bytes_per_s;
  settings.flight_entries = config.flight_entries;
  out = settings;
  return {};
}

Failure choose(ccl::Problem problem, ccl::DataType type, const Settings& settings, const ccl::Racks& racks,
               Choice& out) {
  const auto forced = settings.algorithm[static_cast<std::size_t>(problem.collective)];
  problem.chunks = 0;
  if (forced) {
    problem.algorithm = *forced;
  } else {
    const auto best = ccl::select(problem, size_of(type), settings.port, racks, !settings.any_order);
    if (!best) return of(best.error());
    problem.algorithm = *best;
  }
  problem = with(problem, problem.algorithm, type);
  out.canonical = fold_guarantee(problem.collective, problem.algorithm, problem.ranks).canonical;
  out.forced = forced.has_value();
  if (!out.canonical && !settings.any_order)
    return failure(
        CNUASCCL_NOT_CANONICAL,
        std::string(name(problem.collective)) + " " + std::string(name(problem.algorithm)) + " of " +
            std::to_string(problem.ranks) +
            " ranks does not fold in rank order; set any_order (or CNUASCCL_ORDER=any) to allow it");
  auto schedule = make_schedule(problem);
  if (!schedule) return of(schedule.error());
  out.schedule = std::move(*schedule);
  out.predicted_ps = ccl::expected_time(problem, size_of(type), settings.port, racks);
  return {};
}

std::string explain(const ccl::Problem& problem, ccl::DataType type, const Settings& settings,
                    const ccl::Racks& racks) {
  const std::uint64_t bytes = problem.count * size_of(type);
  std::string text = std::string(name(problem.collective)) + " of " + std::to_string(problem.ranks) +
                     " ranks, " + std::to_string(bytes) + " bytes of " + std::string(name(type)) +
                     "; a = " + in_microseconds(settings.port.latency_ps) +
                     " us, B = " + std::to_string(settings.port.rate_bytes_per_s / 1'000'000) + " MB/s, " +
                     in_racks(racks) + (settings.any_order ? "any order" : "canonical only") + "\n";
  Choice choice;
  const Failure none = choose(problem, type, settings, racks, choice);
  for (const ccl::Algorithm algorithm : ccl::algorithms_of(problem.collective)) {
    const ccl::Problem candidate = with(problem, algorithm, type);
    const ccl::ClosedForm form = closed_form(candidate, size_of(type), settings.port);
    const bool canonical = fold_guarantee(problem.collective, algorithm, problem.ranks).canonical;
    const bool taken = !none.failed() && choice.schedule->problem().algorithm == algorithm;
    const Picoseconds expected = ccl::expected_time(candidate, size_of(type), settings.port, racks);
    const bool crossing = expected > ccl::expected_time(candidate, size_of(type), settings.port, {});
    text += std::string(taken ? "> " : "  ") + padded(std::string(name(algorithm)), 20) +
            right(in_microseconds(expected), 12) + " us  " + padded(canonical ? "canonical" : "-", 10) +
            (form.exact ? "= " : ">= ") + std::string(form.formula);
    if (crossing) text += ", by what crosses between racks";
    if (candidate.chunks > 1) text += ", K = " + std::to_string(candidate.chunks);
    if (taken && choice.forced) text += "  (forced)";
    text += "\n";
  }
  if (none.failed()) text += none.text + "\n";
  return text;
}

}  // namespace cnuas::live::collectives
