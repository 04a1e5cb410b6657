// Ranks that are threads, each over a link of libcnuasccl_link whose reader takes turns with the rank.
#include "live/ccl/cnuasccl.h"
#include "live/ccl/socket/cnuasccl_link.h"
#include "tests/endpoint_library/fixture.h"

#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <thread>
#include <vector>

namespace cnuas::live::test {
namespace {

struct End {
  void operator()(cnuasccl_link* link) const { cnuasccl_link_close(link); }
  void operator()(cnuasccl_comm_t comm) const { cnuasccl_comm_destroy(comm); }
  void operator()(cnuasccl_inproc* world) const { cnuasccl_inproc_destroy(world); }
};

class LinkThreads : public LinkTest {
 protected:
  static constexpr int kRanks = 2;
  static constexpr std::size_t kCount = 100'000;  // several frames, and more than are under way at a time

  void SetUp() override {
    start_relay();
    cnuasccl_inproc* world = nullptr;
    ASSERT_EQ(cnuasccl_inproc_create(kRanks, 16, kLong, &world), CNUASCCL_OK);
    world_.reset(world);
  }

  std::unique_ptr<cnuasccl_link, End> link_of(int rank) {
    cnuasccl_link_options wanted;
    cnuasccl_link_options_init(&wanted, sizeof wanted);
    wanted.run_dir = run_dir().c_str();
    wanted.port = static_cast<unsigned>(rank);
    wanted.gpu_id = gpu(static_cast<unsigned>(rank));
    wanted.connect_timeout_ns = kLong;
    cnuasccl_link* link = nullptr;
    char why[256];
    EXPECT_EQ(cnuasccl_link_open(&wanted, &link, why, sizeof why), CNUASCCL_OK) << why;
    return std::unique_ptr<cnuasccl_link, End>(link);
  }

  // Calls with pauses between them, long enough for the reader's turn; the ranks pause at different times.
  void run(int rank, int calls) {
    const auto link = link_of(rank);
    ASSERT_NE(link, nullptr);
    cnuasccl_bootstrap bootstrap{};
    ASSERT_EQ(cnuasccl_inproc_bootstrap(world_.get(), rank, &bootstrap), CNUASCCL_OK);
    cnuasccl_link_transport transport{};
    cnuasccl_link_extension extension{};
    ASSERT_EQ(cnuasccl_link_use(link.get(), &transport, &extension, sizeof extension), CNUASCCL_OK);
    cnuasccl_comm_t made = nullptr;
    ASSERT_EQ(cnuasccl_comm_init_rank(&made, &bootstrap, gpu(static_cast<unsigned>(rank))), CNUASCCL_OK);
    const std::unique_ptr<cnuasccl_comm, End> comm(made);
    ASSERT_EQ(cnuasccl_comm_set_link(made, &transport, &extension, nullptr, nullptr), CNUASCCL_OK);
    for (int call = 0; call < calls; ++call) {
      if (call % (2 + rank) == 0) std::this_thread::sleep_for(std::chrono::milliseconds(25));
      std::vector<std::int32_t> data(kCount, call + rank);
      ASSERT_EQ(cnuasccl_all_reduce(made, data.data(), data.data(), kCount, CNUASCCL_INT32, CNUASCCL_SUM),
                CNUASCCL_OK);
      ASSERT_EQ(data, std::vector<std::int32_t>(kCount, 2 * call + 1));
    }
    ASSERT_EQ(cnuasccl_barrier(made), CNUASCCL_OK);
  }

  std::unique_ptr<cnuasccl_inproc, End> world_;
};

TEST_F(LinkThreads, TheReaderAndTheRankTakeTurns) {
  std::thread other([this] { run(1, 20); });
  run(0, 20);
  other.join();
}

}  // namespace
}  // namespace cnuas::live::test
