// The frames of a collective, byte by byte, as docs/cnuasccl.md has them: what others could speak.
#include "core/wire/byte_order.h"
#include "tests/cnuasccl/fake_switch.h"

#include <algorithm>
#include <cstdint>
#include <functional>
#include <iterator>
#include <memory>
#include <mutex>
#include <vector>

#include <gtest/gtest.h>

namespace cnuas::live::collectives {
namespace {

// What rank 0 sends to rank 1, control frames aside.
std::vector<Payload> sent_by(int checksum, std::uint32_t& communicator,
                             const std::function<void(int, cnuasccl_comm_t)>& body) {
  World world(2);
  std::mutex mutex;
  std::vector<Payload> frames;
  std::vector<std::unique_ptr<FakeLink>> links(2);
  world.run([&](int rank) {
    FakeLink& link = *(links[static_cast<std::size_t>(rank)] = std::make_unique<FakeLink>(world, rank));
    if (rank == 0) {
      link.on_send = [&](std::uint64_t, Outgoing frame) {
        const std::lock_guard lock(mutex);
        frames.push_back(frame.bytes);
        return std::vector<Outgoing>{std::move(frame)};
      };
    }
    cnuasccl_comm_t comm = world.bare(rank);
    const cnuasccl_link_transport transport = link.transport();
    const cnuasccl_link_extension extension = link.extension();
    EXPECT_OK(cnuasccl_comm_set_link(comm, &transport, &extension, nullptr, nullptr));
    configure(comm, [&](cnuasccl_config& config) {
      config.checksum = checksum;
      config.chunk_bytes = 64;
      config.algorithm = CNUASCCL_DIRECT;
    });
    if (rank == 0) communicator = cnuasccl_comm_id(comm);
    body(rank, comm);
    cnuasccl_comm_destroy(comm);
  });
  return frames;
}

Payload bytes_of(std::initializer_list<int> values, std::uint32_t communicator) {
  Payload bytes;
  for (const int value : values)
    bytes.push_back(static_cast<std::byte>(value));
  wire::store(&bytes[8], communicator);
  return bytes;
}

TEST(FrameBytesTest, OfABroadcastInTwoChunks) {
  std::uint32_t communicator = 0;
  const std::vector<Payload> frames = sent_by(0, communicator, [](int rank, cnuasccl_comm_t comm) {
    std::int32_t data[] = {1, -1, 0x01020304, 7, 8, 9, 10};
    if (rank != 0) std::fill(std::begin(data), std::end(data), 0);
    EXPECT_OK(cnuasccl_broadcast(comm, data, data, 7, CNUASCCL_INT32, 0));
    EXPECT_EQ(data[2], 0x01020304);
    EXPECT_EQ(data[6], 10);
  });
  ASSERT_EQ(frames.size(), 2u);
  // clang-format off
  EXPECT_EQ(frames[0], bytes_of({
      'C', 'C', 'L', 'E',  1, 0,  2, 0,           // version, broadcast
      0, 0, 0, 0,  0, 0, 0, 0,                    // comm_id, seq
      0, 0, 0, 0,  1, 0, 0, 0,                    // from rank 0 to rank 1
      0, 0, 0, 0,  2, 0, 0, 0,                    // chunk 0 of 2
      64, 0, 0, 0,  84, 0, 0, 0,                  // chunk_bytes, total_bytes
      0, 0, 0, 0,  0, 0, 0, 0,  0, 0, 0, 0,       // no CRC, frame 0, 0 consumed
      0,  1,  0, 0,                               // channel, flags
      0xFF, 2, 2, 0,  0, 0, 0, 0,                 // no operator, int32, direct; root 0
      7, 0, 0, 0, 0, 0, 0, 0,  1, 0, 0, 0,  0, 0, 0, 0,  // count, pieces
      1, 0, 0, 0,  0xFF, 0xFF, 0xFF, 0xFF,  4, 3, 2, 1,  7, 0, 0, 0,  8, 0, 0, 0,  9, 0, 0, 0}, communicator));
  EXPECT_EQ(frames[1], bytes_of({
      'C', 'C', 'L', 'E',  1, 0,  2, 0,
      0, 0, 0, 0,  0, 0, 0, 0,
      0, 0, 0, 0,  1, 0, 0, 0,
      1, 0, 0, 0,  2, 0, 0, 0,
      20, 0, 0, 0,  84, 0, 0, 0,
      0, 0, 0, 0,  1, 0, 0, 0,  0, 0, 0, 0,
      0,  1,  0, 0,
      10, 0, 0, 0}, communicator));
  // clang-format on
}

// The second collective of a communicator; sum of float64, with a checksum.
TEST(FrameBytesTest, OfAReductionWithAChecksum) {
  std::uint32_t communicator = 0;
  const std::vector<Payload> frames = sent_by(1, communicator, [](int, cnuasccl_comm_t comm) {
    double data[] = {1.0, 1.0};
    EXPECT_OK(cnuasccl_reduce_scatter(comm, data, data, 0, CNUASCCL_FLOAT64, CNUASCCL_SUM));
    double out = 0;
    EXPECT_OK(cnuasccl_reduce_scatter(comm, data, &out, 1, CNUASCCL_FLOAT64, CNUASCCL_SUM));
    EXPECT_EQ(out, 2.0);
  });
  ASSERT_EQ(frames.size(), 2u);
  Payload second = frames[1];
  const auto checksum = wire::load<std::uint32_t>(&second[40]);
  wire::store(&second[40], std::uint32_t{0});
  const auto consumed = wire::load<std::uint32_t>(&second[48]);  // how far ahead the other rank was
  EXPECT_LE(consumed, 2u);
  wire::store(&second[48], std::uint32_t{0});
  // clang-format off
  EXPECT_EQ(second, bytes_of({
      'C', 'C', 'L', 'E',  1, 0,  4, 0,           // reduce_scatter
      0, 0, 0, 0,  1, 0, 0, 0,                    // comm_id, seq
      0, 0, 0, 0,  1, 0, 0, 0,
      0, 0, 0, 0,  1, 0, 0, 0,
      48, 0, 0, 0,  48, 0, 0, 0,
      0, 0, 0, 0,  1, 0, 0, 0,  0, 0, 0, 0,       // CRC, frame 1, consumed
      0,  0,  0, 0,
      0, 7, 2, 0,  0, 0, 0, 0,                    // sum, float64, direct; root 0
      2, 0, 0, 0, 0, 0, 0, 0,  1, 0, 0, 0,  0, 0, 0, 0,
      0, 0, 0, 0, 0, 0, 0xF0, 0x3F}, communicator));
  // clang-format on
  // Of what the frame really has: one bit more or less would be another.
  Payload covered(frames[1].begin() + 44, frames[1].end());
  std::uint32_t crc = 0xFFFF'FFFF;
  for (const std::byte byte : covered) {
    crc ^= static_cast<std::uint32_t>(byte);
    for (int bit = 0; bit < 8; ++bit)
      crc = crc >> 1 ^ ((crc & 1) != 0 ? 0x82F6'3B78 : 0);
  }
  EXPECT_EQ(checksum, ~crc);
}

}  // namespace
}  // namespace cnuas::live::collectives
