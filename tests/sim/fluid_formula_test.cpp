// Fluid fidelity on one rack of pure pipes equals the closed forms. The forms are written out here once more,
// from the table in docs/collectives.md, so that a slip in core/ccl/cost.cpp cannot hide one in the
// simulator.
#include "core/ccl/cost.h"
#include "tests/sim/simulation.h"

#include <cmath>
#include <functional>

namespace cnuas::test {
namespace {

using ccl::Algorithm;
using ccl::Collective;

constexpr double kLatency = 1e6;        // ps: two links of 500 ns
constexpr double kRate = 450e9 / 1e12;  // bytes a picosecond

struct Row {
  Collective collective;
  Algorithm algorithm;
  std::function<double(double n, double m, double block)>
      form;  // m: the whole vector, block: the largest of n blocks, in ps
  std::vector<unsigned> ranks;
};

const std::vector<unsigned> kPowers = {2, 4, 8, 64, 256};
const std::vector<unsigned> kAny = {2, 3, 4, 8, 12, 64, 100, 256};

const std::vector<Row>& rows() {
  static const auto a = kLatency;
  static const std::vector<Row> table = {
      {Collective::all_reduce, Algorithm::ring,
       [](double n, double, double b) { return 2 * (n - 1) * (a + b); }, kAny},
      {Collective::all_reduce, Algorithm::direct,
       [](double n, double, double b) { return 2 * (a + (n - 1) * b); }, kPowers},
      {Collective::all_reduce, Algorithm::one_shot,
       [](double n, double m, double) { return a + (n - 1) * m; }, kPowers},
      {Collective::all_reduce, Algorithm::recursive_doubling,
       [](double n, double m, double) { return std::log2(n) * (a + m); }, kPowers},
      {Collective::all_reduce, Algorithm::halving_doubling,
       [](double n, double, double b) { return 2 * std::log2(n) * a + 2 * (n - 1) * b; }, kPowers},
      {Collective::all_gather, Algorithm::ring, [](double n, double, double b) { return (n - 1) * (a + b); },
       kAny},
      {Collective::all_gather, Algorithm::direct, [](double n, double, double b) { return a + (n - 1) * b; },
       kPowers},
      {Collective::all_gather, Algorithm::recursive_doubling,
       [](double n, double, double b) { return std::log2(n) * a + (n - 1) * b; }, kPowers},
      {Collective::reduce_scatter, Algorithm::ring,
       [](double n, double, double b) { return (n - 1) * (a + b); }, kAny},
      {Collective::reduce_scatter, Algorithm::direct,
       [](double n, double, double b) { return a + (n - 1) * b; }, kPowers},
      {Collective::reduce_scatter, Algorithm::halving,
       [](double n, double, double b) { return std::log2(n) * a + (n - 1) * b; }, kPowers},
      {Collective::all_to_all, Algorithm::pairwise,
       [](double n, double, double b) { return (n - 1) * (a + b); }, kPowers},
      {Collective::all_to_all, Algorithm::direct, [](double n, double, double b) { return a + (n - 1) * b; },
       kPowers},
      {Collective::all_to_all, Algorithm::bruck,
       [](double n, double, double b) { return std::log2(n) * (a + n * b / 2); }, kPowers},
      {Collective::broadcast, Algorithm::tree,
       [](double n, double m, double) { return std::log2(n) * (a + m); }, kPowers},
  };
  return table;
}

const std::vector<std::uint64_t> kSizes = {
    0, 1, 1 << 10, 100'000, 1 << 20, 1 << 26, 1'000'000'000, std::uint64_t{1} << 30, std::uint64_t{16} << 30};

class OneRack : public ::testing::TestWithParam<std::size_t> {};

TEST_P(OneRack, EqualsItsFormula) {
  const Row& row = rows()[GetParam()];
  for (const unsigned ranks : row.ranks) {
    const Fabric fabric = *build_rack(racks({ranks}));
    std::vector<CollectiveCall> calls;
    for (const std::uint64_t size : kSizes) {
      calls.push_back(call(fabric, row.collective, row.algorithm, size));
      calls.push_back(call(fabric, row.collective, row.algorithm, size, ccl::DataType::int8));
    }
    const nlohmann::json report = run(scenario(fabric, calls));
    ASSERT_FALSE(report.contains("error")) << report;
    const std::vector<Picoseconds> measured = times(report);
    for (std::size_t i = 0; i < calls.size(); ++i) {
      const std::uint64_t element = size_of(calls[i].type);
      const std::uint64_t count = calls[i].size_bytes / element;
      const double block = static_cast<double>((count + ranks - 1) / ranks * element) / kRate;
      const double m = static_cast<double>(calls[i].size_bytes) / kRate;
      const double expected = row.form(ranks, m, block);
      // Uneven blocks: the largest bounds a port's work from above, but for the moments in which a sender
      // that had smaller blocks meets another one at a receiver: an element each round.
      const bool even = count % ranks == 0;
      const double slack = even ? 0 : 4 * static_cast<double>(ranks * element) / kRate;
      EXPECT_LE(static_cast<double>(measured[i]), expected * (1 + 1e-6) + 0.5 * ranks + slack)
          << ranks << " ranks, " << calls[i].size_bytes << " B";
      if (even) {
        EXPECT_NEAR(static_cast<double>(measured[i]) / expected, 1, 1e-6)
            << ranks << " ranks, " << calls[i].size_bytes << " B";
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Formulas, OneRack, ::testing::Range<std::size_t>(0, 15), [](const auto& param) {
  const Row& row = rows()[param.param];
  return std::string(name(row.collective)) + "_" + std::string(name(row.algorithm));
});

TEST(OneRack, ARingIsExactForEverySizeAndNumberOfRanks) {
  for (const unsigned ranks : kAny) {
    const Fabric fabric = *build_rack(racks({ranks}));
    std::vector<CollectiveCall> calls;
    for (const std::uint64_t size : kSizes)
      calls.push_back(call(fabric, Collective::all_reduce, Algorithm::ring, size));
    const std::vector<Picoseconds> measured = times(run(scenario(fabric, calls)));
    for (std::size_t i = 0; i < calls.size(); ++i) {
      const std::uint64_t count = calls[i].size_bytes / 4;
      const Picoseconds step = 1 * kMicrosecond + transmission_ps((count + ranks - 1) / ranks * 4, 450 * kGB);
      EXPECT_EQ(measured[i], 2 * (ranks - 1) * step) << ranks << " ranks, " << calls[i].size_bytes << " B";
    }
  }
}

// Every algorithm, exact or bounded, as `run --check-model` checks it.
TEST(OneRack, NoAlgorithmContradictsItsModel) {
  for (const unsigned ranks : {1u, 2u, 3u, 5u, 8u, 13u, 16u, 33u}) {
    const Fabric fabric = *build_rack(racks({ranks}));
    std::vector<CollectiveCall> calls;
    for (const Collective collective : {Collective::all_reduce, Collective::broadcast, Collective::all_gather,
                                        Collective::reduce_scatter, Collective::all_to_all}) {
      for (const Algorithm algorithm : ccl::algorithms_of(collective)) {
        for (const std::uint64_t size : {std::uint64_t{0}, std::uint64_t{4}, std::uint64_t{1000},
                                         std::uint64_t{1} << 22, std::uint64_t{1} << 30}) {
          calls.push_back(call(fabric, collective, algorithm, size));
        }
      }
    }
    const nlohmann::json report = run(scenario(fabric, calls));
    ASSERT_FALSE(report.contains("error")) << report;
    const std::vector<Picoseconds> measured = times(report);
    const ccl::PortModel port{450 * kGB, 1 * kMicrosecond};
    for (std::size_t i = 0; i < calls.size(); ++i) {
      const ccl::ClosedForm form = ccl::closed_form(problem_of(calls[i]), 4, port);
      const std::string what = std::string(name(calls[i].collective)) + " " +
                               std::string(name(calls[i].algorithm)) + " " + std::to_string(ranks) +
                               " ranks " + std::to_string(calls[i].size_bytes) + " B";
      const double allowed = std::max(1e-6 * static_cast<double>(form.time_ps),
                                      static_cast<double>(ranks + problem_of(calls[i]).chunks));
      EXPECT_GE(static_cast<double>(measured[i]), static_cast<double>(form.time_ps) - allowed) << what;
      if (form.exact) {
        EXPECT_LE(static_cast<double>(measured[i]), static_cast<double>(form.time_ps) + allowed) << what;
      }
      EXPECT_GE(measured[i] + static_cast<Picoseconds>(allowed),
                ccl::lower_bound(problem_of(calls[i]), 4, port))
          << what;
    }
  }
}

}  // namespace
}  // namespace cnuas::test
