// The four calls of CnuasDev.

#include "live/endpoint/cnuasdev_link.h"
#include "tests/endpoint_library/fixture.h"

#include <cerrno>

namespace cnuas::live::test {
namespace {

using CnuasDev = LinkTest;

TEST_F(CnuasDev, MovesFramesBetweenGpus) {
  start_relay();
  const LinkHandle a = open(0);
  const LinkHandle b = open(1);
  std::uint16_t id = 0;
  ASSERT_EQ(cnuasdev_link_id(a.get(), &id), 0);
  EXPECT_EQ(id, gpu(0));
  ASSERT_EQ(cnuasdev_link_send(a.get(), gpu(1), "frame", 5), 0);
  char buffer[16];
  std::uint16_t source = 0;
  std::size_t bytes = 0;
  ASSERT_EQ(cnuasdev_link_recv(b.get(), &source, buffer, 4, &bytes, 60'000), -EMSGSIZE);
  EXPECT_EQ(bytes, 5u);
  ASSERT_EQ(cnuasdev_link_recv(b.get(), &source, buffer, sizeof(buffer), &bytes, -1), 0);
  EXPECT_EQ(source, gpu(0));
  EXPECT_EQ(std::string_view(buffer, bytes), "frame");
  EXPECT_EQ(cnuasdev_link_recv(b.get(), &source, buffer, sizeof(buffer), &bytes, 0), -EAGAIN);
  EXPECT_EQ(cnuasdev_link_recv(b.get(), &source, buffer, sizeof(buffer), &bytes, 10), -ETIMEDOUT);
  cnuasdev_link_state state;
  ASSERT_EQ(cnuasdev_link_status(b.get(), &state), 0);
  EXPECT_EQ(state.gpu_id, gpu(1));
  EXPECT_EQ(state.up, 1);
  EXPECT_EQ(state.max_payload, 65'524u);
  EXPECT_EQ(state.tx_frames, 1u);  // its announcement
  EXPECT_EQ(state.rx_frames, 1u);
  EXPECT_EQ(state.rx_bytes, 17u);
  EXPECT_EQ(state.rx_waiting, 0u);
}

TEST_F(CnuasDev, ALinkThatIsDownSaysEnotconn) {
  start_relay();
  const LinkHandle a = open(0);
  relay_.reset();
  char buffer[16];
  std::uint16_t source = 0;
  std::size_t bytes = 0;
  EXPECT_EQ(cnuasdev_link_recv(a.get(), &source, buffer, sizeof(buffer), &bytes, -1), -ENOTCONN);
  EXPECT_EQ(cnuasdev_link_send(a.get(), gpu(1), "frame", 5), -ENOTCONN);
  cnuasdev_link_state state;
  ASSERT_EQ(cnuasdev_link_status(a.get(), &state), 0);
  EXPECT_EQ(state.up, 0);
  start_relay();
  ASSERT_EQ(cnuaslink_reconnect(a.get(), kLong), CNUASLINK_OK);
  EXPECT_EQ(cnuasdev_link_send(a.get(), gpu(1), "frame", 5), 0);
}

TEST_F(CnuasDev, ArgumentsAreChecked) {
  start_relay();
  const LinkHandle a = open(0);
  std::uint16_t id = 0;
  std::size_t bytes = 0;
  cnuasdev_link_state state;
  EXPECT_EQ(cnuasdev_link_id(nullptr, &id), -EINVAL);
  EXPECT_EQ(cnuasdev_link_id(a.get(), nullptr), -EINVAL);
  EXPECT_EQ(cnuasdev_link_status(nullptr, &state), -EINVAL);
  EXPECT_EQ(cnuasdev_link_status(a.get(), nullptr), -EINVAL);
  EXPECT_EQ(cnuasdev_link_send(nullptr, gpu(1), "x", 1), -EINVAL);
  EXPECT_EQ(cnuasdev_link_send(a.get(), 0, "x", 1), -EINVAL);
  EXPECT_EQ(cnuasdev_link_send(a.get(), gpu(1), std::string(65'525, 'x').data(), 65'525), -EMSGSIZE);
  EXPECT_EQ(cnuasdev_link_recv(nullptr, &id, nullptr, 0, &bytes, 0), -EINVAL);
  EXPECT_EQ(cnuasdev_link_recv(a.get(), nullptr, nullptr, 0, &bytes, 0), -EINVAL);
  EXPECT_EQ(cnuasdev_link_recv(a.get(), &id, nullptr, 0, nullptr, 0), -EINVAL);
  EXPECT_EQ(cnuasdev_link_recv(a.get(), &id, nullptr, 1, &bytes, 0), -EINVAL);
}

}  // namespace
}  // namespace cnuas::live::test
