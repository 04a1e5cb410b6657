#include "live/switchd/log.h"

#include <cstdlib>
#include <memory>
#include <utility>

#include <spdlog/sinks/stdout_sinks.h>
#include <spdlog/sinks/systemd_sink.h>
#include <spdlog/spdlog.h>

namespace cnuas::live {

namespace {

// systemd sets it for services whose standard error is the journal.
bool started_by_journal() {
  return std::getenv("JOURNAL_STREAM") != nullptr;
}

}  // namespace

Result<void> set_up_log(LogTarget target, const std::string& program, const std::string& level) {
  const spdlog::level::level_enum parsed = spdlog::level::from_str(level);
  if (parsed == spdlog::level::off && level != "off") {
    return fail(ErrorCode::invalid_argument,
                "there is no log level '" + level + "'; use debug, info, warning or error", "--log-level");
  }
  const bool journal =
      target == LogTarget::journal || (target == LogTarget::automatic && started_by_journal());
  std::shared_ptr<spdlog::logger> logger;
  if (journal) {
    logger = std::make_shared<spdlog::logger>(
        program, std::make_shared<spdlog::sinks::systemd_sink_st>(program, false));
  } else {
    logger = std::make_shared<spdlog::logger>(program, std::make_shared<spdlog::sinks::stderr_sink_st>());
    logger->set_pattern("%Y-%m-%dT%H:%M:%S.%e %n[%P] %l: %v");
  }
  logger->set_level(parsed);
  logger->flush_on(spdlog::level::trace);
  spdlog::set_default_logger(std::move(logger));
  return {};
}

std::optional<std::uint64_t> LogLimit::admit(Picoseconds now) {
  if (!period_ps_ || now - *period_ps_ >= kPeriod) {
    period_ps_ = now;
    in_period_ = 0;
  }
  if (in_period_ >= kMostAPeriod) {
    ++held_back_;
    return std::nullopt;
  }
  ++in_period_;
  return std::exchange(held_back_, 0);
}

std::string held_back(std::uint64_t count) {
  return count == 0 ? "" : " (" + std::to_string(count) + " more like it were not logged)";
}

}  // namespace cnuas::live
