// Against real daemons: that differences are found there too, and what happens when a daemon cannot be run.
#include "tests/cli/process.h"
#include "tests/equivalence/daemons.h"
#include "tests/equivalence/equivalence.h"

#include <filesystem>

#include <nlohmann/json.hpp>

namespace cnuas::equivalence {
namespace {

using ::testing::HasSubstr;

std::string differences(const std::string& fabric, const std::string& simulated, const std::string& live) {
  const Script here = script_of(fabric, simulated);
  const Script there = script_of(fabric, live);
  const Result<Verdict> verdict = compare_sides(here, there, built_daemon());
  if (!verdict) return verdict.error().message;
  std::string text;
  for (const Difference& each : verdict->differences)
    text += to_text(each) + "\n";
  return text;
}

const std::string kConnected = "  - connect: 1/0\n  - connect: 1/1\n";

TEST(Daemons, DoAsTheSimulatorDoes) {
  const std::string steps = kConnected + "  - {send: DATA, from: 1/0, to: 1/1, repeat: 3}\n";
  EXPECT_EQ(differences("one-rack-watched", steps, steps), "");
}

TEST(Daemons, OneFrameMoreIsFound) {
  const std::string found =
      differences("one-rack-watched", kConnected + "  - {send: DATA, from: 1/0, to: 1/1, repeat: 3}\n",
                  kConnected + "  - {send: DATA, from: 1/0, to: 1/1, repeat: 4}\n");
  EXPECT_THAT(found, HasSubstr("rack1 port 0, DATA, rx_frames: 3 in the simulator, 4 in the daemon"));
  EXPECT_THAT(found, HasSubstr("rack1 port 1, DATA, tx_bytes: 228 in the simulator, 304 in the daemon"));
  EXPECT_THAT(found, HasSubstr("1/1, frames read from 1/0: 3 in the simulator, 4 in the daemon"));
}

TEST(Daemons, AnotherTypeReasonOrReceiverIsFound) {
  const auto one = [](const std::string& step) {
    return kConnected + "  - connect: 1/2\n  - " + step + "\n";
  };
  EXPECT_THAT(differences("one-rack-watched", one("{send: ATOMIC, from: 1/0, to: 1/1}"),
                          one("{send: DOORBELL, from: 1/0, to: 1/1, bytes: 24 B}")),
              HasSubstr("rack1 port 1, DOORBELL, tx_frames: 0 in the simulator, 1 in the daemon"));
  EXPECT_THAT(differences("one-rack-watched", one("{malformed: bad_magic, from: 1/0}"),
                          one("{malformed: bad_version, from: 1/0}")),
              HasSubstr("rack1 port 0, INVALID, rx_drops bad_version: 0 in the simulator, 1 in the daemon"));
  EXPECT_THAT(differences("one-rack-watched", one("{send: DATA, from: 1/0, to: 1/1}"),
                          one("{send: DATA, from: 1/0, to: 1/2}")),
              HasSubstr("1/2, frames read from 1/0: 0 in the simulator, 1 in the daemon"));
  EXPECT_THAT(differences("one-rack-watched", one("{send: DATA, from: 1/0, to: 1/1}"),
                          one("{send: DATA, from: 1/0, to: 1/1, order: little}")),
              HasSubstr("rack1 port 0, byte_order: big in the simulator, little in the daemon"));
}

TEST(Daemons, AnotherTableIsFound) {
  EXPECT_THAT(
      differences("two-racks-watched", kConnected, "  - connect: 1/0\n  - connect: 1/2\n"),
      HasSubstr("rack2, forwarding database, 1/1: port 8, learned in the simulator, none in the daemon"));
  EXPECT_THAT(
      differences("two-racks-watched", kConnected + "  - {create_group: a, rack: 2, gpus: [1/0]}\n",
                  kConnected + "  - {create_group: b, rack: 2, gpus: [1/0]}\n"),
      HasSubstr("rack2, group table, entry 1: group 1 'a' of 1/0 in the simulator, group 1 'b' of 1/0"));
}

TEST(Daemons, AWatchdogThatDoesNotBarkIsFound) {
  const std::string steps = kConnected + "  - {reader: stop, gpu: 1/1}\n";
  const std::string flood = "  - {send: DATA, from: 1/0, to: 1/1, bytes: 4 KiB, repeat: 50}\n";
  EXPECT_THAT(
      differences("one-rack-watched",
                  steps + "  - {send: DATA, from: 1/0, to: 1/2, bytes: 4 KiB, repeat: 50}\n", steps + flood),
      HasSubstr("rack1 port 1, DATA, tx_drops stalled: 0 in the simulator"));
}

TEST(Daemons, ThatCannotStartAreErrors) {
  const Script script = script_of("one-rack-watched", kConnected);
  LiveOptions options;
  options.daemon = "/bin/false";
  const Result<Verdict> verdict = compare_sides(script, options);
  ASSERT_FALSE(verdict);
  EXPECT_EQ(verdict.error().code, ErrorCode::io);
  EXPECT_THAT(verdict.error().message, HasSubstr("the daemon ended with exit status 1"));
}

// --- the command ---

test::Outcome command(const std::string& arguments) {
  return test::shell("'" CNUAS_BINARY_DIR "/bin/cnuas-equivalence' " + arguments);
}

TEST(Command, SaysThatBothAreTheSame) {
  const test::Outcome outcome = command("tests/equivalence/scripts/malformed.yaml");
  EXPECT_EQ(outcome.status, 0) << outcome.out << outcome.err;
  EXPECT_THAT(outcome.out, HasSubstr(" same\n"));
}

// A daemon that is given another fabric: a rack of three GPUs.
TEST(Command, FindsADaemonThatIsNotTheSame) {
  const std::string fabric =
      "scenario: other\nfabric: {racks: 1, gpus_per_rack: 3, link: nvlink4}\n"
      "workload:\n  - {collective: all_reduce, sizes: [4096 B]}\n";
  const test::TemporaryFile other("other.yaml", fabric);
  const test::TemporaryFile daemon("daemon", "#!/bin/sh\nexec '" CNUAS_BINARY_DIR
                                             "/bin/cnuasgpu-link-switchd' --run-dir \"$2\" "
                                             "--config '" +
                                                 other.path() + "' --rack 1\n");
  std::filesystem::permissions(daemon.path(), std::filesystem::perms::owner_all);
  const test::TemporaryFile script("script.yaml",
                                   "equivalence: test\nfabric: " + source("fabrics/one-rack-watched.yaml") +
                                       "\nsteps:\n  - connect: 1/0\n  - connect: 1/3\n");
  const std::string words = "--daemon '" + daemon.path() + "' '" + script.path() + "'";
  const test::Outcome table = command(words);
  EXPECT_EQ(table.status, 1) << table.out << table.err;
  EXPECT_THAT(table.out, HasSubstr("different after step 1, line 4: connect 1/0"));
  EXPECT_THAT(table.out, HasSubstr("rack1 port 3, gpu: 1/3 in the simulator, none in the daemon"));
  EXPECT_THAT(table.out, HasSubstr("again: cnuas-equivalence "));
  const test::Outcome json = command("--format json " + words);
  EXPECT_EQ(json.status, 1);
  const nlohmann::json document = nlohmann::json::parse(json.out, nullptr, false);
  ASSERT_FALSE(document.is_discarded());
  EXPECT_EQ(document["schema"], "cnuas.equivalence/1");
  EXPECT_EQ(document["scripts"][0]["verdict"], "different");
  EXPECT_EQ(document["scripts"][0]["differences"][0]["port"], 3);
}

TEST(Command, TellsUsageScriptsAndFilesApart) {
  EXPECT_EQ(command("").status, 2);
  EXPECT_EQ(command("--no-such-option").status, 2);
  EXPECT_EQ(command("--random 1").status, 2);
  EXPECT_EQ(command("--format csv tests/equivalence/scripts/malformed.yaml").status, 2);
  const test::TemporaryFile bad(
      "bad.yaml",
      "equivalence: bad\nfabric: " + source("fabrics/one-rack-held.yaml") + "\nsteps:\n  - connnect: 1/0\n");
  const test::Outcome refused = command("'" + bad.path() + "'");
  EXPECT_EQ(refused.status, 3);
  EXPECT_THAT(refused.err, HasSubstr("bad.yaml:4:5: error: unknown key 'connnect' in step"));
  EXPECT_EQ(command("--random 1 --fabric scenarios/spine-eight-racks.yaml").status, 3);
  EXPECT_EQ(command("no-such-file.yaml").status, 4);
  EXPECT_EQ(command("--daemon /no/such/daemon tests/equivalence/scripts/malformed.yaml").status, 4);
  const test::Outcome help = command("--help");
  EXPECT_EQ(help.status, 0);
  EXPECT_THAT(help.out, HasSubstr("Examples:"));
}

TEST(Command, ShowsRandomScripts) {
  const test::Outcome outcome =
      command("--random 2 --seed 7 --steps 20 --show --fabric scenarios/two-racks.yaml");
  EXPECT_EQ(outcome.status, 0);
  EXPECT_THAT(outcome.out, HasSubstr("equivalence: \"seed 8\""));
}

// Everything a switch can drop a frame for, except for what these fabrics cannot bring about.
TEST(Command, ShippedScriptsReachEveryReasonThatCanBeReached) {
  const test::Outcome outcome = command("--format json tests/equivalence/scripts/*.yaml");
  EXPECT_EQ(outcome.status, 0) << outcome.out << outcome.err;
  const nlohmann::json document = nlohmann::json::parse(outcome.out, nullptr, false);
  ASSERT_TRUE(document.is_object());
  std::set<std::string> reasons;
  for (const auto& each : document["scripts"]) {
    for (const auto& reason : each["drop_reasons"])
      reasons.insert(reason.get<std::string>());
  }
  for (std::size_t i = 0; i < fabric_switch::kDropReasons; ++i) {
    const auto reason = static_cast<fabric_switch::DropReason>(i);
    using enum fabric_switch::DropReason;
    const bool out_of_reach =
        reason == duplicate_source || reason == loop || reason == queue_full || reason == announcements;
    EXPECT_EQ(reasons.count(std::string(fabric_switch::name(reason))), out_of_reach ? 0u : 1u)
        << fabric_switch::name(reason);
  }
}

}  // namespace
}  // namespace cnuas::equivalence
