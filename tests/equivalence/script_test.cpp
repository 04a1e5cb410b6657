// Scripts: what may be written, what is refused where, and that they can be written out again.
#include "tests/cli/process.h"
#include "tests/equivalence/daemons.h"
#include "tests/equivalence/random_script.h"

namespace cnuas::equivalence {
namespace {

using ::testing::HasSubstr;

const char* const kHead =
    "equivalence: test\nfabric: fabrics/one-rack-watched.yaml\nsteps:\n  - connect: 1/0\n";

std::string errors_of(const std::string& yaml) {
  const ReadScript read = read_script(yaml, source("test.yaml"));
  std::string text = read.io_error;
  for (const scenarios::Diagnostic& each : read.diagnostics)
    text += std::to_string(each.line) + ": " + each.message + "\n";
  EXPECT_EQ(read.script.has_value(), text.empty());
  return text;
}

TEST(Scripts, AreReadAsTheyAreWritten) {
  const ReadScript read = read_script(
      std::string(kHead) +
          "  - {connect: 1/1, announce: false}\n"
          "  - {send: ATOMIC, from: 1/0, to: all, as: 1/3, bytes: 1 KiB, order: little, repeat: 3}\n"
          "  - {malformed: oversize, from: 1/1}\n"
          "  - {raw: \"4C 48 01\", from: 1/1}\n"
          "  - {set: down, port: 1/2}\n",
      source("test.yaml"));
  ASSERT_TRUE(read.script);
  const std::vector<Step>& steps = read.script->steps;
  ASSERT_EQ(steps.size(), 6u);
  EXPECT_EQ(steps[1].line, 5);
  EXPECT_FALSE(std::get<Connect>(steps[1].what).announce);
  const Send& send = std::get<Sends>(steps[2].what).sends.at(0);
  const WellFormed& frame = std::get<WellFormed>(send.what);
  EXPECT_EQ(send.repeat, 3u);
  EXPECT_EQ(frame.type, wire::FrameType::atomic);
  EXPECT_EQ(frame.source, GpuId{0x0103});
  EXPECT_EQ(frame.destination, kBroadcast);
  EXPECT_EQ(frame.payload_bytes, 1024u);
  EXPECT_EQ(frame.order, wire::ByteOrder::little);
  EXPECT_EQ(std::get<Malformed>(std::get<Sends>(steps[3].what).sends.at(0).what).bytes, 65'537u);
  const std::vector<std::byte> raw{std::byte{0x4C}, std::byte{0x48}, std::byte{1}};
  EXPECT_EQ(std::get<RawBytes>(std::get<Sends>(steps[4].what).sends.at(0).what).bytes, raw);
  EXPECT_FALSE(std::get<SetPort>(steps[5].what).up);
}

TEST(Scripts, AreRefusedWithTheLine) {
  const std::vector<std::pair<const char*, const char*>> cases = {
      {"  - {conect: 1/1}\n", "5: unknown key 'conect' in step"},
      {"  - {connect: 1/0}\n", "5: GPU 1/0 is connected already"},
      {"  - {connect: 1/9}\n", "5: the fabric has no GPU 1/9"},
      {"  - {disconnect: 1/1}\n", "5: GPU 1/1 is not connected here"},
      {"  - {send: DATA, from: 1/1, to: 1/0}\n", "5: GPU 1/1 is not connected here"},
      {"  - {send: DATA, from: 1/0}\n", "5: missing key 'to' in send"},
      {"  - {send: DAT, from: 1/0, to: 1/1}\n", "5: unknown type of frame 'DAT'"},
      {"  - {send: DATA, from: 1/0, to: 1/1, bytes: 65525 B}\n",
       "5: a frame has at most 65524 bytes of payload"},
      {"  - {send: DATA, from: 1/0, to: 1/1, repeat: 0}\n", "5: 'repeat' is out of range"},
      {"  - {send: DATA, from: 1/0, to: 1/1, bytes: 60 KiB, repeat: 9999}\n",
       "5: this sends more than 256 MiB"},
      {"  - {malformed: short_header, from: 1/0, bytes: 12 B}\n", "5: this is no size of such a message"},
      {"  - {malformed: bad_magic, from: 1/0, bytes: 1 B}\n", "5: this is no size of such a message"},
      {"  - {raw: 4C4, from: 1/0}\n", "5: 'raw' has half a byte at its end"},
      {"  - {raw: xy, from: 1/0}\n", "5: 'raw' takes hexadecimal digits"},
      {"  - {reader: go, gpu: 1/0}\n", "5: its reader has not stopped"},
      {"  - {set: down, uplink_of: 1}\n", "5: the fabric has one switch"},
      {"  - {set: down}\n", "5: missing key 'port' or 'uplink_of'"},
      {"  - {clear_telemetry_of: 2}\n", "5: the fabric has no rack 2"},
      {"  - {create_group: 7up, rack: 1, gpus: [1/0]}\n", "5: a group's name is made of"},
      {"  - {together: [{raw: 00, from: 1/0}, {raw: 01, from: 1/0}]}\n", "5: "},
      {"  - connect: 1/1\n  - {reader: stop, gpu: 1/1}\n  - together:\n"
       "      - {send: DATA, from: 1/0, to: 1/1}\n      - {send: DATA, from: 1/1, to: 1/0}\n",
       "7: a reader has stopped, and several GPUs send at the same time"},
      {"  - connect: 1/1\n  - together:\n      - {send: DATA, from: 1/0, to: 1/1, order: little}\n"
       "      - {send: DATA, from: 1/1, to: 1/0}\n",
       "7: a GPU changes its byte order while others send"},
  };
  for (const auto& [step, error] : cases)
    EXPECT_THAT(errors_of(kHead + std::string(step)), HasSubstr(error)) << step;
}

TEST(Scripts, SayWhatIsWrongWithTheirFabric) {
  const auto with = [](const std::string& fabric) {
    return errors_of("equivalence: test\nfabric: " + fabric + "\nsteps:\n  - connect: 1/0\n");
  };
  EXPECT_THAT(with("none.yaml"), HasSubstr("2: cannot open"));
  EXPECT_THAT(with("scripts/one-rack.yaml"), HasSubstr("2: the fabric's file has errors"));
  EXPECT_THAT(with("../../scenarios/spine-eight-racks.yaml"), HasSubstr("2: two switches with one link"));
  EXPECT_THAT(read_script_file(source("none.yaml")).io_error, HasSubstr("cannot read"));
  EXPECT_THAT(read_script_file(source("scripts")).io_error, HasSubstr("cannot read"));
}

TEST(Scripts, ReadersOnlyStopWhereTheWatchdogIsSoonOrLate) {
  const auto with = [](const std::string& scenario) {
    return errors_of("equivalence: test\nfabric: " + scenario +
                     "\nsteps:\n  - connect: 1/0\n  - {reader: stop, gpu: 1/0}\n");
  };
  EXPECT_EQ(with("fabrics/one-rack-held.yaml"), "");
  EXPECT_EQ(with("../../scenarios/one-rack.yaml"), "");
  const test::TemporaryFile neither(
      "neither.yaml",
      "scenario: neither\n"
      "fabric: {gpus_per_rack: 2, link: nvlink4, switch: {stall_timeout: 10 s}}\n"
      "fidelity: frame\n"
      "workload:\n  - {collective: all_reduce, sizes: [4096 B]}\n");
  EXPECT_THAT(with(neither.path()), HasSubstr("5: a reader can only stop where"));
}

TEST(Scripts, HostileFilesAreErrors) {
  for (const std::string yaml :
       {"", "[", "- 1", "equivalence: [1]", "\xFF\xFE", "steps: {a: &a [*a]}",
        "equivalence: x\nfabric: 5\nsteps: 7\n", "equivalence: x\nfabric: /\nsteps: []\n"})
    EXPECT_NE(errors_of(yaml), "") << yaml;
}

TEST(RandomScripts, CanBeWrittenOutAndReadAgain) {
  for (const char* name : {"one-rack-watched", "one-rack-held", "two-racks-watched", "two-racks-held"}) {
    const std::string path = source(std::string("fabrics/") + name + ".yaml");
    const Fabric fabric = scenarios::load_file(path).load.scenario->fabric;
    for (std::uint64_t seed = 0; seed < 40; ++seed) {
      const std::string text = to_yaml(random_script(fabric, path, seed, 100));
      const ReadScript read = read_script(text, "random.yaml");
      for (const scenarios::Diagnostic& each : read.diagnostics)
        ADD_FAILURE() << scenarios::format(each);
      ASSERT_TRUE(read.script) << text;
      EXPECT_EQ(to_yaml(*read.script), text);
      EXPECT_EQ(to_yaml(random_script(fabric, path, seed, 100)), text);
    }
  }
}

// Every kind of malformed message is just that.
TEST(Messages, AreWrongInTheWayTheySay) {
  const std::vector<std::pair<wire::FrameError, std::uint32_t>> kinds = {
      {wire::FrameError::empty, 0},         {wire::FrameError::short_header, 1},
      {wire::FrameError::short_header, 11}, {wire::FrameError::oversize, 65'537},
      {wire::FrameError::bad_magic, 0},     {wire::FrameError::bad_version, 0},
      {wire::FrameError::unknown_type, 0},  {wire::FrameError::length_mismatch, 7},
      {wire::FrameError::bad_source, 0},    {wire::FrameError::bad_destination, 0}};
  for (const auto& [wrong, bytes] : kinds) {
    const auto decoded = wire::decode(message_bytes(Send{0, Malformed{wrong, bytes}}, 1));
    ASSERT_FALSE(decoded) << wire::name(wrong);
    EXPECT_EQ(decoded.error(), wrong) << wire::name(wrong);
  }
}

}  // namespace
}  // namespace cnuas::equivalence
