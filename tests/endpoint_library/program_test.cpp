// cnuas-endpoint as a user runs it: what it does, what it prints and how it ends.

#include "tests/endpoint_library/fixture.h"
#include "tests/switchd/child_process.h"

#include <csignal>
#include <fstream>
#include <sstream>

#include <nlohmann/json.hpp>

namespace cnuas::live::test {
namespace {

using cnuas::test::ChildProcess;
using cnuas::test::eventually;
using cnuas::test::ProgramSettings;
using nlohmann::json;

class Program : public LinkTest {
 protected:
  Program() { start_relay(); }

  struct Run {
    ChildProcess process;
    std::string out;  // paths
    std::string err;
  };
  // Arguments of a mode; --run-dir, --port and --gpu are added.
  Run start(unsigned port, std::vector<std::string> arguments) {
    Run run;
    run.out = run_dir() + "/out" + std::to_string(++runs_);
    run.err = run_dir() + "/err" + std::to_string(runs_);
    ProgramSettings settings;
    settings.command = {CNUAS_BINARY_DIR "/bin/cnuas-endpoint"};
    settings.command.insert(settings.command.end(), arguments.begin(), arguments.end());
    settings.command.insert(settings.command.end(), {"--run-dir", run_dir(), "--port", std::to_string(port),
                                                     "--gpu", "1/" + std::to_string(port + 1)});
    settings.output_file = run.out;
    settings.error_file = run.err;
    Result<ChildProcess> process = ChildProcess::start(settings);
    EXPECT_TRUE(process);
    if (process) run.process = std::move(*process);
    return run;
  }
  // Until the switch knows the endpoint at a port.
  void await(unsigned port) {
    EXPECT_TRUE(eventually([&] {
      bool known = false;
      relay_->with_switch([&](fabric_switch::Switch& self) {
        known = self.status(static_cast<fabric_switch::PortIndex>(port)).gpu != kNoGpu;
      });
      return known;
    }));
  }
  std::uint64_t frames(unsigned port, std::uint64_t fabric_switch::TypeCounters::*counter) {
    std::uint64_t value = 0;
    relay_->with_switch([&](fabric_switch::Switch& self) {
      value = self.counters(static_cast<fabric_switch::PortIndex>(port))
                  .by_type[static_cast<std::size_t>(wire::FrameType::data)].*
              counter;
    });
    return value;
  }
  static std::string text_of(const std::string& path) {
    std::ifstream in(path);
    std::ostringstream text;
    text << in.rdbuf();
    return text.str();
  }
  static json summary_of(Run& run, int status) {
    EXPECT_EQ(run.process.wait(), status) << text_of(run.err);
    const json summary = json::parse(text_of(run.out), nullptr, false);
    EXPECT_TRUE(summary.is_object()) << text_of(run.out);
    EXPECT_EQ(summary.value("schema", ""), "cnuas-endpoint/1");
    return summary;
  }
  json finish(Run& run, int status = 0) {
    run.process.signal(SIGTERM);
    return summary_of(run, status);
  }

  int runs_ = 0;
};

TEST_F(Program, EchoAnswersAndPingMeasures) {
  Run echo = start(1, {"echo", "--json"});
  await(1);
  Run ping = start(
      0, {"ping", "--to", "1/2", "--count", "200", "--bytes", "64,1500,60000", "--json", "--timeout", "60s"});
  const json measured = summary_of(ping, 0);
  EXPECT_EQ(measured["sent"], 200);
  EXPECT_EQ(measured["received"], 200);
  EXPECT_EQ(measured["unanswered"], 0);
  EXPECT_EQ(measured["round_trip_us"]["count"], 200);
  EXPECT_LE(measured["round_trip_us"]["least"], measured["round_trip_us"]["most"]);
  EXPECT_GT(measured["round_trip_us"]["p50"], 0);
  EXPECT_LE(measured["round_trip_us"]["p50"], measured["round_trip_us"]["p99"]);
  const json answered = finish(echo);
  EXPECT_EQ(answered["sent"], 200);
  EXPECT_EQ(answered["sent_bytes"], measured["sent_bytes"]);
}

TEST_F(Program, APingWithoutAnEchoFails) {
  Run ping = start(0, {"ping", "--to", "1/2", "--count", "2", "--timeout", "20ms"});
  EXPECT_EQ(ping.process.wait(), 1);
  EXPECT_NE(text_of(ping.out).find("answered   0 of 2"), std::string::npos) << text_of(ping.out);
}

TEST_F(Program, WhatIsBlastedArrivesInTheSink) {
  Run sink = start(1, {"sink", "--count", "5000", "--json"});
  await(1);
  Run blast = start(0, {"blast", "--to", "1/2", "--count", "5000", "--bytes", "1,4KiB,10", "--json"});
  const json sent = summary_of(blast, 0);
  const json received = summary_of(sink, 0);
  EXPECT_EQ(sent["sent"], 5000);
  EXPECT_EQ(sent["sent_bytes"], 1667 + 1667 * 4096 + 1666 * 10);
  EXPECT_EQ(received["received"], 5000);
  EXPECT_EQ(received["received_bytes"], sent["sent_bytes"]);
  EXPECT_EQ(received["link"]["frames_received"], 5000);
}

TEST_F(Program, BlastKeepsARateAndATime) {
  const LinkHandle b = open(1);
  Run blast = start(0, {"blast", "--to", "1/2", "--seconds", "0.3", "--rate", "100", "--json"});
  const json sent = summary_of(blast, 0);
  EXPECT_GE(sent["seconds"], 0.3);
  EXPECT_GE(sent["sent"], 1);
  EXPECT_LE(sent["sent"], 100 * sent["seconds"].get<double>() + 1);
}

TEST_F(Program, ASinkEndsWhenItIsIdle) {
  Run sink = start(1, {"sink", "--idle", "50ms"});
  EXPECT_EQ(sink.process.wait(), 0);
}

TEST_F(Program, APatternIsCheckedToTheLastByte) {
  Run verify = start(1, {"pattern", "--verify", "--json"});
  await(1);
  Run send = start(0, {"pattern", "--to", "1/2", "--count", "2000", "--json"});
  EXPECT_EQ(summary_of(send, 0)["sent"], 2000);
  const json checked = summary_of(verify, 0);
  EXPECT_EQ(checked["received"], 2000);
  for (const char* error : {"lost", "duplicated", "out_of_order", "corrupt"})
    EXPECT_EQ(checked["errors"][error], 0) << error;
}

TEST_F(Program, APatternWithoutACountEndsWell) {
  Run verify = start(1, {"pattern", "--verify", "--json"});
  await(1);
  Run send = start(0, {"pattern", "--to", "1/2", "--json", "--bytes", "0,33,65524"});
  EXPECT_TRUE(eventually([&] { return frames(0, &fabric_switch::TypeCounters::rx_frames) > 50; }));
  const json sent = finish(send);
  EXPECT_EQ(summary_of(verify, 0)["received"], sent["sent"]);
}

// Between sender and checker stands one that does everything wrong.
TEST_F(Program, APatternThatIsDisturbedIsReported) {
  const LinkHandle middle = open(1);
  Run send = start(0, {"pattern", "--to", "1/2", "--count", "100", "--bytes", "40"});
  std::vector<std::string> messages;
  for (int i = 0; i < 100; ++i)
    messages.push_back(receive(middle, gpu(0)).text);
  EXPECT_EQ(send.process.wait(), 0);
  Run verify = start(2, {"pattern", "--verify", "--json", "--from", "1/2"});
  await(2);
  std::swap(messages[10], messages[11]);                         // out of order
  messages[20][39] = static_cast<char>(messages[20][39] ^ 1);    // changed, so that its number never comes
  messages.insert(messages.begin() + 30, messages[29]);          // doubled
  messages.erase(messages.begin() + 50, messages.begin() + 53);  // lost
  messages.insert(messages.begin() + 60, "something else");
  for (const std::string& each : messages)
    ASSERT_EQ(this->send(middle, gpu(2), each), CNUASLINK_OK);
  const json checked = summary_of(verify, 1);
  EXPECT_EQ(checked["errors"]["out_of_order"], 1);
  EXPECT_EQ(checked["errors"]["corrupt"], 1);
  EXPECT_EQ(checked["errors"]["duplicated"], 1);
  EXPECT_EQ(checked["errors"]["lost"], 4);  // with the one that was changed
  EXPECT_EQ(checked["unexpected"], 1);
}

TEST_F(Program, APatternWhoseEndIsMissingIsReportedWhenIdle) {
  const LinkHandle middle = open(1);
  Run send = start(0, {"pattern", "--to", "1/2", "--count", "10", "--bytes", "40"});
  Run verify = start(2, {"pattern", "--verify", "--json", "--idle", "200ms"});
  await(2);
  for (int i = 0; i < 10; ++i) {
    const Received received = receive(middle, gpu(0));
    if (i >= 8) break;
    ASSERT_EQ(this->send(middle, gpu(2), received.text), CNUASLINK_OK);
  }
  const json checked = summary_of(verify, 1);
  EXPECT_EQ(checked["received"], 8);
  EXPECT_EQ(checked["errors"]["lost"], 2);
}

TEST_F(Program, OneSlotHoldsOneMessageAndReadsNoOther) {
  Run slot = start(1, {"one-slot", "--hold", "100s", "--json"});
  await(1);
  const LinkHandle a = open(0);
  const std::string large(60'000, 'x');
  // All that sockets and queues hold, and one in the slot: then nothing moves any more.
  while (send(a, gpu(1), large, 4 * kShort) == CNUASLINK_OK) {
  }
  const json summary = finish(slot);
  EXPECT_EQ(summary["received"], 1);
  EXPECT_EQ(summary["link"]["frames_received"], 1);
}

TEST_F(Program, OneSlotGoesOnAfterTheHold) {
  Run slot = start(1, {"one-slot", "--hold", "1ms", "--count", "20", "--json"});
  await(1);
  const LinkHandle a = open(0);
  for (int i = 0; i < 20; ++i)
    ASSERT_EQ(send(a, gpu(1), "x"), CNUASLINK_OK);
  const json summary = summary_of(slot, 0);
  EXPECT_EQ(summary["received"], 20);
  EXPECT_GE(summary["seconds"], 0.02);
}

TEST_F(Program, SignalsEndItWithItsSummary) {
  for (const int signal : {SIGINT, SIGTERM}) {
    Run sink = start(1, {"sink"});
    await(1);
    sink.process.signal(signal);
    EXPECT_EQ(sink.process.wait(), 0);
    EXPECT_NE(text_of(sink.out).find("sink as GPU 1/2"), std::string::npos) << text_of(sink.out);
    EXPECT_EQ(text_of(sink.err), "");  // no progress: it is no terminal
    relay_->with_switch([](fabric_switch::Switch&) {});
  }
}

TEST_F(Program, TheSwitchThatGoesEndsItUnlessItReconnects) {
  Run hasty = start(1, {"echo", "--json"});
  Run patient = start(2, {"echo", "--reconnect", "--json"});
  const auto answers = [&](const LinkHandle& link, unsigned port) {
    await(port);
    ASSERT_EQ(send(link, gpu(port), "there?"), CNUASLINK_OK);
    ASSERT_EQ(receive(link, gpu(port)).text, "there?");
  };
  {
    const LinkHandle a = open(0);
    answers(a, 1);
    answers(a, 2);
  }
  relay_.reset();
  const json ended = summary_of(hasty, 4);
  EXPECT_EQ(ended["failure"], "the link is down");
  EXPECT_EQ(ended["received"], 1);
  EXPECT_NE(text_of(hasty.err).find("error: the link is down"), std::string::npos);
  start_relay();
  const LinkHandle a = open(0);
  answers(a, 2);
  const json summary = finish(patient);
  EXPECT_EQ(summary["link"]["connects"], 2);
  EXPECT_EQ(summary["received"], 2);
}

TEST_F(Program, UsageErrorsAndTroubleHaveTheirExitCodes) {
  const auto status_of = [&](std::vector<std::string> arguments) {
    Run run = start(1, std::move(arguments));
    return run.process.wait().value_or(-1);
  };
  EXPECT_EQ(status_of({"blast"}), 2);
  EXPECT_EQ(status_of({"no-such-mode"}), 2);
  EXPECT_EQ(status_of({"blast", "--to", "nobody"}), 2);
  EXPECT_EQ(status_of({"blast", "--to", "1/2"}), 2);  // itself
  EXPECT_EQ(status_of({"blast", "--to", "1/1", "--bytes", "65525"}), 2);
  EXPECT_EQ(status_of({"blast", "--to", "1/1", "--bytes", "1 parsec"}), 2);
  EXPECT_EQ(status_of({"sink", "--idle", "5"}), 2);  // a time needs a unit
  EXPECT_EQ(status_of({"pattern"}), 2);
  EXPECT_EQ(status_of({"pattern", "--to", "1/1", "--verify"}), 2);
  EXPECT_EQ(status_of({"--help"}), 0);
  EXPECT_EQ(status_of({"blast", "--help"}), 0);
  const LinkHandle holder = open(1);
  EXPECT_EQ(status_of({"sink"}), 4);  // busy
  EXPECT_EQ(status_of({"sink", "--socket", run_dir() + "/nothing"}), 4);
}

TEST_F(Program, WithoutArgumentsItShowsExamples) {
  ProgramSettings settings;
  settings.command = {CNUAS_BINARY_DIR "/bin/cnuas-endpoint"};
  settings.output_file = run_dir() + "/out";
  Result<ChildProcess> process = ChildProcess::start(settings);
  ASSERT_TRUE(process);
  EXPECT_EQ(process->wait(), 0);
  EXPECT_NE(text_of(settings.output_file).find("cnuas-endpoint echo --run-dir"), std::string::npos);
}

}  // namespace
}  // namespace cnuas::live::test
