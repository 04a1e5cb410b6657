// Every collective, type, operator, algorithm and number of ranks against the serial fold, bit by bit.
#include "tests/ccl/shipped.h"
#include "tests/cnuasccl/ranks.h"
#include "tests/cnuasccl/reference.h"
#include "tests/slow_build.h"

#include <algorithm>
#include <atomic>
#include <cstring>
#include <mutex>
#include <set>
#include <string>
#include <vector>

#include <gtest/gtest.h>

namespace cnuas::live::collectives {
namespace {

struct Case {
  cnuasccl_collective_t collective = CNUASCCL_ALL_REDUCE;
  cnuasccl_algorithm_t algorithm = CNUASCCL_AUTO;
  cnuasccl_type_t type = CNUASCCL_FLOAT32;
  cnuasccl_op_t op = CNUASCCL_SUM;
  std::size_t count = 0;
  int root = 0;
  bool in_place = false;

  std::string describe() const {
    return std::string("collective ") + std::to_string(collective) + " " +
           cnuasccl_algorithm_name(algorithm) + ", type " + std::to_string(type) + ", operator " +
           std::to_string(op) + ", " + std::to_string(count) + " elements, root " + std::to_string(root) +
           (in_place ? ", in place" : "");
  }
};

constexpr std::size_t kGuard = 32;  // bytes around every buffer that nobody may touch
constexpr std::byte kGuardByte{0xA5};

// Memory of so many bytes between guards.
class Guarded {
 public:
  explicit Guarded(std::size_t bytes) : memory_(bytes + 2 * kGuard, kGuardByte) {}
  std::byte* data() { return memory_.data() + kGuard; }
  std::size_t size() const { return memory_.size() - 2 * kGuard; }
  void fill(std::size_t at, const Bytes& bytes) {
    if (!bytes.empty()) std::memcpy(data() + at, bytes.data(), bytes.size());
  }
  bool untouched() const {
    for (std::size_t i = 0; i < kGuard; ++i)
      if (memory_[i] != kGuardByte || memory_[memory_.size() - 1 - i] != kGuardByte) return false;
    return true;
  }

 private:
  Bytes memory_;
};

// One case with everybody's data and the results, computed once for all ranks.
class Prepared {
 public:
  Prepared(const Case& given, int ranks, std::uint64_t seed) : case_(given), ranks_(ranks) {
    for (int rank = 0; rank < ranks; ++rank)
      inputs_.push_back(contribution(seed, rank, given.type, input_elements()));
    if (reduces()) fold_ = fold_all(inputs_, given.type, given.op);
  }

  bool reduces() const {
    return case_.collective == CNUASCCL_ALL_REDUCE || case_.collective == CNUASCCL_REDUCE_SCATTER;
  }
  std::size_t block() const { return case_.count * size_of(case_.type); }

  cnuasccl_status_t call(cnuasccl_comm_t comm, int rank, Bytes& result, bool& guards) const {
    const auto own = static_cast<std::size_t>(rank);
    const Bytes& input = inputs_[own];
    Guarded recv(output_blocks() * block());
    Guarded send(case_.in_place ? 0 : input.size());
    std::byte* from = send.data();
    std::byte* to = recv.data();
    if (!case_.in_place) {
      send.fill(0, input);
    } else if (case_.collective == CNUASCCL_REDUCE_SCATTER) {
      return call_in_place_scatter(comm, own, result, guards);
    } else {
      const std::size_t at = case_.collective == CNUASCCL_ALL_GATHER ? own * block() : 0;
      if (case_.collective != CNUASCCL_BROADCAST || rank == case_.root) recv.fill(at, input);
      from = recv.data() + at;
    }
    const cnuasccl_status_t status = call(comm, from, to);
    result.assign(to, to + recv.size());
    guards = recv.untouched() && send.untouched();
    if (!case_.in_place) guards = guards && std::equal(input.begin(), input.end(), send.data());
    return status;
  }

  Bytes expected(int rank) const {
    const auto own = static_cast<std::size_t>(rank);
    const auto part = [&](const Bytes& bytes, std::size_t index) {
      const auto first = bytes.begin() + static_cast<std::ptrdiff_t>(index * block());
      return Bytes(first, first + static_cast<std::ptrdiff_t>(block()));
    };
    Bytes all;
    switch (case_.collective) {
      case CNUASCCL_ALL_REDUCE:
        return fold_;
      case CNUASCCL_BROADCAST:
        return inputs_[static_cast<std::size_t>(case_.root)];
      case CNUASCCL_REDUCE_SCATTER:
        return part(fold_, own);
      case CNUASCCL_ALL_GATHER:
        for (const Bytes& input : inputs_)
          all.insert(all.end(), input.begin(), input.end());
        return all;
      case CNUASCCL_ALL_TO_ALL:
        for (const Bytes& input : inputs_) {
          const Bytes mine = part(input, own);
          all.insert(all.end(), mine.begin(), mine.end());
        }
        return all;
    }
    return {};
  }

  const std::vector<Bytes>& inputs() const { return inputs_; }

 private:
  std::size_t input_elements() const {
    const bool per_rank =
        case_.collective == CNUASCCL_REDUCE_SCATTER || case_.collective == CNUASCCL_ALL_TO_ALL;
    return case_.count * (per_rank ? static_cast<std::size_t>(ranks_) : 1);
  }
  std::size_t output_blocks() const {
    const bool all = case_.collective == CNUASCCL_ALL_GATHER || case_.collective == CNUASCCL_ALL_TO_ALL;
    return all ? static_cast<std::size_t>(ranks_) : 1;
  }

  cnuasccl_status_t call_in_place_scatter(cnuasccl_comm_t comm, std::size_t own, Bytes& result,
                                          bool& guards) const {
    Guarded both(inputs_[own].size());
    both.fill(0, inputs_[own]);
    std::byte* to = both.data() + own * block();
    const cnuasccl_status_t status = call(comm, both.data(), to);
    result.assign(to, to + block());
    guards = both.untouched();
    return status;
  }

  cnuasccl_status_t call(cnuasccl_comm_t comm, const void* send, void* recv) const {
    switch (case_.collective) {
      case CNUASCCL_ALL_REDUCE:
        return cnuasccl_all_reduce(comm, send, recv, case_.count, case_.type, case_.op);
      case CNUASCCL_BROADCAST:
        return cnuasccl_broadcast(comm, send, recv, case_.count, case_.type, case_.root);
      case CNUASCCL_REDUCE_SCATTER:
        return cnuasccl_reduce_scatter(comm, send, recv, case_.count, case_.type, case_.op);
      case CNUASCCL_ALL_GATHER:
        return cnuasccl_all_gather(comm, send, recv, case_.count, case_.type);
      case CNUASCCL_ALL_TO_ALL:
        return cnuasccl_all_to_all(comm, send, recv, case_.count, case_.type);
    }
    return CNUASCCL_INVALID_ARGUMENT;
  }

  const Case case_;
  const int ranks_;
  std::vector<Bytes> inputs_;
  Bytes fold_;
};

// All cases on one communicator; wrong(case index) collects what is not as it must be.
class Matrix {
 public:
  Matrix(int ranks, std::vector<Case> cases, std::uint32_t chunk_bytes)
      : ranks_(ranks), chunk_bytes_(chunk_bytes), cases_(std::move(cases)) {
    for (std::size_t i = 0; i < cases_.size(); ++i)
      prepared_.emplace_back(cases_[i], ranks, i + 1);
    results_.resize(cases_.size(), std::vector<Bytes>(static_cast<std::size_t>(ranks)));
  }

  void run(std::uint32_t frames_per_receiver) {
    World world(ranks_, frames_per_receiver);
    world.run_with([&](int rank, cnuasccl_comm_t comm) { run_rank(rank, comm); });
    check();
  }

 private:
  void run_rank(int rank, cnuasccl_comm_t comm) {
    cnuasccl_algorithm_t set = CNUASCCL_AUTO;
    bool first = true;
    for (std::size_t i = 0; i < cases_.size(); ++i) {
      if (first || set != cases_[i].algorithm) {
        set = cases_[i].algorithm;
        first = false;
        configure(comm, [&](cnuasccl_config& config) {
          config.algorithm = set;
          config.any_order = set != CNUASCCL_AUTO;
          config.chunk_bytes = chunk_bytes_;
          config.timeout_ns = kHangGuardNs;
        });
      }
      bool guards = false;
      const cnuasccl_status_t status =
          prepared_[i].call(comm, rank, results_[i][static_cast<std::size_t>(rank)], guards);
      if (status != CNUASCCL_OK || !guards) {
        ADD_FAILURE() << cases_[i].describe() << ", rank " << rank << " of " << ranks_ << ": "
                      << cnuasccl_status_name(status) << ", " << last_error(comm);
        return;
      }
    }
  }

  void check() const {
    for (std::size_t i = 0; i < cases_.size(); ++i) {
      const Case& each = cases_[i];
      for (int rank = 0; rank < ranks_; ++rank) {
        const Bytes& result = results_[i][static_cast<std::size_t>(rank)];
        const bool left_fold = !prepared_[i].reduces() || canonical(each);
        if (left_fold) {
          EXPECT_TRUE(result == prepared_[i].expected(rank))
              << each.describe() << ", rank " << rank << " of " << ranks_ << " is not the left fold";
        } else if (each.collective == CNUASCCL_ALL_REDUCE) {
          EXPECT_TRUE(result == results_[i][0])
              << each.describe() << ", rank " << rank << " of " << ranks_ << " differs from rank 0";
        }
      }
    }
  }

  // Integers do not show the order, nor do min and max of them.
  bool canonical(const Case& each) const {
    if (each.type != CNUASCCL_FLOAT32 && each.type != CNUASCCL_FLOAT64) return true;
    if (each.algorithm == CNUASCCL_AUTO) return true;
    return ccl::fold_guarantee(static_cast<ccl::Collective>(each.collective),
                               static_cast<ccl::Algorithm>(each.algorithm - 1),
                               static_cast<ccl::Rank>(ranks_))
        .canonical;
  }

  const int ranks_;
  const std::uint32_t chunk_bytes_;
  const std::vector<Case> cases_;
  std::vector<Prepared> prepared_;
  std::vector<std::vector<Bytes>> results_;  // by case and rank
};

std::vector<Case> every_case(int ranks, bool every_type) {
  std::vector<Case> cases;
  std::uint64_t number = 0;
  std::vector<ccl::Shipped> algorithms = ccl::all_shipped();
  for (const ccl::Shipped& shipped : algorithms) {
    Case each;
    each.collective = static_cast<cnuasccl_collective_t>(shipped.collective);
    each.algorithm = static_cast<cnuasccl_algorithm_t>(static_cast<int>(shipped.algorithm) + 1);
    const int operators = reduces(shipped.collective) ? 4 : 1;
    for (int type = 0; type < 8; ++type) {
      for (int op = 0; op < operators; ++op) {
        if (!every_type && (type + op + static_cast<int>(number)) % 8 != 0) continue;
        each.type = static_cast<cnuasccl_type_t>(type);
        each.op = static_cast<cnuasccl_op_t>(op);
        // Blocks of no, one, and several elements, and of different sizes.
        each.count = number % 7 == 0 ? number % 2 : 1 + (number * 5) % 37;
        each.root = static_cast<int>(number % static_cast<std::uint64_t>(ranks));
        each.in_place = number % 2 == 1;
        cases.push_back(each);
        ++number;
      }
    }
  }
  return cases;
}

class CorrectnessTest : public testing::TestWithParam<int> {};
INSTANTIATE_TEST_SUITE_P(Ranks, CorrectnessTest, testing::Range(1, 18));
INSTANTIATE_TEST_SUITE_P(ManyRanks, CorrectnessTest, testing::Values(32, 64));

TEST_P(CorrectnessTest, EqualsTheSerialFold) {
  const bool all = !cnuas::test::kSlowBuild || GetParam() <= 5;
  Matrix(GetParam(), every_case(GetParam(), all), 61'440).run(64);
}

// Messages of many chunks over a link that holds one frame for each receiver.
TEST(ChunksTest, ManyChunksThroughOneSlot) {
  for (const int ranks : {2, 3, 5}) {
    std::vector<Case> cases;
    for (Case each : every_case(ranks, false)) {
      each.count = 300 + cases.size();
      cases.push_back(each);
    }
    Matrix(ranks, cases, 256).run(1);
  }
}

TEST(ChunksTest, LargeVectors) {
  for (const std::uint32_t slots : {1u, 64u}) {
    std::vector<Case> cases;
    for (const cnuasccl_algorithm_t algorithm :
         {CNUASCCL_CHAIN, CNUASCCL_DIRECT, CNUASCCL_RING, CNUASCCL_DOUBLE_TREE}) {
      Case each;
      each.algorithm = algorithm;
      each.count = cnuas::test::kSlowBuild ? 50'003 : 200'003;
      cases.push_back(each);
    }
    Matrix(3, cases, 61'440).run(slots);
  }
}

TEST(AutomaticTest, IsCanonicalWhateverTheSize) {
  for (const int ranks : {2, 4, 7}) {
    std::vector<Case> cases;
    for (const std::size_t count : {1u, 100u, 10'000u, cnuas::test::kSlowBuild ? 30'000u : 100'000u}) {
      Case each;
      each.count = count;
      cases.push_back(each);
      each.collective = CNUASCCL_REDUCE_SCATTER;
      each.type = CNUASCCL_FLOAT64;
      cases.push_back(each);
    }
    Matrix(ranks, cases, 61'440).run(16);
  }
}

// The comparison is worth nothing if the data does not show the order of the fold.
TEST(SensitivityTest, OwnContributionFirstShowsInTheBits) {
  for (const cnuasccl_type_t type : {CNUASCCL_FLOAT32, CNUASCCL_FLOAT64}) {
    Case each;
    each.type = type;
    each.count = 37;
    const Prepared prepared(each, 5, 1);
    std::set<Bytes> different;
    for (std::size_t first = 0; first < 5; ++first)
      different.insert(fold_all(prepared.inputs(), type, CNUASCCL_SUM, first));
    EXPECT_GE(different.size(), 4u);  // r1 + r0 is r0 + r1
    EXPECT_NE(fold_all(prepared.inputs(), type, CNUASCCL_SUM, 3), prepared.expected(3));
  }
}

// An all_reduce that starts from the rank's own contribution, over the library: what must never pass.
TEST(SensitivityTest, TheMutantThatFoldsItsOwnFirstIsCaught) {
  constexpr int kRanks = 5;
  Case each;
  each.count = 37;
  const Prepared prepared(each, kRanks, 3);
  World world(kRanks);
  std::atomic<int> caught{0};
  world.run_with([&](int rank, cnuasccl_comm_t comm) {
    const auto own = static_cast<std::size_t>(rank);
    const std::size_t bytes = prepared.block();
    Bytes all(kRanks * bytes);
    EXPECT_OK(
        cnuasccl_all_gather(comm, prepared.inputs()[own].data(), all.data(), each.count, CNUASCCL_FLOAT32));
    std::vector<Bytes> gathered;
    for (std::size_t i = 0; i < kRanks; ++i)
      gathered.emplace_back(all.begin() + static_cast<std::ptrdiff_t>(i * bytes),
                            all.begin() + static_cast<std::ptrdiff_t>((i + 1) * bytes));
    EXPECT_TRUE(fold_all(gathered, CNUASCCL_FLOAT32, CNUASCCL_SUM) == prepared.expected(rank));
    if (fold_all(gathered, CNUASCCL_FLOAT32, CNUASCCL_SUM, own) != prepared.expected(rank)) ++caught;
  });
  EXPECT_GE(caught, kRanks - 2);
}

}  // namespace
}  // namespace cnuas::live::collectives
