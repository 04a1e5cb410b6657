// The check of the program must see what it is there to see.
#include "live/ccl/perf/pattern.h"

#include "core/ccl/fold.h"

#include <cstring>
#include <vector>

#include <gtest/gtest.h>

namespace cnuas::live::perf {
namespace {

using Bytes = std::vector<std::byte>;

constexpr int kRanks = 4;

Row row_of(cnuasccl_collective_t collective, cnuasccl_type_t type, cnuasccl_op_t op, std::uint64_t count) {
  Row row;
  row.collective = collective;
  row.type = type;
  row.op = op;
  row.count = count;
  return row;
}

Bytes contribution(const Row& row, int rank) {
  Bytes bytes(row.send_elements(kRanks) * size_of(row.type));
  contribute(row, rank, kRanks, bytes);
  return bytes;
}

// The fold of all ranks, beginning with `first` and going around; by the library's own arithmetic.
Bytes folded(const Row& row, int first) {
  Bytes result = contribution(row, first);
  for (int i = 1; i < kRanks; ++i) {
    const Bytes next = contribution(row, (first + i) % kRanks);
    ccl::fold(static_cast<ccl::DataType>(row.type), static_cast<ccl::Operator>(row.op), result.data(),
              next.data(), result.data(), row.send_elements(kRanks));
  }
  return result;
}

TEST(PerfPattern, AgreesWithTheFoldInRankOrder) {
  for (int type = CNUASCCL_INT8; type <= CNUASCCL_FLOAT64; ++type) {
    for (int op = CNUASCCL_SUM; op <= CNUASCCL_MAX; ++op) {
      const Row row = row_of(CNUASCCL_ALL_REDUCE, static_cast<cnuasccl_type_t>(type),
                             static_cast<cnuasccl_op_t>(op), 1000);
      EXPECT_EQ(count_wrong(row, 2, kRanks, folded(row, 0), true), 0u) << type << " " << op;
    }
  }
}

TEST(PerfPattern, SeesEveryRankThatFoldsFromItself) {
  for (const cnuasccl_op_t op : {CNUASCCL_SUM, CNUASCCL_PRODUCT, CNUASCCL_MIN, CNUASCCL_MAX}) {
    for (const cnuasccl_type_t type : {CNUASCCL_FLOAT32, CNUASCCL_FLOAT64}) {
      for (int first = 1; first < kRanks; ++first) {
        const Row row = row_of(CNUASCCL_ALL_REDUCE, type, op, 1000);
        const Bytes other_order = folded(row, first);
        EXPECT_GT(count_wrong(row, first, kRanks, other_order, true), 10u)
            << op << " " << type << " " << first;
        EXPECT_EQ(count_wrong(row, first, kRanks, other_order, false), 0u)
            << op << " " << type << " " << first;
      }
    }
  }
}

TEST(PerfPattern, CountsElementsThatWereChanged) {
  for (const bool exact : {false, true}) {
    const Row row = row_of(CNUASCCL_ALL_REDUCE, CNUASCCL_FLOAT32, CNUASCCL_SUM, 100);
    Bytes result = folded(row, 0);
    for (const std::size_t at : {3u, 50u, 99u})
      result[at * 4 + 3] ^= std::byte{0x40};  // the exponent
    EXPECT_EQ(count_wrong(row, 0, kRanks, result, exact), 3u);
  }
}

TEST(PerfPattern, KnowsWhereBlocksBelong) {
  constexpr std::uint64_t kCount = 10;
  const Row gather = row_of(CNUASCCL_ALL_GATHER, CNUASCCL_INT32, CNUASCCL_SUM, kCount);
  const Row exchange = row_of(CNUASCCL_ALL_TO_ALL, CNUASCCL_INT32, CNUASCCL_SUM, kCount);
  const Row scatter = row_of(CNUASCCL_REDUCE_SCATTER, CNUASCCL_INT32, CNUASCCL_SUM, kCount);
  const auto block = [](const Bytes& all, int number) {
    const auto begin = all.begin() + number * static_cast<int>(kCount) * 4;
    return Bytes(begin, begin + static_cast<int>(kCount) * 4);
  };
  const auto append = [](Bytes& to, const Bytes& more) { to.insert(to.end(), more.begin(), more.end()); };
  for (int rank = 0; rank < kRanks; ++rank) {
    Bytes gathered;
    Bytes exchanged;
    for (int source = 0; source < kRanks; ++source) {
      append(gathered, contribution(gather, source));
      append(exchanged, block(contribution(exchange, source), rank));
    }
    EXPECT_EQ(count_wrong(gather, rank, kRanks, gathered, true), 0u);
    EXPECT_EQ(count_wrong(exchange, rank, kRanks, exchanged, true), 0u);
    EXPECT_EQ(count_wrong(scatter, rank, kRanks, block(folded(scatter, 0), rank), true), 0u);
    EXPECT_EQ(count_wrong(scatter, rank, kRanks, block(folded(scatter, 0), (rank + 1) % kRanks), true),
              kCount);
  }
}

}  // namespace
}  // namespace cnuas::live::perf
