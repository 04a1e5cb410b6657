// The command `inspect`, and `run --ports`.
#include "tests/cli/process.h"

#include <map>

#include <nlohmann/json.hpp>

namespace cnuas::test {
namespace {

using nlohmann::json;
using ::testing::HasSubstr;

json inspect(const std::string& arguments) {
  const Outcome run = cnuas_sim("inspect " + arguments + " --format json");
  EXPECT_EQ(run.status, 0) << run.err;
  return run.status == 0 ? json::parse(run.out) : json();
}

std::string small(const std::string& fabric, const std::string& first_line = "") {
  return first_line + "scenario: small\nfabric: " + fabric +
         "\nworkload:\n  - {collective: all_reduce, algorithms: [direct, ring], size: 64 KiB}\n";
}

const char* const kTwoByTwo =
    "{racks: 2, gpus_per_rack: 2, link: nvlink4, inter_switch: {bandwidth: 400 GB/s, latency: 1 us}}";

TEST(InspectTopo, OfTwoRacks) {
  const TemporaryFile file("two.yaml", small(kTwoByTwo));
  EXPECT_EQ(cnuas_sim("inspect topo " + file.path()).out,
            "        GPU1/0  GPU1/1  GPU2/0  GPU2/1  CPU Affinity\n"
            "GPU1/0   X      SW      IS1     IS1     rack 1 host 0\n"
            "GPU1/1  SW       X      IS1     IS1     rack 1 host 0\n"
            "GPU2/0  IS1     IS1      X      SW      rack 2 host 0\n"
            "GPU2/1  IS1     IS1     SW       X      rack 2 host 0\n"
            "\n"
            "Legend:\n"
            "\n"
            "  X    = Self\n"
            "  SW   = By one switch that both are attached to\n"
            "  IS#  = By # cables between switches, on the route that messages take\n"
            "  N/A  = No route\n");
}

TEST(InspectTopo, OfAGraph) {
  const json rows = inspect("topo scenarios/explicit-graph.yaml")["rows"];
  ASSERT_EQ(rows.size(), 10u);
  using Row = std::vector<std::string>;
  EXPECT_EQ(rows[0]["symbols"].get<Row>(),
            (Row{"X", "SW", "SW", "SW", "IS2", "IS2", "IS2", "IS2", "IS3", "IS3"}));
  EXPECT_EQ(rows[5]["symbols"].get<Row>(),
            (Row{"IS2", "IS2", "IS2", "IS2", "SW", "X", "SW", "SW", "IS1", "IS1"}));
  EXPECT_EQ(rows[9]["symbols"].get<Row>(),
            (Row{"IS3", "IS3", "IS3", "IS3", "IS1", "IS1", "IS1", "IS1", "SW", "X"}));
  EXPECT_EQ(rows[9]["gpu"], "3/1");
}

TEST(InspectFabric, HasEverySwitchGpuAndCable) {
  const json fabric = inspect("fabric scenarios/explicit-graph.yaml");
  EXPECT_EQ(fabric["schema"], "cnuas.fabric/1");
  EXPECT_EQ(fabric["switches"].size(), 5u);
  EXPECT_EQ(fabric["gpus"].size(), 10u);
  ASSERT_EQ(fabric["cables"].size(), 5u);
  EXPECT_EQ(fabric["cables"][0]["link"]["bandwidth_bytes_per_s"], 900'000'000'000);
  EXPECT_EQ(fabric["switches"][0]["rack"], 1);
  EXPECT_FALSE(fabric["switches"][3].contains("rack"));
  EXPECT_THAT(cnuas_sim("inspect fabric scenarios/explicit-graph.yaml").out, HasSubstr("slow-spine"));
}

TEST(InspectRoutes, OfOnePair) {
  const json routes = inspect("routes scenarios/two-racks.yaml --from 1/0 --to 2/3")["routes"];
  ASSERT_EQ(routes.size(), 1u);
  EXPECT_EQ(routes[0]["links"], json::parse(R"(["1/0 -> rack1", "rack1 -> rack2", "rack2 -> 2/3"])"));
  // Two links of 300 ns, a cable of 1 us, two switches of 250 ns.
  EXPECT_EQ(routes[0]["latency_ps"], 2'100'000);
  EXPECT_EQ(routes[0]["bottleneck"]["link"], "rack1 -> rack2");
  EXPECT_EQ(routes[0]["bottleneck"]["payload_bytes_per_s"], 400'000'000'000);
}

TEST(InspectRoutes, OfEveryPair) {
  EXPECT_EQ(inspect("routes scenarios/two-racks.yaml")["routes"].size(), 16u * 15u);
  EXPECT_EQ(inspect("routes scenarios/two-racks.yaml --to 2/3")["routes"].size(), 15u);
}

TEST(InspectRoutes, RefusesWhatIsNoRoute) {
  const std::string command = "inspect routes scenarios/two-racks.yaml ";
  const Outcome unknown = cnuas_sim(command + "--from 7/7");
  EXPECT_EQ(unknown.status, 2);
  EXPECT_THAT(unknown.err, HasSubstr("--from: the fabric has no GPU 7/7"));
  EXPECT_EQ(cnuas_sim(command + "--from nonsense").status, 2);
  EXPECT_EQ(cnuas_sim(command + "--from 1/0 --to 1/0").status, 2);
  const Outcome many = cnuas_sim("inspect routes scenarios/thousand-gpus.yaml");
  EXPECT_EQ(many.status, 2);
  EXPECT_THAT(many.err, HasSubstr("--from or --to"));
}

TEST(InspectFdb, KnowsEveryGpuAtEverySwitch) {
  const TemporaryFile file("two.yaml", small(kTwoByTwo));
  const json fdb = inspect("fdb " + file.path());
  EXPECT_EQ(fdb["schema"], "cnuas.fdb/1");
  ASSERT_EQ(fdb["switches"].size(), 2u);
  const json& known = fdb["switches"][0]["entries"];
  ASSERT_EQ(known.size(), 4u);
  EXPECT_EQ(known[1]["gpu"], "1/1");
  EXPECT_EQ(known[1]["port"], 1);
  EXPECT_EQ(known[1]["peer"]["gpu"], "1/1");
  EXPECT_EQ(known[2]["gpu"], "2/0");
  EXPECT_EQ(known[2]["port"], 2);
  EXPECT_EQ(known[2]["peer"]["switch"], "rack2");
  EXPECT_THAT(cnuas_sim("inspect fdb " + file.path()).out, HasSubstr("rack2 by cable 0"));
}

TEST(InspectGroups, OfSwitchesWithoutAny) {
  const TemporaryFile file("two.yaml", small(kTwoByTwo));
  EXPECT_EQ(inspect("groups " + file.path())["switches"][1]["groups"], json::array());
}

TEST(InspectPorts, WhatOneSideSendsTheOtherReceives) {
  const json ports = inspect("ports scenarios/explicit-graph.yaml");
  EXPECT_EQ(ports["schema"], "cnuas.ports/1");
  std::map<int, std::vector<json>> ends;  // by cable
  for (const json& each : ports["switches"]) {
    for (const json& port : each["ports"]) {
      EXPECT_EQ(port["state"], "up");
      EXPECT_EQ(port["rx_drops"], json::object());
      if (port.contains("cable")) ends[port["cable"].get<int>()].push_back(port);
    }
  }
  ASSERT_EQ(ends.size(), 5u);
  std::uint64_t bytes = 0;
  for (const auto& [cable, both] : ends) {
    ASSERT_EQ(both.size(), 2u) << "cable " << cable;
    for (const char* unit : {"frames", "bytes"}) {
      EXPECT_EQ(both[0][std::string("tx_") + unit], both[1][std::string("rx_") + unit]) << "cable " << cable;
      EXPECT_EQ(both[1][std::string("tx_") + unit], both[0][std::string("rx_") + unit]) << "cable " << cable;
    }
    bytes += both[0]["tx_bytes"].get<std::uint64_t>();
  }
  EXPECT_GT(bytes, 0u);
}

TEST(InspectPorts, LeavesOutWhatWasNotMeasured) {
  const TemporaryFile file("one.yaml", small("{gpus_per_rack: 3, link: nvlink4}"));
  const json ports = inspect("ports " + file.path());
  EXPECT_EQ(ports["after"], "all_reduce ring 65536 B");
  for (const json& port : ports["switches"][0]["ports"])
    EXPECT_TRUE(port.contains("latency_us_p50") && port.contains("latency_us_p99"));
  // All GPUs but two stand idle: they have heard no frame that was measured on its way.
  const TemporaryFile idle("idle.yaml",
                           "scenario: idle\nfabric: {gpus_per_rack: 3, link: nvlink4}\nworkload:\n"
                           "  - {collective: all_reduce, algorithm: ring, size: 4 KiB, ranks: 2}\n");
  const json third = inspect("ports " + idle.path())["switches"][0]["ports"][2];
  EXPECT_EQ(third["tx_frames"], 0);
  EXPECT_FALSE(third.contains("latency_us_p50"));
}

TEST(Inspect, FailsAsOtherCommandsDo) {
  EXPECT_EQ(cnuas_sim("inspect").status, 2);
  EXPECT_EQ(cnuas_sim("inspect nonsense scenarios/one-rack.yaml").status, 2);
  for (const std::string view : {"fabric", "routes", "topo", "fdb", "groups", "ports"}) {
    const Outcome help = cnuas_sim("inspect " + view + " --help");
    EXPECT_EQ(help.status, 0);
    EXPECT_THAT(help.out, HasSubstr("cnuas-sim inspect " + view + " scenarios/two-racks.yaml"));
    EXPECT_EQ(cnuas_sim("inspect " + view + " no-such-file.yaml").status, 4);
    EXPECT_EQ(cnuas_sim("inspect " + view + " scenarios/one-rack.yaml --format csv").status, 2);
  }
}

TEST(RunPorts, NeedFrames) {
  const TemporaryFile file("fluid.yaml", small(kTwoByTwo, "fidelity: fluid\n"));
  const Outcome run = cnuas_sim("run --ports " + file.path());
  EXPECT_EQ(run.status, 3);
  EXPECT_EQ(run.out, "");
  EXPECT_THAT(run.err, HasSubstr("'fidelity: frame'"));
  EXPECT_EQ(cnuas_sim("run --ports --format csv " + file.path()).status, 2);
}

TEST(RunPorts, AreThoseThatInspectShows) {
  const TemporaryFile file("frames.yaml", small(kTwoByTwo, "fidelity: frame\n"));
  const Outcome run = cnuas_sim("run --ports --format json " + file.path());
  if (run.err.find("not available") != std::string::npos) GTEST_SKIP() << run.err;
  ASSERT_EQ(run.status, 0) << run.err;
  EXPECT_EQ(json::parse(run.out)["ports"], inspect("ports " + file.path())["switches"]);
  EXPECT_THAT(cnuas_sim("run --ports " + file.path()).out, HasSubstr("# ports of switch rack1"));
}

}  // namespace
}  // namespace cnuas::test
