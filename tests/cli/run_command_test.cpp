// `cnuas-sim run` as its users type it.
#include "tests/cli/process.h"

#include <regex>

#include <nlohmann/json.hpp>

namespace cnuas::test {
namespace {

using ::testing::HasSubstr;
using ::testing::StartsWith;

constexpr const char* kSmall = R"(scenario: small
fabric:
  gpus_per_rack: 4
  racks: 1
  link: {bandwidth: 450 GB/s, latency: 500 ns}
  switch: {latency: 0 ns}
workload:
  - collective: all_reduce
    algorithm: ring
    sizes: [1800 kB]
)";

std::string replaced(std::string text, const std::string& from, const std::string& to) {
  const std::size_t at = text.find(from);
  EXPECT_NE(at, std::string::npos) << from;
  return at == std::string::npos ? text : text.replace(at, from.size(), to);
}

// One blank between words, however help breaks its lines.
std::string words(const std::string& text) {
  return std::regex_replace(text, std::regex("\\s+"), " ");
}

TEST(Run, PrintsATableThatEndsWithTheCommandThatRepeatsIt) {
  const TemporaryFile file("small.yaml", kSmall);
  const Outcome run = cnuas_sim("run " + file.path());
  EXPECT_EQ(run.status, 0) << run.err;
  EXPECT_EQ(run.err, "");
  EXPECT_THAT(run.out, HasSubstr("12.000"));  // 6 (1 us + 1 us)
  EXPECT_THAT(run.out, ::testing::EndsWith("# again: cnuas-sim run " + file.path() + "\n"));
}

TEST(Run, JsonCarriesEverythingTheResultDependsOn) {
  const TemporaryFile file("small.yaml", kSmall);
  const Outcome run = cnuas_sim("run " + file.path() + " --format json");
  ASSERT_EQ(run.status, 0) << run.err;
  const nlohmann::json document = nlohmann::json::parse(run.out);
  EXPECT_EQ(document["schema"], "cnuas.result/1");
  EXPECT_EQ(document["run"]["scenario"], "small");
  EXPECT_EQ(document["run"]["seed"], 1);
  EXPECT_EQ(document["run"]["simgrid"]["options"]["network/model"], "CM02");
  EXPECT_EQ(document["run"]["command"], "cnuas-sim run " + file.path() + " --format json");
  for (const char* key : {"version", "commit", "scenario_sha256"})
    EXPECT_TRUE(document["run"].contains(key)) << key;
  EXPECT_EQ(shell("sha256sum " + file.path() + " | cut -d' ' -f1").out,
            document["run"]["scenario_sha256"].get<std::string>() + "\n");
  const nlohmann::json& row = document["results"][0];
  EXPECT_EQ(row["collective"], "all_reduce");
  EXPECT_EQ(row["algorithm"], "ring");
  EXPECT_EQ(row["canonical"], false);
  EXPECT_EQ(row["fidelity"], "fluid");
  EXPECT_EQ(row["ranks"], 4);
  EXPECT_EQ(row["size_bytes"], 1'800'000);
  EXPECT_EQ(row["type"], "float32");
  EXPECT_EQ(row["operator"], "sum");
  EXPECT_EQ(row["time_ps"], 12'000'000);
  EXPECT_DOUBLE_EQ(row["algbw_bytes_per_s"].get<double>(), 150e9);
  EXPECT_DOUBLE_EQ(row["busbw_bytes_per_s"].get<double>(), 225e9);
  EXPECT_EQ(row["wire_bytes"], 4 * 6 * 450'000);
  EXPECT_EQ(row["lower_bound_ps"], 7'000'000);  // 1 us + 1.5 * 1.8 MB over one port
  EXPECT_NEAR(row["busiest_link"]["utilisation"].get<double>(), 0.5, 1e-9);
  for (const char* key : {"frames", "events", "digest"})
    EXPECT_TRUE(row.contains(key)) << key;
}

TEST(Run, CsvHasAHeadingAndARowAResult) {
  const TemporaryFile file("small.yaml", replaced(kSmall, "[1800 kB]", "[4 B, 8 B]"));
  const Outcome run = cnuas_sim("run --format csv " + file.path());
  EXPECT_EQ(run.status, 0) << run.err;
  EXPECT_THAT(run.out, StartsWith("scenario,collective,algorithm,"));
  EXPECT_EQ(std::count(run.out.begin(), run.out.end(), '\n'), 3);
}

TEST(Run, OneChangedNumberShows) {
  const TemporaryFile file("slower.yaml", replaced(kSmall, "450 GB/s", "225 GB/s"));
  EXPECT_THAT(cnuas_sim("run " + file.path()).out, HasSubstr("18.000"));  // 6 (1 us + 2 us)
}

TEST(Run, AMisspeltKeyLeadsBackAndNothingRuns) {
  const TemporaryFile file("wrong.yaml", replaced(kSmall, "switch: {latency", "switch: {latncy"));
  const Outcome run = cnuas_sim("run " + file.path());
  EXPECT_EQ(run.status, 3);
  EXPECT_EQ(run.out, "");
  EXPECT_THAT(run.err, HasSubstr("wrong.yaml:6:12: error: unknown key 'latncy' in switch"));
  EXPECT_THAT(run.err, HasSubstr("a key with a similar name exists: 'latency'"));
}

TEST(Run, AFileThatIsNotThereIsAnInputError) {
  const Outcome run = cnuas_sim("run /nonexistent/x.yaml");
  EXPECT_EQ(run.status, 4);
  EXPECT_THAT(run.err, HasSubstr("/nonexistent/x.yaml"));
}

TEST(Run, OutputThatCannotBeWrittenIsAnOutputError) {
  const TemporaryFile file("small.yaml", kSmall);
  EXPECT_EQ(cnuas_sim("run " + file.path() + " -o /nonexistent/result.json").status, 4);
  EXPECT_EQ(cnuas_sim("run " + file.path() + " > /dev/full").status, 4);
}

TEST(Run, WritesToAFile) {
  const TemporaryFile file("small.yaml", kSmall);
  const TemporaryFile result("result.json", "");
  const Outcome run = cnuas_sim("run " + file.path() + " --format json -o " + result.path());
  EXPECT_EQ(run.status, 0);
  EXPECT_EQ(run.out, "");
  EXPECT_EQ(nlohmann::json::parse(read_file(result.path()))["results"].size(), 1u);
}

TEST(Run, ChecksAreReportedOnStandardError) {
  const TemporaryFile file("small.yaml", kSmall);
  const Outcome run = cnuas_sim("run --check-model --check-determinism --format json " + file.path());
  EXPECT_EQ(run.status, 0);
  EXPECT_TRUE(nlohmann::json::accept(run.out));
  EXPECT_THAT(run.err, HasSubstr("model: ok   all_reduce ring 1800000 B: 12000000 ps = 2(N-1)(a + m/N)"));
  EXPECT_THAT(run.err, HasSubstr("determinism: two runs gave the same"));
}

TEST(Run, SimGridCanBeGivenEveryFlow) {
  const TemporaryFile file("small.yaml", kSmall);
  EXPECT_THAT(cnuas_sim("run --simgrid-flows " + file.path()).out, HasSubstr("12.000"));
}

nlohmann::json results_of(const std::string& arguments) {
  const Outcome run = cnuas_sim("run --format json " + arguments);
  EXPECT_EQ(run.status, 0) << run.err;
  return nlohmann::json::parse(run.out, nullptr, false).value("results", nlohmann::json::array());
}

// What its help and docs/timing.md say of it.
TEST(Run, SimGridAgreesWithTheCoresOwnSharingAsCloselyAsHelpSays) {
  EXPECT_THAT(words(cnuas_sim("run --help").out),
              HasSubstr("times agree to a nanosecond, but those of trees only to 1.3 %"));
  std::size_t trees = 0;
  for (const char* name : {"background-traffic", "every-collective", "explicit-graph", "mixed-sizes",
                           "one-rack", "pure-pipe", "spine-eight-racks", "training-step", "two-racks"}) {
    const std::string file = "scenarios/" + std::string(name) + ".yaml";
    const nlohmann::json own = results_of(file);
    const nlohmann::json all = results_of("--simgrid-flows " + file);
    ASSERT_FALSE(own.empty()) << file;
    ASSERT_EQ(own.size(), all.size()) << file;
    for (std::size_t i = 0; i < own.size(); ++i) {
      const double expected = own[i]["time_ps"].get<double>();
      const bool tree = own[i]["algorithm"].get<std::string>().find("tree") != std::string::npos;
      trees += tree;
      EXPECT_NEAR(all[i]["time_ps"].get<double>(), expected, tree ? 0.013 * expected : 1000)
          << file << ": " << own[i]["collective"] << " " << own[i]["algorithm"] << " "
          << own[i]["size_bytes"];
    }
  }
  EXPECT_GT(trees, 0u);
}

TEST(Run, UsageErrorsAreTwo) {
  EXPECT_EQ(cnuas_sim("run").status, 2);
  EXPECT_EQ(cnuas_sim("run a.yaml --format xml").status, 2);
  EXPECT_EQ(cnuas_sim("run a.yaml --no-such-option").status, 2);
  EXPECT_EQ(cnuas_sim("fly").status, 2);
}

TEST(Run, TwoRunsGiveTheSameBytes) {
  const Outcome first = cnuas_sim("run scenarios/background-traffic.yaml --format json");
  const Outcome second = cnuas_sim("run scenarios/background-traffic.yaml --format json");
  EXPECT_EQ(first.status, 0) << first.err;
  EXPECT_EQ(first.out, second.out);
}

}  // namespace
}  // namespace cnuas::test
