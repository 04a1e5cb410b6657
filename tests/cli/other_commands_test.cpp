// The commands that do not simulate.
#include "tests/cli/process.h"

#include <sstream>

#include <nlohmann/json.hpp>

namespace cnuas::test {
namespace {

using ::testing::HasSubstr;

TEST(CommandLine, WithoutArgumentsShowsTwoExamples) {
  const Outcome run = cnuas_sim("");
  EXPECT_EQ(run.status, 0);
  EXPECT_THAT(run.out, HasSubstr("cnuas-sim run scenarios/two-racks.yaml"));
  EXPECT_THAT(run.out, HasSubstr("cnuas-sim schedule print all_reduce ring --ranks 4"));
}

TEST(CommandLine, HelpNamesCommandsAndExitCodes) {
  const Outcome run = cnuas_sim("--help");
  EXPECT_EQ(run.status, 0);
  for (const char* word : {"run", "validate", "schedule", "schema", "Exit codes"})
    EXPECT_THAT(run.out, HasSubstr(word));
  for (const char* command : {"run", "validate", "schedule", "schedule print", "schedule verify", "schema"}) {
    EXPECT_EQ(cnuas_sim(std::string(command) + " --help").status, 0) << command;
  }
}

// What follows an option in help, up to its description.
std::string shown(const std::string& command, const std::string& option) {
  std::istringstream words(cnuas_sim(command + " --help").out);
  std::string word;
  while (words >> word && word != option)
    continue;
  words >> word;
  return word;
}

TEST(CommandLine, HelpShowsTheWordsOfAChoice) {
  EXPECT_EQ(shown("run", "--format"), "table|json|csv");
  EXPECT_EQ(shown("graph", "--format"), "svg|dot|mermaid");
  for (const char* command :
       {"validate", "schedule print", "schedule verify", "inspect fabric", "inspect topo", "inspect routes",
        "inspect fdb", "inspect groups", "inspect ports"})
    EXPECT_EQ(shown(command, "--format"), "table|json") << command;
}

TEST(CommandLine, HelpNamesTheDefaultOfAChoice) {
  EXPECT_THAT(cnuas_sim("run --help").out, HasSubstr("How the results are written (default: table)"));
}

TEST(CommandLine, RefusesAnotherWordByNamingTheChoice) {
  const Outcome run = cnuas_sim("run scenarios/one-rack.yaml --format xml");
  EXPECT_EQ(run.status, 2);
  EXPECT_THAT(run.err, HasSubstr("--format: 'xml' is not one of table|json|csv"));
  EXPECT_EQ(cnuas_sim("graph scenarios/one-rack.yaml --format 1").status, 2);
  EXPECT_EQ(cnuas_sim("validate scenarios/one-rack.yaml --format csv").status, 2);
}

TEST(CommandLine, VersionNamesTheCommit) {
  EXPECT_THAT(cnuas_sim("--version").out, HasSubstr("SimGrid 3."));
}

TEST(Validate, TellsWhatAFileHolds) {
  const Outcome run = cnuas_sim("validate scenarios/*.yaml");
  EXPECT_EQ(run.status, 0) << run.err;
  EXPECT_THAT(run.out, HasSubstr("scenarios/two-racks.yaml: ok: 16 GPUs, 2 switches"));
}

TEST(Validate, ReportsEveryErrorOfEveryFile) {
  const TemporaryFile one("one.yaml", "scenario: one\nfabrik: {}\n");
  const TemporaryFile two("two.yaml", "[");
  const Outcome run = cnuas_sim("validate " + one.path() + " " + two.path() + " scenarios/one-rack.yaml");
  EXPECT_EQ(run.status, 3);
  EXPECT_THAT(run.err, HasSubstr("one.yaml:2:1: error: unknown key 'fabrik'"));
  EXPECT_THAT(run.err, HasSubstr("two.yaml:"));
  EXPECT_THAT(run.out, HasSubstr("scenarios/one-rack.yaml: ok"));
}

TEST(Validate, SpeaksJson) {
  const TemporaryFile one("one.yaml", "scenario: one\nfabrik: {}\n");
  const Outcome run = cnuas_sim("validate --format json " + one.path());
  EXPECT_EQ(run.status, 3);
  const nlohmann::json document = nlohmann::json::parse(run.out);
  EXPECT_EQ(document["schema"], "cnuas.validate/1");
  EXPECT_EQ(document["files"][0]["ok"], false);
  std::vector<int> lines;
  for (const auto& each : document["files"][0]["diagnostics"])
    lines.push_back(each["line"]);
  EXPECT_THAT(lines, ::testing::Contains(2));
}

TEST(Validate, AMissingFileIsAnInputError) {
  EXPECT_EQ(cnuas_sim("validate /nonexistent.yaml").status, 4);
}

TEST(Schema, IsJsonAndIsTheOneShipped) {
  const Outcome run = cnuas_sim("schema");
  EXPECT_EQ(run.status, 0);
  EXPECT_TRUE(nlohmann::json::accept(run.out));
  EXPECT_EQ(run.out, read_file(CNUAS_SOURCE_DIR "/scenarios/scenario.schema.json"));
}

TEST(Schedule, PrintsWhoSendsWhatToWhom) {
  const Outcome run = cnuas_sim("schedule print all_reduce ring --ranks 3 --count 3 --rank 0");
  EXPECT_EQ(run.status, 0) << run.err;
  EXPECT_THAT(run.out, HasSubstr("rank 0"));
  EXPECT_THAT(run.out, HasSubstr("to rank 1"));
  EXPECT_THAT(run.out, HasSubstr("from rank 2"));
  EXPECT_THAT(run.out, ::testing::Not(HasSubstr("rank 3")));
}

TEST(Schedule, PrintsJson) {
  const Outcome run = cnuas_sim("schedule print broadcast all --ranks 4 --root 2 --format json");
  ASSERT_EQ(run.status, 0) << run.err;
  const nlohmann::json document = nlohmann::json::parse(run.out);
  EXPECT_EQ(document["schedules"].size(), 3u);
  EXPECT_EQ(document["schedules"][0]["programs"].size(), 4u);
}

TEST(Schedule, VerifiesAndTellsTheFoldOrder) {
  const Outcome run = cnuas_sim("schedule verify all_reduce all --ranks 5");
  EXPECT_EQ(run.status, 0) << run.err;
  EXPECT_THAT(run.out, HasSubstr("all_reduce direct, 5 ranks"));
  EXPECT_THAT(run.out, HasSubstr("; canonical, folds (((r0+r1)+r2)+r3)+r4"));
  EXPECT_THAT(run.out, HasSubstr("not canonical, same bits everywhere"));
  EXPECT_THAT(cnuas_sim("schedule verify all_to_all bruck -n 6 --format json").out,
              HasSubstr("\"proved\": true"));
}

TEST(Schedule, WhatDoesNotExistIsAUsageErrorThatTellsWhatDoes) {
  const Outcome unknown = cnuas_sim("schedule verify all_reduce rang --ranks 4");
  EXPECT_EQ(unknown.status, 2);
  EXPECT_THAT(unknown.err, HasSubstr("ring, chain, direct"));
  const Outcome elsewhere = cnuas_sim("schedule print all_reduce bruck --ranks 4");
  EXPECT_EQ(elsewhere.status, 2);
  EXPECT_THAT(elsewhere.err, HasSubstr("ring"));
  EXPECT_EQ(cnuas_sim("schedule print broadcast tree --ranks 4 --root 4").status, 2);
  EXPECT_EQ(cnuas_sim("schedule print all_reduce ring --ranks 0").status, 2);
  EXPECT_EQ(cnuas_sim("schedule print all_reduce ring --ranks 4 --rank 4").status, 2);
}

TEST(Schedule, ACanBePrintedIntoAClosedPipe) {
  const Outcome run =
      shell("'" CNUAS_BINARY_DIR
            "/bin/cnuas-sim' schedule print all_to_all direct --ranks 200 --format json | head -c 100");
  EXPECT_EQ(run.status, 0);
}

}  // namespace
}  // namespace cnuas::test
