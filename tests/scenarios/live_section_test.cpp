// What `live` says to the daemons, and that it must be well-formed like everything else.
#include "tests/scenarios/loading.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace cnuas::scenarios {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

LoadResult load_with(const std::string& live) {
  return load_text(
      "scenario: s\nfabric: {gpus_per_rack: 2, link: nvlink4}\n"
      "workload: [{collective: all_reduce, size: 1 KiB}]\n" +
      live);
}

TEST(LiveSection, MayBeAbsent) {
  const LoadResult loaded = load_with("");
  ASSERT_TRUE(loaded.scenario) << all_of(loaded.diagnostics);
  EXPECT_THAT(loaded.scenario->live.allow_users, IsEmpty());
  EXPECT_EQ(loaded.scenario->live.keepalive_timeout_ps, 0);
}

TEST(LiveSection, SaysWhoMayConnectAndWhenAGpuIsSilent) {
  const LoadResult loaded =
      load_with("live: {allow_users: [1000, 4294967294], allow_groups: [44], keepalive_timeout: 5 s}\n");
  ASSERT_TRUE(loaded.scenario) << all_of(loaded.diagnostics);
  EXPECT_THAT(loaded.diagnostics, IsEmpty());
  EXPECT_THAT(loaded.scenario->live.allow_users, ElementsAre(1000u, 4294967294u));
  EXPECT_THAT(loaded.scenario->live.allow_groups, ElementsAre(44u));
  EXPECT_EQ(loaded.scenario->live.keepalive_timeout_ps, 5 * kSecond);
}

TEST(LiveSection, IsCheckedLikeTheRest) {
  const auto errors = [](const std::string& live) { return all_of(load_with(live).diagnostics); };
  EXPECT_THAT(errors("live: {allow_user: [1]}\n"),
              HasSubstr("a key with a similar name exists: 'allow_users'"));
  EXPECT_THAT(errors("live: {allow_users: [-1]}\n"), HasSubstr("error"));
  EXPECT_THAT(errors("live: {allow_users: [4294967295]}\n"), HasSubstr("error"));
  EXPECT_THAT(errors("live: {allow_users: root}\n"), HasSubstr("a list of numbers"));
  EXPECT_THAT(errors("live: {keepalive_timeout: 5}\n"), HasSubstr("has no unit"));
}

}  // namespace
}  // namespace cnuas::scenarios
