#include "live/posix/unix_socket.h"

#include "live/posix/os_error.h"
#include "tests/posix/temporary_directory.h"

#include <fstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

namespace cnuas::live {
namespace {

using testing::HasSubstr;

class UnixSocketTest : public testing::Test {
 protected:
  TemporaryDirectory directory;
  const std::string path = directory.file("a.sock");
};

TEST_F(UnixSocketTest, ListensWithTheModeAskedFor) {
  const mode_t before = ::umask(0);
  const Result<UniqueFd> listener = listen_at(path, SocketKind::seqpacket, 0640);
  ASSERT_TRUE(listener);
  struct stat status {};
  ASSERT_EQ(::stat(path.c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 0777, 0640u);
  EXPECT_EQ(::umask(before), 0u) << "the process's own umask is as it was";
}

TEST_F(UnixSocketTest, ConnectsAndKnowsThePeer) {
  const Result<UniqueFd> listener = listen_at(path, SocketKind::seqpacket, 0600);
  const Result<UniqueFd> client = connect_to(path, SocketKind::seqpacket);
  ASSERT_TRUE(client) << to_string(client.error());
  UniqueFd server(::accept(listener->get(), nullptr, nullptr));
  const Result<PeerCredentials> peer = peer_credentials(server.get());
  ASSERT_TRUE(peer);
  EXPECT_EQ(peer->pid, ::getpid());
  EXPECT_EQ(peer->uid, ::geteuid());
  EXPECT_EQ(peer->gid, ::getegid());
}

TEST_F(UnixSocketTest, TellsWhatIsAtAPath) {
  EXPECT_EQ(*probe(path, SocketKind::stream), PathState::free);
  {
    const Result<UniqueFd> listener = listen_at(path, SocketKind::stream, 0600);
    EXPECT_EQ(*probe(path, SocketKind::stream), PathState::live);
    EXPECT_EQ(*probe(path, SocketKind::seqpacket), PathState::live) << "of whatever kind";
  }
  EXPECT_EQ(*probe(path, SocketKind::stream), PathState::stale);
  std::ofstream(directory.file("file")) << "text";
  EXPECT_EQ(*probe(directory.file("file"), SocketKind::stream), PathState::no_socket);
}

TEST_F(UnixSocketTest, TakesOverAStaleSocketOnly) {
  { const Result<UniqueFd> gone = listen_at(path, SocketKind::seqpacket, 0600); }
  const Result<UniqueFd> listener = listen_at(path, SocketKind::seqpacket, 0600);
  ASSERT_TRUE(listener);
  const Result<UniqueFd> second = listen_at(path, SocketKind::seqpacket, 0600);
  ASSERT_FALSE(second);
  EXPECT_EQ(to_string(second.error()), path + ": another process listens here already");
  EXPECT_TRUE(connect_to(path, SocketKind::seqpacket)) << "and the first one has not been harmed";

  std::ofstream(directory.file("file")) << "text";
  const Result<UniqueFd> file = listen_at(directory.file("file"), SocketKind::seqpacket, 0600);
  ASSERT_FALSE(file);
  EXPECT_THAT(file.error().message, HasSubstr("no socket"));
  EXPECT_EQ(::access(directory.file("file").c_str(), F_OK), 0);
}

TEST_F(UnixSocketTest, RefusesPathsThatDoNotFit) {
  const std::string longest =
      directory.path() + "/" + std::string(kLongestSocketPath - directory.path().size() - 1, 'x');
  EXPECT_TRUE(listen_at(longest, SocketKind::stream, 0600));
  const Result<UniqueFd> longer = listen_at(longest + "x", SocketKind::stream, 0600);
  ASSERT_FALSE(longer);
  EXPECT_EQ(longer.error().code, ErrorCode::invalid_argument);
  EXPECT_THAT(longer.error().message, HasSubstr("108 bytes, at most 107"));
  EXPECT_FALSE(connect_to("", SocketKind::stream));
}

TEST_F(UnixSocketTest, SaysWhyItCannotConnect) {
  const Result<UniqueFd> client = connect_to(path, SocketKind::stream);
  ASSERT_FALSE(client);
  EXPECT_EQ(to_string(client.error()), path + ": cannot connect: No such file or directory");
}

TEST_F(UnixSocketTest, SendBufferHoldsTheLargestFrame) {
  const Result<UniqueFd> listener = listen_at(path, SocketKind::seqpacket, 0600);
  const Result<UniqueFd> client = connect_to(path, SocketKind::seqpacket);
  EXPECT_GE(set_send_buffer(client->get(), 1024 * 1024), 2 * 65'548);
  const std::string frame(65'536, 'x');
  EXPECT_EQ(::send(client->get(), frame.data(), frame.size(), MSG_DONTWAIT), 65'536);
}

}  // namespace
}  // namespace cnuas::live
