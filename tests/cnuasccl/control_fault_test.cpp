// Credits and aborts that are changed or lost.
#include "tests/cnuasccl/fake_switch.h"
#include "tests/cnuasccl/faults.h"

#include <barrier>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace cnuas::live::collectives {
namespace {

// Rank 1 of two sends no data, only what tells rank 0 how far it may go on.
std::vector<cnuasccl_status_t> with_credit(const FakeLink::OnSend& on_control,
                                           std::vector<std::string>& texts,
                                           std::int64_t timeout_ns = kHangGuardNs) {
  World world(2);
  std::vector<cnuasccl_status_t> statuses(2);
  texts.assign(2, {});
  std::vector<cnuasccl_comm_t> comms(2);
  std::vector<std::unique_ptr<FakeLink>> links(2);
  std::barrier begin(2);
  world.run([&](int rank) {
    const auto own = static_cast<std::size_t>(rank);
    cnuasccl_comm_t comm = comms[own] = world.bare(rank);
    links[own] = std::make_unique<FakeLink>(world, rank);
    if (rank == 1) links[own]->on_control = on_control;
    const cnuasccl_link_transport transport = links[own]->transport();
    const cnuasccl_link_extension extension = links[own]->extension();
    EXPECT_OK(cnuasccl_comm_set_link(comm, &transport, &extension, nullptr, nullptr));
    configure(comm, [&](cnuasccl_config& config) {
      config.timeout_ns = rank == 0 ? timeout_ns : kHangGuardNs;
      config.chunk_bytes = kChunk;
    });
    begin.arrive_and_wait();
    std::vector<std::uint8_t> data(100 * kChunk, static_cast<std::uint8_t>(rank));
    statuses[own] = cnuasccl_broadcast(comm, data.data(), data.data(), data.size(), CNUASCCL_UINT8, 0);
    texts[own] = last_error(comm);
    if (statuses[own] == CNUASCCL_OK) {
      EXPECT_EQ(data.back(), 0);
    }
  });
  for (cnuasccl_comm_t comm : comms)
    cnuasccl_comm_destroy(comm);
  return statuses;
}

TEST(ControlFaultTest, CreditsThatAreChanged) {
  std::vector<std::string> texts;
  const auto no_change = with_credit({}, texts);
  EXPECT_EQ(no_change, std::vector<cnuasccl_status_t>(2, CNUASCCL_OK)) << texts[0] << texts[1];
  for (const Field& field : kFields) {
    if (field.offset == 12) continue;  // seq: a credit may come from another collective
    const auto flip = [&](Payload& bytes) { bytes[field.offset] ^= std::byte{0x08}; };
    const bool foreign = field.status == CNUASCCL_WRONG_COMM;
    const auto statuses = with_credit(change(0, flip), texts, foreign ? kShortNs : kHangGuardNs);
    // One for another communicator is one that has not come: the next may tell as much.
    if (foreign) {
      EXPECT_THAT(statuses[0], testing::AnyOf(CNUASCCL_OK, CNUASCCL_TIMEOUT)) << texts[0];
      continue;
    }
    EXPECT_EQ(statuses[0], field.status) << field.name << ": " << texts[0];
    EXPECT_EQ(statuses[1], CNUASCCL_PEER_ABORTED) << field.name << ": " << texts[1];
  }
  // The number of frames that were used is covered by the checksum.
  const auto more = with_credit(change(0, [](Payload& bytes) { bytes[48] ^= std::byte{0x40}; }), texts);
  EXPECT_EQ(more[0], CNUASCCL_CORRUPT) << texts[0];
}

TEST(ControlFaultTest, CreditsThatAreLost) {
  for (const std::uint64_t which : {0u, 1u}) {
    const auto drop = [which](std::uint64_t index, Outgoing frame) {
      return index == which ? std::vector<Outgoing>{} : std::vector<Outgoing>{std::move(frame)};
    };
    std::vector<std::string> texts;
    const auto statuses = with_credit(drop, texts, kShortNs);
    // The next makes up for it; but where all that may be under way has come, there is no next.
    EXPECT_THAT(statuses[0], testing::AnyOf(CNUASCCL_OK, CNUASCCL_TIMEOUT)) << texts[0];
    EXPECT_THAT(statuses[1], testing::AnyOf(CNUASCCL_OK, CNUASCCL_PEER_ABORTED)) << texts[1];
  }
}

TEST(ControlFaultTest, AnAbortThatIsChangedEndsTheCallAllTheSame) {
  for (const Field& field : kFields) {
    World world(2);
    std::vector<std::unique_ptr<FakeLink>> links(2);
    world.run([&](int rank) {
      const auto own = static_cast<std::size_t>(rank);
      FakeLink& link = *(links[own] = std::make_unique<FakeLink>(world, rank));
      if (rank == 1)
        link.on_control = change(0, [&](Payload& bytes) { bytes[field.offset] ^= std::byte{0x08}; });
      cnuasccl_comm_t comm = world.bare(rank);
      const cnuasccl_link_transport transport = link.transport();
      const cnuasccl_link_extension extension = link.extension();
      EXPECT_OK(cnuasccl_comm_set_link(comm, &transport, &extension, nullptr, nullptr));
      const bool foreign = field.status == CNUASCCL_WRONG_COMM;
      configure(comm,
                [&](cnuasccl_config& config) { config.timeout_ns = foreign ? kShortNs : kHangGuardNs; });
      if (rank == 1) {
        EXPECT_OK(cnuasccl_comm_abort(comm));
      } else {
        const cnuasccl_status_t status = cnuasccl_barrier(comm);
        EXPECT_THAT(status, testing::AnyOf(field.status, foreign ? CNUASCCL_TIMEOUT : CNUASCCL_PEER_ABORTED))
            << field.name << ": " << last_error(comm);
      }
      cnuasccl_comm_destroy(comm);
    });
  }
}

}  // namespace
}  // namespace cnuas::live::collectives
