// How communicators are made: two allgathers, one table, and a status for whatever is wrong with it.
#include "tests/cnuasccl/fake_switch.h"
#include "tests/cnuasccl/ranks.h"

#include <cstring>
#include <functional>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace cnuas::live::collectives {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

// What one rank gets from a table of records that a test has written.
struct Table {
  std::vector<std::byte> records;
  int calls = 0;
  std::uint32_t nonce = 0;  // of the others

  static cnuasccl_status_t allgather(const void* send, void* recv, std::size_t bytes, void* context) {
    auto& self = *static_cast<Table*>(context);
    ++self.calls;
    const std::size_t ranks = self.records.size() / 16;
    if (bytes == 16) {
      std::memcpy(recv, self.records.data(), self.records.size());
    } else {
      std::memset(recv, 0, ranks * bytes);
      std::memcpy(recv, send, bytes);
    }
    return CNUASCCL_OK;
  }
};

struct Record {
  std::uint32_t rank;
  std::uint16_t gpu;
  std::uint32_t n_ranks;
};

void put(std::vector<std::byte>& to, std::uint64_t number, std::size_t bytes) {
  for (std::size_t i = 0; i < bytes; ++i)
    to.push_back(static_cast<std::byte>(number >> (8 * i)));
}

std::vector<std::byte> encoded(const std::vector<Record>& records) {
  std::vector<std::byte> bytes;
  for (const Record& record : records) {
    for (const char letter : {'C', 'C', 'L', 'M'})
      bytes.push_back(static_cast<std::byte>(letter));
    put(bytes, 1, 2);
    put(bytes, record.gpu, 2);
    put(bytes, record.rank, 4);
    put(bytes, record.n_ranks, 4);
  }
  return bytes;
}

// Rank 0, GPU 1, of as many ranks as there are records.
cnuasccl_status_t init_from(Table& table) {
  const cnuasccl_bootstrap boot{Table::allgather, &table, static_cast<int>(table.records.size() / 16), 0};
  auto* const unset = reinterpret_cast<cnuasccl_comm_t>(&table);
  cnuasccl_comm_t comm = unset;
  const cnuasccl_status_t status = cnuasccl_comm_init_rank(&comm, &boot, 1);
  if (status == CNUASCCL_OK) {
    EXPECT_NE(comm, nullptr);
    cnuasccl_comm_destroy(comm);
  } else {
    EXPECT_EQ(comm, nullptr);
    EXPECT_NE(last_error(nullptr), "");
  }
  return status;
}

cnuasccl_status_t init_from(const std::vector<Record>& records) {
  Table table{encoded(records)};
  const cnuasccl_status_t status = init_from(table);
  EXPECT_EQ(table.calls, status == CNUASCCL_OK ? 2 : 1);
  return status;
}

TEST(BootstrapTest, TwoAllgathersOf16And4BytesAndNoneAfter) {
  World world(3);
  std::vector<CountedBootstrap> boots(3);
  std::vector<std::uint32_t> ids(3);
  world.run([&](int rank) {
    CountedBootstrap& boot = boots[static_cast<std::size_t>(rank)];
    boot.real = world.bootstrap(rank);
    const cnuasccl_bootstrap given = boot.get();
    cnuasccl_comm_t comm = nullptr;
    ASSERT_EQ(cnuasccl_comm_init_rank(&comm, &given, gpu_of(rank, 3)), CNUASCCL_OK);
    EXPECT_THAT(boot.sizes, ElementsAre(16, 4));
    FakeLink link(world, rank);
    const cnuasccl_link_transport transport = link.transport();
    const cnuasccl_link_extension extension = link.extension();
    EXPECT_OK(cnuasccl_comm_set_link(comm, &transport, &extension, nullptr, nullptr));
    std::vector<float> data(50'000, 1.0F);
    EXPECT_OK(
        cnuasccl_all_reduce(comm, data.data(), data.data(), data.size(), CNUASCCL_FLOAT32, CNUASCCL_SUM));
    EXPECT_EQ(data[49'999], 3.0F);
    EXPECT_OK(cnuasccl_barrier(comm));
    cnuasccl_comm_t child = nullptr;
    EXPECT_OK(cnuasccl_comm_split(comm, 1, -rank, &child));
    EXPECT_EQ(cnuasccl_comm_rank(child), 2 - rank);
    EXPECT_OK(cnuasccl_barrier(child));
    EXPECT_EQ(boot.calls, 2) << "the bootstrap is for setting up alone";
    // Every byte of payload went over the link.
    EXPECT_GE(link.bytes, 200'000u);
    cnuasccl_comm_state state{};
    state.struct_bytes = sizeof state;
    EXPECT_OK(cnuasccl_comm_status(comm, &state));
    EXPECT_EQ(state.carrier, CNUASCCL_CARRIER_LINK);
    EXPECT_STREQ(state.carrier_name, "fake");
    EXPECT_LE(state.bytes_sent, link.bytes);
    ids[static_cast<std::size_t>(rank)] = cnuasccl_comm_id(comm);
    EXPECT_OK(cnuasccl_barrier(comm));
    cnuasccl_comm_destroy(child);
    cnuasccl_comm_destroy(comm);
  });
  EXPECT_EQ(ids[0], ids[1]);
  EXPECT_EQ(ids[0], ids[2]);
  std::uint32_t folded = 0;
  for (int rank = 0; rank < 3; ++rank) {
    const CountedBootstrap& boot = boots[static_cast<std::size_t>(rank)];
    EXPECT_EQ(boot.sent[0], encoded({{static_cast<std::uint32_t>(rank), gpu_of(rank, 3), 3}}))
        << "byte by byte";
    for (std::size_t i = 0; i < 4; ++i)
      folded ^= std::to_integer<std::uint32_t>(boot.sent[1][i]) << (8 * i);
  }
  EXPECT_EQ(ids[0], folded);
}

TEST(BootstrapTest, AcceptsAnyOrderOfGpus) {
  EXPECT_EQ(init_from({{0, 1, 3}, {1, 900, 3}, {2, 5, 3}}), CNUASCCL_OK);
  EXPECT_EQ(init_from({{0, 1, 1}}), CNUASCCL_OK);
}

TEST(BootstrapTest, EachFaultOfTheTableHasItsStatus) {
  EXPECT_EQ(init_from({{0, 1, 3}, {1, 2, 3}, {1, 3, 3}}), CNUASCCL_DUPLICATE_RANK);
  EXPECT_EQ(init_from({{0, 1, 3}, {1, 2, 3}, {7, 3, 3}}), CNUASCCL_MISSING_RANK);
  EXPECT_THAT(last_error(nullptr), HasSubstr("no member has rank 2"));
  EXPECT_EQ(init_from({{0, 1, 3}, {1, 2, 3}, {2, 2, 3}}), CNUASCCL_GPU_COLLISION);
  EXPECT_THAT(last_error(nullptr), HasSubstr("ranks 1 and 2"));
  EXPECT_EQ(init_from({{0, 1, 3}, {1, 2, 4}, {2, 3, 3}}), CNUASCCL_SIZE_MISMATCH);
  EXPECT_EQ(init_from({{0, 1, 4}, {1, 2, 4}, {2, 3, 4}}), CNUASCCL_SIZE_MISMATCH);
  EXPECT_EQ(init_from({{0, 1, 3}, {1, 0, 3}, {2, 3, 3}}), CNUASCCL_BAD_GPU);
  EXPECT_EQ(init_from({{0, 1, 3}, {1, 0xFFFF, 3}, {2, 3, 3}}), CNUASCCL_BAD_GPU);
  EXPECT_EQ(init_from({{0, 9, 2}, {1, 2, 2}}), CNUASCCL_BOOTSTRAP_FAILED) << "not this rank's own record";
}

TEST(BootstrapTest, RecordsThatAreNone) {
  Table table{encoded({{0, 1, 2}, {1, 2, 2}})};
  std::fill(table.records.begin() + 16, table.records.end(), std::byte{0});
  EXPECT_EQ(init_from(table), CNUASCCL_MISSING_RANK);
  for (std::size_t at = 0; at < 6; ++at) {
    table.records = encoded({{0, 1, 2}, {1, 2, 2}});
    table.records[16 + at] ^= std::byte{0x40};
    EXPECT_EQ(init_from(table), at < 4 ? CNUASCCL_BAD_RECORD : CNUASCCL_RECORD_VERSION) << at;
  }
}

TEST(BootstrapTest, ArgumentsAreChecked) {
  cnuasccl_comm_t comm = nullptr;
  Table table{encoded({{0, 1, 1}})};
  cnuasccl_bootstrap boot{Table::allgather, &table, 1, 0};
  EXPECT_EQ(cnuasccl_comm_init_rank(nullptr, &boot, 1), CNUASCCL_INVALID_ARGUMENT);
  EXPECT_EQ(cnuasccl_comm_init_rank(&comm, nullptr, 1), CNUASCCL_INVALID_ARGUMENT);
  for (const auto& [ranks, rank] :
       std::vector<std::pair<int, int>>{{0, 0}, {-1, 0}, {1, 1}, {1, -1}, {65'535, 0}}) {
    boot.n_ranks = ranks;
    boot.rank = rank;
    EXPECT_EQ(cnuasccl_comm_init_rank(&comm, &boot, 1), CNUASCCL_INVALID_ARGUMENT) << ranks << " " << rank;
  }
  boot = {nullptr, nullptr, 1, 0};
  EXPECT_EQ(cnuasccl_comm_init_rank(&comm, &boot, 1), CNUASCCL_INVALID_ARGUMENT);
  EXPECT_EQ(table.calls, 0);
  EXPECT_EQ(comm, nullptr);
}

TEST(BootstrapTest, AGpuThatIsNoneIsToldToAllRanks) {
  for (const std::uint16_t gpu : {0x0000, 0xFFFF}) {
    World world(2);
    world.run([&](int rank) {
      const cnuasccl_bootstrap boot = world.bootstrap(rank);
      cnuasccl_comm_t comm = nullptr;
      EXPECT_EQ(cnuasccl_comm_init_rank(&comm, &boot, rank == 0 ? 0x0102 : gpu), CNUASCCL_BAD_GPU);
      EXPECT_EQ(comm, nullptr);
      EXPECT_THAT(last_error(nullptr), HasSubstr("rank 1"));
    });
  }
}

TEST(BootstrapTest, AnAllgatherThatFailsSaysHow) {
  for (const auto& [returned, expected] :
       std::vector<std::pair<int, int>>{{CNUASCCL_TIMEOUT, CNUASCCL_TIMEOUT},
                                        {CNUASCCL_SIZE_MISMATCH, CNUASCCL_SIZE_MISMATCH},
                                        {CNUASCCL_BOOTSTRAP_FAILED, CNUASCCL_BOOTSTRAP_FAILED},
                                        {CNUASCCL_BUSY, CNUASCCL_BOOTSTRAP_FAILED},
                                        {-7, CNUASCCL_BOOTSTRAP_FAILED}}) {
    for (const int failing : {0, 1}) {
      struct Failing {
        int left;
        int status;
        static cnuasccl_status_t allgather(const void* send, void* recv, std::size_t bytes, void* context) {
          auto& self = *static_cast<Failing*>(context);
          if (self.left-- == 0) return static_cast<cnuasccl_status_t>(self.status);
          std::memcpy(recv, send, bytes);
          return CNUASCCL_OK;
        }
      } context{failing, returned};
      const cnuasccl_bootstrap boot{Failing::allgather, &context, 1, 0};
      cnuasccl_comm_t comm = nullptr;
      EXPECT_EQ(cnuasccl_comm_init_rank(&comm, &boot, 1), expected) << returned;
      EXPECT_EQ(comm, nullptr);
      EXPECT_THAT(last_error(nullptr), HasSubstr("(" + std::to_string(returned) + ")"));
    }
  }
}

TEST(TableTest, ViewsOfOneTable) {
  World world(5);
  world.run([&](int rank) {
    cnuasccl_comm_t comm = world.bare(rank);
    EXPECT_EQ(cnuasccl_comm_rank(comm), rank);
    EXPECT_EQ(cnuasccl_comm_size(comm), 5);
    EXPECT_EQ(cnuasccl_comm_ring_next(comm), (rank + 1) % 5);
    EXPECT_EQ(cnuasccl_comm_ring_previous(comm), (rank + 4) % 5);
    for (int other = 0; other < 5; ++other) {
      EXPECT_EQ(cnuasccl_comm_gpu_of(comm, other), gpu_of(other, 5));
      EXPECT_EQ(cnuasccl_comm_rank_of(comm, gpu_of(other, 5)), other);
    }
    EXPECT_EQ(cnuasccl_comm_gpu_of(comm, 5), 0);
    EXPECT_EQ(cnuasccl_comm_gpu_of(comm, -1), 0);
    EXPECT_EQ(cnuasccl_comm_rank_of(comm, 0x7777), -1);
    cnuasccl_comm_destroy(comm);
  });
  EXPECT_EQ(cnuasccl_comm_rank(nullptr), -1);
  EXPECT_EQ(cnuasccl_comm_size(nullptr), -1);
  EXPECT_EQ(cnuasccl_comm_ring_next(nullptr), -1);
  EXPECT_EQ(cnuasccl_comm_gpu_of(nullptr, 0), 0);
  EXPECT_OK(cnuasccl_comm_destroy(nullptr));
}

TEST(LinkTest, WithoutOneNothingOfSeveralRanksIsSupported) {
  World world(2);
  world.run([&](int rank) {
    cnuasccl_comm_t comm = world.bare(rank);
    int in[2] = {1, 2};
    int out[2] = {};
    EXPECT_EQ(cnuasccl_all_reduce(comm, in, out, 2, CNUASCCL_INT32, CNUASCCL_SUM), CNUASCCL_NOT_SUPPORTED);
    EXPECT_EQ(cnuasccl_all_reduce(comm, nullptr, nullptr, 0, CNUASCCL_INT32, CNUASCCL_SUM),
              CNUASCCL_NOT_SUPPORTED);
    EXPECT_EQ(cnuasccl_broadcast(comm, in, out, 2, CNUASCCL_INT32, 0), CNUASCCL_NOT_SUPPORTED);
    EXPECT_EQ(cnuasccl_all_gather(comm, in, out, 1, CNUASCCL_INT32), CNUASCCL_NOT_SUPPORTED);
    EXPECT_EQ(cnuasccl_reduce_scatter(comm, in, out, 1, CNUASCCL_INT32, CNUASCCL_SUM),
              CNUASCCL_NOT_SUPPORTED);
    EXPECT_EQ(cnuasccl_all_to_all(comm, in, out, 1, CNUASCCL_INT32), CNUASCCL_NOT_SUPPORTED);
    EXPECT_EQ(cnuasccl_barrier(comm), CNUASCCL_NOT_SUPPORTED);
    cnuasccl_comm_t child = comm;
    EXPECT_EQ(cnuasccl_comm_split(comm, 0, 0, &child), CNUASCCL_NOT_SUPPORTED);
    EXPECT_EQ(child, nullptr);
    EXPECT_EQ(out[0], 0);
    cnuasccl_comm_state state{};
    state.struct_bytes = sizeof state;
    EXPECT_OK(cnuasccl_comm_status(comm, &state));
    EXPECT_EQ(state.carrier, CNUASCCL_CARRIER_NONE);
    EXPECT_EQ(state.poisoned, CNUASCCL_OK);
    cnuasccl_comm_destroy(comm);
  });
}

TEST(LinkTest, OneRankNeedsNone) {
  World world(1);
  cnuasccl_comm_t comm = world.bare(0);
  const double in[3] = {1.5, -0.0, 7.0};
  double out[3] = {};
  EXPECT_OK(cnuasccl_all_reduce(comm, in, out, 3, CNUASCCL_FLOAT64, CNUASCCL_SUM));
  EXPECT_EQ(std::memcmp(in, out, sizeof in), 0);
  EXPECT_OK(cnuasccl_all_to_all(comm, out, out, 3, CNUASCCL_FLOAT64));
  EXPECT_OK(cnuasccl_barrier(comm));
  cnuasccl_comm_t child = nullptr;
  EXPECT_OK(cnuasccl_comm_split(comm, 3, 0, &child));
  EXPECT_EQ(cnuasccl_comm_size(child), 1);
  EXPECT_OK(cnuasccl_barrier(child));
  cnuasccl_comm_destroy(child);
  cnuasccl_comm_destroy(comm);
}

TEST(LinkTest, MustBeThatOfTheGpuAndWhole) {
  World world(2);
  world.run([&](int rank) {
    cnuasccl_comm_t comm = world.bare(rank);
    cnuasccl_link_transport link{};
    cnuasccl_link_extension extension{};
    EXPECT_EQ(cnuasccl_comm_set_link(comm, nullptr, nullptr, nullptr, nullptr), CNUASCCL_INVALID_ARGUMENT);
    EXPECT_EQ(cnuasccl_comm_set_link(comm, &link, nullptr, nullptr, nullptr), CNUASCCL_INVALID_ARGUMENT);
    world.link(rank, link, extension);
    cnuasccl_link_transport other = link;
    other.local_gpu = [](std::uint16_t* gpu, void*) {
      *gpu = 0x4242;
      return CNUASCCL_OK;
    };
    EXPECT_EQ(cnuasccl_comm_set_link(comm, &other, nullptr, nullptr, nullptr), CNUASCCL_WRONG_GPU);
    cnuasccl_link_extension absent = extension;
    absent.available = [](void*) { return 0; };
    EXPECT_EQ(cnuasccl_comm_set_link(comm, &link, &absent, nullptr, nullptr), CNUASCCL_LINK_FAILED);
    EXPECT_OK(cnuasccl_comm_set_link(comm, &link, &extension, nullptr, nullptr));
    EXPECT_EQ(cnuasccl_comm_set_link(comm, &link, &extension, nullptr, nullptr), CNUASCCL_INVALID_ARGUMENT);
    EXPECT_OK(cnuasccl_barrier(comm));
    cnuasccl_comm_destroy(comm);
  });
}

// The second link carries if the first is not available on one of the ranks, and all ranks know.
TEST(FallbackTest, AllRanksTakeTheSameLink) {
  for (const int lacking : {-1, 0, 2}) {
    World first(3);
    World second(3);
    std::vector<cnuasccl_comm_t> comms(3);
    std::vector<std::unique_ptr<FakeLink>> links(6);
    first.run([&](int rank) {
      const auto own = static_cast<std::size_t>(rank);
      cnuasccl_comm_t comm = first.bare(rank);
      comms[own] = comm;
      FakeLink& primary = *(links[own] = std::make_unique<FakeLink>(first, rank));
      FakeLink& fallback = *(links[own + 3] = std::make_unique<FakeLink>(second, rank));
      primary.available = rank != lacking;
      fallback.name = "rdma";
      const cnuasccl_link_transport one = primary.transport();
      const cnuasccl_link_extension one_more = primary.extension();
      const cnuasccl_link_transport two = fallback.transport();
      const cnuasccl_link_extension two_more = fallback.extension();
      ASSERT_EQ(cnuasccl_comm_set_link(comm, &one, &one_more, &two, &two_more), CNUASCCL_OK)
          << last_error(comm);
      const std::uint64_t before = lacking < 0 ? fallback.bytes : primary.bytes;
      std::vector<std::int32_t> data(10'000, rank);
      EXPECT_OK(
          cnuasccl_all_reduce(comm, data.data(), data.data(), data.size(), CNUASCCL_INT32, CNUASCCL_SUM));
      EXPECT_EQ(data[9'999], 3);
      EXPECT_EQ(lacking < 0 ? fallback.bytes : primary.bytes, before) << "nothing on the other link";
      cnuasccl_comm_state state{};
      state.struct_bytes = sizeof state;
      EXPECT_OK(cnuasccl_comm_status(comm, &state));
      EXPECT_EQ(state.carrier, lacking < 0 ? CNUASCCL_CARRIER_LINK : CNUASCCL_CARRIER_FALLBACK);
      EXPECT_STREQ(state.carrier_name, lacking < 0 ? "fake" : "rdma");
    });
    for (cnuasccl_comm_t comm : comms)
      cnuasccl_comm_destroy(comm);
  }
}

// One that cannot even say whose it is, is one that is not available; and the choice stays as it was made.
TEST(FallbackTest, AFirstLinkThatFailsAtOnceOrLater) {
  for (const bool at_once : {true, false}) {
    World first(2);
    World second(2);
    std::vector<cnuasccl_comm_t> comms(2);
    std::vector<std::unique_ptr<FakeLink>> links(4);
    first.run([&](int rank) {
      const auto own = static_cast<std::size_t>(rank);
      cnuasccl_comm_t comm = comms[own] = first.bare(rank);
      FakeLink& primary = *(links[own] = std::make_unique<FakeLink>(first, rank));
      FakeLink& fallback = *(links[own + 2] = std::make_unique<FakeLink>(second, rank));
      cnuasccl_link_transport one = primary.transport();
      if (at_once && rank == 0) one.local_gpu = [](std::uint16_t*, void*) { return CNUASCCL_SYSTEM; };
      const cnuasccl_link_extension one_more = primary.extension();
      const cnuasccl_link_transport two = fallback.transport();
      const cnuasccl_link_extension two_more = fallback.extension();
      EXPECT_OK(cnuasccl_comm_set_link(comm, &one, &one_more, &two, &two_more));
      EXPECT_OK(cnuasccl_barrier(comm));
      cnuasccl_comm_state state{};
      state.struct_bytes = sizeof state;
      EXPECT_OK(cnuasccl_comm_status(comm, &state));
      EXPECT_EQ(state.carrier, at_once ? CNUASCCL_CARRIER_FALLBACK : CNUASCCL_CARRIER_LINK);
      if (at_once) return;
      configure(comm, [](cnuasccl_config& config) { config.timeout_ns = 200'000'000; });
      const std::uint64_t before = fallback.bytes;
      if (rank == 0) primary.fails_with = CNUASCCL_SYSTEM;
      EXPECT_THAT(cnuasccl_barrier(comm), testing::AnyOf(CNUASCCL_LINK_FAILED, CNUASCCL_TIMEOUT));
      EXPECT_EQ(fallback.bytes, before);
    });
    for (cnuasccl_comm_t comm : comms)
      cnuasccl_comm_destroy(comm);
  }
}

}  // namespace
}  // namespace cnuas::live::collectives
