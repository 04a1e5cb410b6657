#include "live/switchd/access.h"

#include <gtest/gtest.h>
#include <unistd.h>

namespace cnuas::live {
namespace {

constexpr uid_t kStranger = 4'000'000;
constexpr gid_t kGroup = 4'000'001;

TEST(AccessList, AdmitsRootItselfAndThoseListed) {
  AccessList access;
  EXPECT_TRUE(access.admits({1, 0, 0, {}}));
  EXPECT_TRUE(access.admits({1, ::geteuid(), kGroup, {}}));
  EXPECT_FALSE(access.admits({1, kStranger, kGroup, {kGroup}}));
  access.users = {kStranger};
  EXPECT_TRUE(access.admits({1, kStranger, kGroup, {}}));
}

TEST(AccessList, AdmitsMembersOfAGroup) {
  AccessList access;
  access.groups = {kGroup};
  EXPECT_TRUE(access.admits({1, kStranger, kGroup, {}}));
  EXPECT_TRUE(access.admits({1, kStranger, 5, {7, kGroup}}));
  EXPECT_FALSE(access.admits({1, kStranger, 5, {7}}));
}

}  // namespace
}  // namespace cnuas::live
