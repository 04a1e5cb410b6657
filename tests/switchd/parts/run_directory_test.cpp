#include "live/switchd/run_directory.h"

#include "live/posix/os_error.h"
#include "tests/posix/temporary_directory.h"

#include <fstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

namespace cnuas::live {
namespace {

using testing::HasSubstr;

mode_t mode_of(const std::string& path) {
  struct stat status {};
  EXPECT_EQ(::lstat(path.c_str(), &status), 0) << path;
  return status.st_mode & 07777;
}

class RunDirectoryTest : public testing::Test {
 protected:
  TemporaryDirectory parent;
  const std::string path = parent.file("run");
};

TEST_F(RunDirectoryTest, IsMadeWithTightModes) {
  const mode_t before = ::umask(0);
  Result<RunDirectory> directory = RunDirectory::take(path, std::nullopt);
  ASSERT_TRUE(directory) << to_string(directory.error());
  ASSERT_TRUE(directory->listen("port_0", false));
  ASSERT_TRUE(directory->listen("mgmt", true));
  ::umask(before);
  EXPECT_EQ(mode_of(path), 0750u);
  EXPECT_EQ(mode_of(path + "/port_0.sock"), 0660u);
  EXPECT_EQ(mode_of(path + "/mgmt.sock"), 0660u);
  EXPECT_EQ(mode_of(path + "/switchd.pid") & 0027, 0u);
}

TEST_F(RunDirectoryTest, TightensOneThatIsThere) {
  ASSERT_EQ(::mkdir(path.c_str(), 0), 0);
  ASSERT_EQ(::chmod(path.c_str(), 0777), 0);
  ASSERT_TRUE(RunDirectory::take(path, std::nullopt));
  EXPECT_EQ(mode_of(path), 0750u);
  ASSERT_EQ(::chmod(path.c_str(), 0700), 0);
  ASSERT_TRUE(RunDirectory::take(path, std::nullopt));
  EXPECT_EQ(mode_of(path), 0700u) << "and never loosens it";
}

TEST_F(RunDirectoryTest, IsOneDaemonsAtATime) {
  {
    Result<RunDirectory> first = RunDirectory::take(path, std::nullopt);
    ASSERT_TRUE(first);
    const Result<RunDirectory> second = RunDirectory::take(path, std::nullopt);
    ASSERT_FALSE(second);
    EXPECT_EQ(to_string(second.error()),
              path + ": another switch runs here, process " + std::to_string(::getpid()));
  }
  EXPECT_TRUE(RunDirectory::take(path, std::nullopt))
      << "free again with the first one's end, however that came";
}

TEST_F(RunDirectoryTest, RemovesItsOwnSocketsOnly) {
  Result<RunDirectory> directory = RunDirectory::take(path, std::nullopt);
  ASSERT_TRUE(directory->listen("port_0", false));
  std::ofstream(path + "/port_1.sock") << "somebody's";
  EXPECT_FALSE(directory->listen("port_1", false));
  directory->remove_sockets();
  EXPECT_EQ(::access((path + "/port_0.sock").c_str(), F_OK), -1);
  EXPECT_EQ(::access((path + "/port_1.sock").c_str(), F_OK), 0);
}

TEST_F(RunDirectoryTest, SaysWhatIsWrongWithADirectory) {
  const auto refused = [](const std::string& at) {
    const Result<RunDirectory> directory = RunDirectory::take(at, std::nullopt);
    return directory ? std::string("taken") : to_string(directory.error());
  };
  EXPECT_THAT(refused(parent.file("a/b")), HasSubstr("No such file or directory"));
  std::ofstream(parent.file("file")) << "text";
  EXPECT_THAT(refused(parent.file("file")), HasSubstr("Not a directory"));
}

}  // namespace
}  // namespace cnuas::live
