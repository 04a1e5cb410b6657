#include "live/switchd/log.h"

#include <gtest/gtest.h>

namespace cnuas::live {
namespace {

TEST(LogLimit, LetsAFewThroughAndCountsTheRest) {
  LogLimit limit;
  Picoseconds now = 5 * kSecond;
  for (unsigned i = 0; i < LogLimit::kMostAPeriod; ++i)
    EXPECT_EQ(limit.admit(now), 0u);
  for (int i = 0; i < 1000; ++i)
    EXPECT_EQ(limit.admit(now + i), std::nullopt);
  now += LogLimit::kPeriod;
  EXPECT_EQ(limit.admit(now), 1000u);
  EXPECT_EQ(limit.admit(now), 0u);
}

TEST(LogLimit, BeginsAtTimeZeroToo) {
  LogLimit limit;
  EXPECT_EQ(limit.admit(0), 0u);
}

TEST(Log, RefusesALevelThatDoesNotExist) {
  const Result<void> log = set_up_log(LogTarget::standard_error, "test", "loud");
  ASSERT_FALSE(log);
  EXPECT_EQ(log.error().code, ErrorCode::invalid_argument);
}

}  // namespace
}  // namespace cnuas::live
