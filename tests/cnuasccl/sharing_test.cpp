// Several communicators over one link: split, shared, used in many orders and by several threads.
#include "core/engine/random.h"
#include "tests/cnuasccl/ranks.h"
#include "tests/cnuasccl/reference.h"
#include "tests/slow_build.h"

#include <algorithm>
#include <string>
#include <thread>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace cnuas::live::collectives {
namespace {

TEST(SplitTest, OrdersByKeyAndLeavesOutWhoDoesNotWant) {
  World world(6);
  world.run_with([](int rank, cnuasccl_comm_t comm) {
    cnuasccl_comm_t child = comm;
    EXPECT_OK(cnuasccl_comm_split(comm, rank == 5 ? -1 : rank % 2, -rank, &child));
    if (rank == 5) {
      EXPECT_EQ(child, nullptr);
    } else {
      // Colors 0: ranks 4, 2, 0. 1: ranks 3, 1.
      ASSERT_NE(child, nullptr);
      EXPECT_EQ(cnuasccl_comm_size(child), rank % 2 == 0 ? 3 : 2);
      EXPECT_EQ(cnuasccl_comm_rank(child), (rank % 2 == 0 ? 4 - rank : 3 - rank) / 2);
      EXPECT_EQ(cnuasccl_comm_gpu_of(child, 0), gpu_of(rank % 2 == 0 ? 4 : 3, 6));
      std::int32_t number = rank;
      EXPECT_OK(cnuasccl_all_reduce(child, &number, &number, 1, CNUASCCL_INT32, CNUASCCL_SUM));
      EXPECT_EQ(number, rank % 2 == 0 ? 6 : 4);
    }
    // Equal keys: the order of ranks. Extreme keys are only numbers.
    cnuasccl_comm_t same = nullptr;
    EXPECT_OK(cnuasccl_comm_split(comm, 0x7FFFFFFF, rank < 2 ? INT32_MAX : INT32_MIN, &same));
    EXPECT_EQ(cnuasccl_comm_rank(same), (rank + 4) % 6);
    EXPECT_NE(cnuasccl_comm_id(same), cnuasccl_comm_id(comm));
    EXPECT_OK(cnuasccl_barrier(same));
    EXPECT_EQ(cnuasccl_comm_split(comm, 0, 0, nullptr), CNUASCCL_INVALID_ARGUMENT);
    EXPECT_OK(cnuasccl_barrier(comm));
    cnuasccl_comm_destroy(same);
    cnuasccl_comm_destroy(child);
  });
}

TEST(SplitTest, AChildThatFailsLeavesItsParentAlone) {
  World world(3);
  world.run_with([](int rank, cnuasccl_comm_t comm) {
    cnuasccl_comm_t child = nullptr;
    EXPECT_OK(cnuasccl_comm_split(comm, 0, 0, &child));
    configure(child, [](cnuasccl_config& config) { config.timeout_ns = 100'000'000; });
    if (rank != 0) {
      EXPECT_THAT(cnuasccl_barrier(child), testing::AnyOf(CNUASCCL_TIMEOUT, CNUASCCL_PEER_ABORTED));
    }
    std::int32_t number = 1;
    EXPECT_OK(cnuasccl_all_reduce(comm, &number, &number, 1, CNUASCCL_INT32, CNUASCCL_SUM));
    EXPECT_EQ(number, 3);
    EXPECT_THAT(cnuasccl_barrier(child), testing::AnyOf(CNUASCCL_PEER_ABORTED, CNUASCCL_POISONED));
    EXPECT_OK(cnuasccl_barrier(comm));
    cnuasccl_comm_destroy(child);
  });
}

TEST(ShareTest, CommunicatorsMadeApartUseOneLink) {
  World world(4);
  world.run_with([&](int rank, cnuasccl_comm_t comm) {
    cnuasccl_comm_t other = world.bare(rank);
    EXPECT_EQ(cnuasccl_comm_share_link(comm, other), CNUASCCL_INVALID_ARGUMENT);
    // Rank 0 is done with this at once, and its next frames come while the others are still in it.
    std::vector<std::uint8_t> data(100'000, static_cast<std::uint8_t>(rank));
    EXPECT_OK(cnuasccl_broadcast(comm, data.data(), data.data(), data.size(), CNUASCCL_UINT8, 0));
    EXPECT_EQ(data[99'999], 0);
    EXPECT_OK(cnuasccl_comm_share_link(other, comm));
    for (int i = 0; i < 20; ++i) {
      std::int32_t a = rank;
      std::int32_t b = 10 * rank;
      EXPECT_OK(cnuasccl_broadcast(comm, &a, &a, 1, CNUASCCL_INT32, i % 4));
      EXPECT_OK(cnuasccl_all_reduce(other, &b, &b, 1, CNUASCCL_INT32, CNUASCCL_SUM));
      EXPECT_EQ(a, i % 4);
      EXPECT_EQ(b, 60);
    }
    cnuasccl_comm_destroy(other);
    EXPECT_OK(cnuasccl_barrier(comm));
  });
}

// Each rank uses two communicators from two threads at the same time.
TEST(ShareTest, ThreadsOnCommunicatorsOfOneLink) {
  World world(3);
  world.run_with([&](int rank, cnuasccl_comm_t comm) {
    cnuasccl_comm_t child = nullptr;
    EXPECT_OK(cnuasccl_comm_split(comm, 0, rank, &child));
    const auto work = [rank](cnuasccl_comm_t which, std::size_t count) {
      for (int i = 0; i < 30; ++i) {
        std::vector<std::uint64_t> data(count, static_cast<std::uint64_t>(rank + i));
        EXPECT_OK(cnuasccl_all_reduce(which, data.data(), data.data(), count, CNUASCCL_UINT64, CNUASCCL_SUM));
        EXPECT_EQ(data[count - 1], static_cast<std::uint64_t>(3 + 3 * i));
      }
    };
    std::thread second(work, child, 20'000);
    work(comm, 3);
    second.join();
    EXPECT_OK(cnuasccl_barrier(comm));
    cnuasccl_comm_destroy(child);
  });
}

// Runs ahead of the others by far more than they may be sent.
TEST(WindowTest, ARootThatIsAhead) {
  for (const std::uint32_t slots : {1u, 64u}) {
    World world(3, slots);
    world.run_with([](int rank, cnuasccl_comm_t comm) {
      for (std::int32_t i = 0; i < 200; ++i) {
        std::int32_t number = rank == 0 ? i : -1;
        EXPECT_OK(cnuasccl_broadcast(comm, &number, &number, 1, CNUASCCL_INT32, 0));
        EXPECT_EQ(number, i);
      }
    });
  }
}

// Sequences that are drawn: every rank makes the same calls on the communicators that it is in.
class SequenceTest : public testing::TestWithParam<int> {};
INSTANTIATE_TEST_SUITE_P(Seeds, SequenceTest, testing::Range(0, cnuas::test::kSlowBuild ? 8 : 24));

TEST_P(SequenceTest, OverlappingCommunicators) {
  Random shape(static_cast<std::uint64_t>(GetParam()) + 1);
  const int ranks = 2 + static_cast<int>(shape.below(6));
  const auto slots = static_cast<std::uint32_t>(1 + shape.below(3) * 8);
  const std::uint64_t seed = shape.next();
  World world(ranks, slots);
  world.run_with([&](int rank, cnuasccl_comm_t comm) {
    Random draw(seed);  // the same draws on all ranks
    struct Member {
      cnuasccl_comm_t comm;  // null: this rank is not in it
      std::vector<int> ranks;
    };
    std::vector<Member> members(1);
    members[0].comm = comm;
    for (int each = 0; each < ranks; ++each)
      members[0].ranks.push_back(each);
    for (int i = 0; i < 3; ++i) {
      const std::uint64_t chosen = 1 + draw.below((std::uint64_t{1} << ranks) - 1);
      Member member{};
      for (int each = 0; each < ranks; ++each)
        if ((chosen >> each & 1) != 0) member.ranks.push_back(each);
      const bool in = (chosen >> rank & 1) != 0;
      EXPECT_OK(cnuasccl_comm_split(comm, in ? 1 : -1, rank, &member.comm));
      members.push_back(member);
    }
    for (int i = 0; i < 40; ++i) {
      const Member& member = members[draw.below(members.size())];
      const std::uint64_t what = draw.below(3);
      const std::size_t count = draw.below(2) == 0 ? draw.below(20) : draw.below(40'000);
      const std::uint64_t data_seed = draw.next() % 1'000'000;
      const auto root = static_cast<int>(draw.below(member.ranks.size()));
      if (member.comm == nullptr) continue;
      std::vector<Bytes> inputs;
      for (const int each : member.ranks)
        inputs.push_back(contribution(data_seed, each, CNUASCCL_FLOAT32, count));
      const auto own = static_cast<std::size_t>(cnuasccl_comm_rank(member.comm));
      Bytes data = inputs[own];
      if (what == 0) {
        EXPECT_OK(cnuasccl_all_reduce(member.comm, data.data(), data.data(), count, CNUASCCL_FLOAT32,
                                      CNUASCCL_SUM));
        EXPECT_TRUE(data == fold_all(inputs, CNUASCCL_FLOAT32, CNUASCCL_SUM)) << "call " << i;
      } else if (what == 1) {
        EXPECT_OK(cnuasccl_broadcast(member.comm, data.data(), data.data(), count, CNUASCCL_FLOAT32, root));
        EXPECT_TRUE(data == inputs[static_cast<std::size_t>(root)]) << "call " << i;
      } else {
        EXPECT_OK(cnuasccl_barrier(member.comm));
      }
    }
    EXPECT_OK(cnuasccl_barrier(comm));
    for (std::size_t i = 1; i < members.size(); ++i)
      cnuasccl_comm_destroy(members[i].comm);
  });
}

}  // namespace
}  // namespace cnuas::live::collectives
