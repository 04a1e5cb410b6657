// Memory that runs out at every `new` of a collective in turn. A program of its own: it replaces
// operator new.
#include "tests/cnuasccl/ranks.h"
#include "tests/counted_allocations.h"

#include <array>
#include <functional>
#include <vector>

#include <gtest/gtest.h>

namespace cnuas::live::collectives {
namespace {

constexpr int kMostAllocations = 1000;

bool poisoned(cnuasccl_comm_t comm) {
  cnuasccl_comm_state state{};
  state.struct_bytes = sizeof state;
  EXPECT_OK(cnuasccl_comm_status(comm, &state));
  return state.poisoned != CNUASCCL_OK;
}

// `call` on both ranks, rank 0 with memory for so many allocations. It either does what it should, or has
// begun nothing and can be made again, or has poisoned the communicator, and then the other rank hears of it.
// True: the memory sufficed.
bool with_memory_for(int allocations,
                     const std::function<cnuasccl_status_t(int rank, cnuasccl_comm_t)>& call) {
  World world(2);
  std::array<cnuasccl_status_t, 2> statuses{};
  bool sufficed = false;
  world.run_with([&](int rank, cnuasccl_comm_t comm) {
    EXPECT_OK(cnuasccl_barrier(comm));
    if (rank == 1) configure(comm, [](cnuasccl_config& config) { config.timeout_ns = 1'000'000'000; });
    cnuasccl_status_t& status = statuses[static_cast<std::size_t>(rank)];
    if (rank == 0) test::allocations_left = allocations;
    status = call(rank, comm);
    if (rank == 0) {
      sufficed = test::allocations_left > 0;
      test::allocations_left = -1;
      if (status != CNUASCCL_OK && !poisoned(comm)) status = call(rank, comm);
    }
    if (status == CNUASCCL_OK) status = cnuasccl_barrier(comm);  // it may have had all it needed
    EXPECT_EQ(status != CNUASCCL_OK, poisoned(comm)) << cnuasccl_status_name(status);
  });
  EXPECT_EQ(statuses[0] == CNUASCCL_OK, statuses[1] == CNUASCCL_OK)
      << allocations << ": " << cnuasccl_status_name(statuses[0]) << " and "
      << cnuasccl_status_name(statuses[1]);
  return sufficed;
}

void with_less_and_less(const std::function<cnuasccl_status_t(int rank, cnuasccl_comm_t)>& call) {
  int allocations = 0;
  while (!with_memory_for(allocations, call))
    ASSERT_LT(++allocations, kMostAllocations);
  EXPECT_GT(allocations, 3);
}

TEST(NoMemoryTest, OfAReduction) {
  with_less_and_less([](int rank, cnuasccl_comm_t comm) {
    std::array<std::int32_t, 200> in{};
    std::array<std::int32_t, 200> out{};
    in.fill(rank + 1);
    const cnuasccl_status_t status =
        cnuasccl_all_reduce(comm, in.data(), out.data(), in.size(), CNUASCCL_INT32, CNUASCCL_SUM);
    if (status == CNUASCCL_OK) {
      EXPECT_EQ(out[199], 3);
    }
    return status;
  });
}

TEST(NoMemoryTest, OfABarrier) {
  with_less_and_less([](int, cnuasccl_comm_t comm) { return cnuasccl_barrier(comm); });
}

}  // namespace
}  // namespace cnuas::live::collectives
