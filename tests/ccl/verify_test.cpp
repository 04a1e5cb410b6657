// What the verifier says of schedules that are wrong, one mistake at a time.
#include "core/ccl/verify.h"

#include "tests/ccl/mutated_schedule.h"
#include "tests/ccl/shipped.h"
#include "tests/ccl/table_schedule.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace cnuas::ccl {
namespace {

using testing::HasSubstr;

constexpr Problem kReduce{Collective::all_reduce, Algorithm::direct, 2, 4, 0, 1};
constexpr Problem kGather{Collective::all_gather, Algorithm::direct, 2, 4, 0, 1};

void expect_error(const Schedule& schedule, const std::string& where, const std::string& message) {
  const auto proof = verify(schedule);
  ASSERT_FALSE(proof.has_value()) << message;
  EXPECT_EQ(proof.error().where, where);
  EXPECT_THAT(proof.error().message, HasSubstr(message));
}

// A gather of two ranks that is right: 2 elements each, sent in lane 0, received in lane 1.
std::vector<TableSchedule::RankLanes> good_gather() {
  return {{{make_send(1, in_input(0), 2)},
           {make_copy(in_input(0), in_output(0), 2), make_recv(1, in_output(2), 2)}},
          {{make_send(0, in_input(0), 2)},
           {make_copy(in_input(0), in_output(2), 2), make_recv(0, in_output(0), 2)}}};
}

TEST(VerifyTest, AcceptsTheTableThatTheOthersBreak) {
  const auto proof = verify(TableSchedule(kGather, good_gather()));
  ASSERT_TRUE(proof.has_value()) << proof.error().where << ": " << proof.error().message;
  EXPECT_EQ(proof->messages, 2u);
  EXPECT_EQ(proof->elements_sent, 4u);
  EXPECT_TRUE(proof->canonical);
}

TEST(VerifyTest, Indices) {
  auto table = good_gather();
  table[0][0][0].peer = 2;
  expect_error(TableSchedule(kGather, table), "rank 0, lane 0, step 0", "only 2 ranks");
  table[0][0][0].peer = 0;
  expect_error(TableSchedule(kGather, table), "rank 0, lane 0, step 0", "its own rank");

  table = good_gather();
  table[1][1][1].dst.offset = 3;
  expect_error(TableSchedule(kGather, table), "rank 1, lane 1, step 1",
               "writes 2 elements at offset 3 of output, which has 4");
  table[1][1][1].dst.offset = ~std::uint64_t{0};
  expect_error(TableSchedule(kGather, table), "rank 1, lane 1, step 1", "output, which has 4");
  table[1][1][1].dst = Location{static_cast<Buffer>(9), 0};
  expect_error(TableSchedule(kGather, table), "rank 1, lane 1, step 1", "a buffer that does not exist");

  table = good_gather();
  table[1][1][1].op = static_cast<Op>(77);
  expect_error(TableSchedule(kGather, table), "rank 1, lane 1, step 1", "an operation that does not exist");
}

TEST(VerifyTest, Dependencies) {
  auto table = good_gather();
  table[0][0][0].deps[0] = after(2, 1);
  expect_error(TableSchedule(kGather, table), "rank 0, lane 0, step 0", "only 2 lanes");
  table[0][0][0].deps[0] = after(1, 3);
  expect_error(TableSchedule(kGather, table), "rank 0, lane 0, step 0", "lane 1, which has only 2");
  table[0][0][0].deps[0] = after(0, 1);
  expect_error(TableSchedule(kGather, table), "rank 0, lane 0, step 0", "depends on itself");
}

TEST(VerifyTest, TooManyLanes) {
  class Wide final : public Schedule {
   public:
    using Schedule::Schedule;
    Lane lanes() const override { return kMaxLanes + 1; }
    std::uint64_t steps(Rank, Lane) const override { return 0; }
    Step step(Rank, Lane, std::uint64_t) const override { return {}; }
    std::uint64_t scratch_elements(Rank) const override { return 0; }
  };
  const auto proof = verify(Wide(kGather));
  ASSERT_FALSE(proof.has_value());
  EXPECT_THAT(proof.error().message, HasSubstr("9 lanes"));
}

TEST(VerifyTest, StepsOfASwitchAreUnsupported) {
  auto table = good_gather();
  table[0][0][0].op = Op::multicast;
  const auto proof = verify(TableSchedule(kGather, table));
  ASSERT_FALSE(proof.has_value());
  EXPECT_EQ(proof.error().code, ErrorCode::unsupported);
}

TEST(VerifyTest, UnpairedMessages) {
  auto table = good_gather();
  table[0][0].push_back(make_send(1, in_input(0), 2));
  expect_error(TableSchedule(kGather, table), "rank 0, lane 0, step 1",
               "sends to rank 1 on channel 0, but rank 1 receives only 1 messages there");
  table = good_gather();
  table[1][1].push_back(make_recv(0, in_output(0), 2));
  expect_error(TableSchedule(kGather, table), "rank 1, lane 1, step 2",
               "receives from rank 0 on channel 0, but rank 0 sends only 1 messages there");
  table = good_gather();
  table[1][1][1].channel = 3;
  expect_error(TableSchedule(kGather, table), "rank 0, lane 0, step 0",
               "sends to rank 1 on channel 0, but rank 1 receives only 0 messages there");
}

TEST(VerifyTest, CountsOfAPairDiffer) {
  auto table = good_gather();
  table[1][1][1].count = 1;
  expect_error(TableSchedule(kGather, table), "rank 1, lane 1, step 1",
               "receives from rank 0 on channel 0 1 elements, but rank 0, lane 0, step 0 sends 2");
}

TEST(VerifyTest, OneChannelInTwoLanes) {
  auto table = good_gather();
  for (Rank rank : {0u, 1u}) {
    table[rank][0].push_back(table[rank][0][0]);
    table[rank].push_back({table[rank][1][1]});
  }
  expect_error(TableSchedule(kGather, table), "rank 0, lane 2, step 0", "no order across lanes");
}

TEST(VerifyTest, DeadlockOfReceivesNamesTheCycle) {
  // Everyone receives before it sends.
  const std::vector<TableSchedule::RankLanes> table = {
      {{make_copy(in_input(0), in_output(0), 2), make_recv(1, in_output(2), 2),
        make_send(1, in_input(0), 2)}},
      {{make_copy(in_input(0), in_output(2), 2), make_recv(0, in_output(0), 2),
        make_send(0, in_input(0), 2)}}};
  expect_error(
      TableSchedule(kGather, table), "rank 0, lane 0, step 1",
      "deadlock: rank 0, lane 0, step 1 (receives from rank 1 on channel 0) waits for rank 1, lane 0, "
      "step 1 (receives from rank 0 on channel 0) waits for rank 0, lane 0");
}

TEST(VerifyTest, DeadlockOfBlockingSends) {
  // Fine as long as someone buffers a message, and a deadlock when nobody does.
  const std::vector<TableSchedule::RankLanes> table = {
      {{make_copy(in_input(0), in_output(0), 2), make_send(1, in_input(0), 2),
        make_recv(1, in_output(2), 2)}},
      {{make_copy(in_input(0), in_output(2), 2), make_send(0, in_input(0), 2),
        make_recv(0, in_output(0), 2)}}};
  expect_error(TableSchedule(kGather, table), "rank 0, lane 0, step 1", "deadlock: ");
}

TEST(VerifyTest, DeadlockOfDependencies) {
  auto table = good_gather();
  table[0][0][0].deps[0] = after(1, 2);
  table[0][1][1].deps[0] = after(0, 1);
  expect_error(TableSchedule(kGather, table), "rank 0, lane 0, step 0",
               "(sends to rank 1 on channel 0) waits for rank 0, lane 1, step 1");
}

TEST(VerifyTest, UndefinedReads) {
  auto table = good_gather();
  table[0][0][0].src = in_scratch(1);
  expect_error(TableSchedule(kGather, table, 3), "rank 0, lane 0, step 0",
               "reads element 1 of scratch, which nothing has written");
}

TEST(VerifyTest, HazardsOfTwoLanes) {
  // The send reads what the other lane copies, and may come first or last.
  auto table = good_gather();
  table[0][0][0].src = in_output(0);
  const auto proof = verify(TableSchedule(kGather, table));
  ASSERT_FALSE(proof.has_value());
  table[0][0][0].deps[0] = after(1, 1);
  EXPECT_TRUE(verify(TableSchedule(kGather, table)).has_value());

  // Two lanes write the same place.
  table = good_gather();
  table[0].push_back({make_copy(in_input(0), in_output(0), 2)});
  expect_error(TableSchedule(kGather, table), "rank 0, lane 2, step 0",
               "writes element 0 of output, which lane 1, step 0 writes, and nothing orders the two");
  table[0][2][0].deps[0] = after(1, 1);
  EXPECT_TRUE(verify(TableSchedule(kGather, table)).has_value());
}

TEST(VerifyTest, OrderThroughAThirdLaneCounts) {
  auto table = good_gather();
  table[0].push_back({make_copy(in_output(0), in_output(0), 2, after(1, 1))});
  table[0].push_back({make_copy(in_input(0), in_output(0), 2, after(2, 1))});
  EXPECT_TRUE(verify(TableSchedule(kGather, table)).has_value());
}

TEST(VerifyTest, HazardsInPlaceOnly) {
  // Apart, the result never touches what is sent; in place it replaces it, maybe too soon.
  const auto schedule = schedule_of({Collective::all_reduce, Algorithm::one_shot, 3, 4, 0, 1});
  const MutatedSchedule mutant(*schedule, [](Rank rank, Lane, std::uint64_t, Step& step) {
    if (rank == 1 && step.op == Op::copy) step.deps = {};
  });
  expect_error(mutant, "rank 1, lane 1, step 4",
               "copies: writes element 0 of output, which lane 0, step 0 reads, and nothing orders the two "
               "(in place)");
}

TEST(VerifyTest, PlacesThatOverlap) {
  auto table = good_gather();
  table[0][1].push_back(make_copy(in_output(0), in_output(1), 2));
  expect_error(TableSchedule(kGather, table), "rank 0, lane 1, step 2", "overlap");
}

TEST(VerifyTest, WrongResults) {
  auto table = good_gather();
  table[0][1].erase(table[0][1].begin());
  expect_error(TableSchedule(kGather, table), "rank 0", "element 0 of rank 0's output is never written");
  table = good_gather();
  table[1][0] = {make_send(0, in_input(1), 1), make_send(0, in_input(1), 1)};
  table[0][1].back() = make_recv(1, in_output(2), 1);
  table[0][1].push_back(make_recv(1, in_output(3), 1));
  expect_error(TableSchedule(kGather, table), "rank 0",
               "element 2 of rank 0's output holds element 3 of r1 instead of element 2 of r1");
}

TEST(VerifyTest, ContributionsMissingOrRepeated) {
  const auto exchange = [](Step rank0, Step rank1) {
    return TableSchedule(
        kReduce, {{{make_send(1, in_input(0), 4)}, {rank0}}, {{make_send(0, in_input(0), 4)}, {rank1}}}, 4);
  };
  const Step right = make_recv_reduce(0, false, in_input(0), in_scratch(0), 4);
  expect_error(exchange(make_recv(1, in_output(0), 4, after(0, 1)), right), "rank 0",
               "element 0 of rank 0's output lacks the contribution of rank 0");

  const TableSchedule twice(kReduce, {{{make_send(1, in_input(0), 4), make_send(1, in_input(0), 4)}, {}},
                                      {{},
                                       {make_recv_reduce(0, true, in_input(0), in_output(0), 4),
                                        make_recv_reduce(0, true, in_output(0), in_output(0), 4)}}});
  const auto proof = verify(twice);
  ASSERT_FALSE(proof.has_value());
  const TableSchedule folded_twice(kReduce, {{{make_send(1, in_input(0), 4), make_send(1, in_input(0), 4)},
                                              {make_recv(1, in_output(0), 4, after(0, 2))}},
                                             {{make_send(0, in_output(0), 4, after(1, 2))},
                                              {make_recv_reduce(0, true, in_input(0), in_output(0), 4),
                                               make_recv_reduce(0, true, in_output(0), in_output(0), 4)}}});
  expect_error(folded_twice, "rank 0", "holds the contribution of rank 0 more than once");
}

TEST(VerifyTest, FoldsOfDifferentElements) {
  const TableSchedule schedule(kReduce, {{{make_send(1, in_input(1), 2)}, {}},
                                         {{}, {make_recv_reduce(0, true, in_input(0), in_output(0), 2)}}});
  expect_error(schedule, "rank 1, lane 1, step 0", "folds element 0 onto element 1");
}

TEST(VerifyTest, DifferentBitsOnDifferentRanks) {
  // Each folds its own contribution first: both hold the sum, but not the same bits.
  const auto receive = [](Rank peer) { return make_recv_reduce(peer, false, in_input(0), in_scratch(0), 4); };
  const Step place = make_copy(in_scratch(0), in_output(0), 4, after(0, 1));
  const auto proof = verify(TableSchedule(kReduce,
                                          {{{make_send(1, in_input(0), 4)}, {receive(1), place}},
                                           {{make_send(0, in_input(0), 4)}, {receive(0), place}}},
                                          4));
  ASSERT_TRUE(proof.has_value()) << proof.error().where << ": " << proof.error().message;
  EXPECT_FALSE(proof->same_everywhere);
  EXPECT_FALSE(proof->canonical);
  EXPECT_EQ(proof->fold_order, "r0+r1");
}

TEST(VerifyTest, ProblemsThatMakeNoSense) {
  EXPECT_FALSE(verify(TableSchedule({Collective::all_reduce, Algorithm::ring, 0, 4, 0, 1}, {})).has_value());
  EXPECT_FALSE(verify(TableSchedule({Collective::broadcast, Algorithm::tree, 2, 4, 2, 1}, {})).has_value());
}

}  // namespace
}  // namespace cnuas::ccl
