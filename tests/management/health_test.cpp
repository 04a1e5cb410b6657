// How two GPUs reach each other, and what a switch that is not well says.

#include "tests/management/ask.h"

namespace cnuas::live {
namespace {

using wire::FrameType;

// "switch", or "none" with its code.
std::string transport(Desk& desk, const Json& a, const Json& b) {
  const Json result = desk.result({{"command", "peer_query"}, {"a", a}, {"b", b}});
  EXPECT_NE(result.value("reason", ""), "");
  EXPECT_FALSE(result.contains("ivshmem_socket"));
  EXPECT_FALSE(result.contains("region_bytes"));
  EXPECT_EQ(result.contains("reason_code"), result["transport"] == "none");
  return result["transport"].get<std::string>() + (result.contains("reason_code") ? " " : "") +
         result.value("reason_code", "");
}

TEST(PeerQueryTest, GpusOfThisSwitch) {
  Desk desk;
  EXPECT_EQ(transport(desk, "1/1", "1/2"), "none absent");
  desk.managed.connect(0);
  EXPECT_EQ(transport(desk, "1/1", "1/2"), "none absent");
  desk.managed.connect(1);
  EXPECT_EQ(transport(desk, "1/1", 0x0102), "switch");
  const Json result = desk.result({{"command", "peer_query"}, {"a", "0x0101"}, {"b", "1/2"}});
  EXPECT_EQ(result["a"], (Json{{"gpu", {{"name", "1/1"}, {"id", 257}}}, {"port", 0}, {"place", "local"}}));
  EXPECT_EQ(result["b"]["port"], 1);
  EXPECT_EQ(transport(desk, "1/1", "1/1"), "none same_gpu");

  desk.result({{"command", "set_link_state"}, {"port", 1}, {"state", "down"}});
  EXPECT_EQ(transport(desk, "1/1", "1/2"), "none admin_down");
  EXPECT_EQ(transport(desk, "1/2", "1/1"), "none admin_down");
}

TEST(PeerQueryTest, AGpuThatNobodyExpects) {
  Desk desk;
  desk.managed.connect(0);
  EXPECT_EQ(transport(desk, "1/1", "1/9"), "none unknown_gpu");  // it may still come to port 2 or 3
  fabric_switch::SwitchConfig config = small_rack();
  config.ports[2].expected = GpuId{0x0103};
  config.ports[3].expected = GpuId{0x0104};
  Desk taken(config);
  taken.managed.connect(0);
  EXPECT_EQ(transport(taken, "1/1", "1/9"), "none not_expected");
}

TEST(PeerQueryTest, AGpuThatWasLearnedAndIsSilent) {
  fabric_switch::SwitchConfig config = small_rack();
  config.keepalive_timeout_ps = kSecond;
  Desk desk(config);
  desk.managed.connect(0);
  desk.managed.connect(2);
  desk.managed.receive(2, FrameType::discovery, GpuId{0x0103}, kBroadcast);
  EXPECT_EQ(transport(desk, "1/1", "1/3"), "switch");
  desk.managed.pass_time(2 * kSecond);
  EXPECT_EQ(transport(desk, "1/1", "1/3"), "none silent");
  // A port that is taken down forgets whom it has learned.
  desk.result({{"command", "set_link_state"}, {"port", 2}, {"state", "down"}});
  EXPECT_EQ(transport(desk, "1/1", "1/3"), "none unknown_gpu");
}

TEST(PeerQueryTest, GpusOfOtherRacks) {
  Desk desk;
  desk.managed.connect(0);
  EXPECT_EQ(transport(desk, "1/1", "2/1"), "none uplink_down");
  desk.managed.connect(4);
  EXPECT_EQ(transport(desk, "1/1", "2/1"), "none unknown_gpu");
  desk.managed.receive(4, FrameType::discovery, GpuId{0x0201}, kBroadcast);
  desk.managed.receive(4, FrameType::discovery, GpuId{0x0202}, kBroadcast);
  EXPECT_EQ(transport(desk, "1/1", "2/1"), "switch");
  EXPECT_EQ(desk.result({{"command", "peer_query"}, {"a", "2/1"}, {"b", "1/1"}})["a"]["place"], "remote");
  EXPECT_EQ(transport(desk, "2/1", "2/2"), "none same_link");

  fabric_switch::SwitchConfig alone = small_rack();
  alone.uplink = -1;
  Desk rack(alone);
  rack.managed.connect(0);
  EXPECT_EQ(transport(rack, "1/1", "2/1"), "none no_uplink");

  fabric_switch::SwitchConfig spine = small_rack();
  spine.rack = 0;
  Desk other(spine);
  other.managed.connect(0);
  EXPECT_EQ(transport(other, "1/1", "2/1"), "none unknown_gpu");
}

TEST(PeerQueryTest, FieldsAreChecked) {
  Desk desk;
  EXPECT_EQ(desk.refusal({{"command", "peer_query"}, {"a", "1/1"}}), "missing_field b");
  EXPECT_EQ(desk.refusal({{"command", "peer_query"}, {"b", "1/1"}}), "missing_field a");
  EXPECT_EQ(desk.refusal({{"command", "peer_query"}, {"a", "1/1"}, {"b", 0}}), "out_of_range b");
  EXPECT_EQ(desk.refusal({{"command", "peer_query"}, {"a", "gpu"}, {"b", 1}}), "bad_field a");
}

// --- Health ------------------------------------------------------------------------------------------

// Each finding as "severity code port", in order, behind the status.
std::vector<std::string> diagnosis(Desk& desk) {
  const Json result = desk.result("health");
  std::vector<std::string> lines{result["status"].get<std::string>()};
  for (const Json& finding : result["findings"]) {
    EXPECT_NE(finding.value("message", ""), "");
    lines.push_back(finding.value("severity", "") + " " + finding.value("code", ""));
    if (finding.contains("port")) lines.back() += " " + finding["port"].dump();
    if (finding.contains("reason"))
      lines.back() += " " + finding["reason"].get<std::string>() + " " + finding["frames"].dump();
  }
  return lines;
}

using Lines = std::vector<std::string>;

struct HealthTest : testing::Test {
  HealthTest() {
    desk.managed.connect(0);
    desk.managed.connect(1);
  }
  Desk desk;
};

TEST_F(HealthTest, AllIsWell) {
  EXPECT_EQ(diagnosis(desk), Lines{"ok"});
}

TEST_F(HealthTest, AnExpectedGpuIsAbsent) {
  desk.managed.disconnect(1);
  EXPECT_EQ(diagnosis(desk), (Lines{"degraded", "warning gpu_absent 1"}));
  EXPECT_EQ(desk.result("health")["findings"][0]["gpu"], (Json{{"name", "1/2"}, {"id", 258}}));
  desk.managed.disconnect(0);
  EXPECT_EQ(diagnosis(desk),
            (Lines{"failed", "error no_gpus", "warning gpu_absent 0", "warning gpu_absent 1"}));
}

TEST_F(HealthTest, ASwitchThatExpectsNobodyIsWell) {
  fabric_switch::SwitchConfig config;
  config.ports.resize(9);
  Desk idle(config);
  EXPECT_EQ(diagnosis(idle), Lines{"ok"});
}

TEST_F(HealthTest, APortIsTakenDown) {
  desk.result({{"command", "set_link_state"}, {"port", 0}, {"state", "down"}});
  desk.result({{"command", "set_link_state"}, {"port", 3}, {"state", "down"}});
  EXPECT_EQ(diagnosis(desk), (Lines{"degraded", "warning port_admin_down 0", "note port_admin_down 3"}));
  desk.result({{"command", "set_link_state"}, {"port", 0}, {"state", "up"}});
  EXPECT_EQ(diagnosis(desk), (Lines{"ok", "note port_admin_down 3"}));
}

TEST_F(HealthTest, APortIsStalled) {
  desk.managed.receive(0, FrameType::data, GpuId{0x0101}, GpuId{0x0102}, 8);
  desk.managed.pass_time(kSecond);
  EXPECT_EQ(diagnosis(desk), (Lines{"degraded", "warning port_stalled 1", "warning tx_drops 1 stalled 1"}));
  desk.result("telemetry_clear");
  EXPECT_EQ(diagnosis(desk), (Lines{"degraded", "warning port_stalled 1"}));
}

TEST_F(HealthTest, FramesWereDropped) {
  desk.managed.receive(0, FrameType::data, GpuId{0x0101}, GpuId{0x0109}, 8);
  EXPECT_EQ(diagnosis(desk), (Lines{"ok", "note rx_drops 0 no_route 1"}));
  desk.managed.receive(1, FrameType::data, GpuId{0x0101}, GpuId{0x0102}, 8);
  desk.managed.receive(1, FrameType::data, GpuId{0x0103}, GpuId{0x0102}, 8);
  desk.managed.receive(1, {});
  EXPECT_EQ(diagnosis(desk), (Lines{"degraded", "warning rx_drops 1 empty 1",
                                    "warning rx_drops 1 spoofed_source 2", "note rx_drops 0 no_route 1"}));
}

TEST_F(HealthTest, TheLinkToOtherSwitches) {
  desk.managed.ports[4].socket = "/run/port_8.sock";
  EXPECT_EQ(diagnosis(desk), Lines{"ok"});  // nobody has ever wanted one
  desk.managed.ports[4].connections = 1;
  EXPECT_EQ(diagnosis(desk), (Lines{"degraded", "warning uplink_down 4"}));
  desk.managed.ports[4].connections = 0;
  desk.managed.ports[4].dials = "/run/other.sock";
  EXPECT_EQ(diagnosis(desk), (Lines{"degraded", "warning uplink_down 4"}));
  desk.managed.connect(4);
  EXPECT_EQ(diagnosis(desk), Lines{"ok"});
}

TEST_F(HealthTest, TheDaemonItself) {
  desk.managed.daemon.config_error = "fabric.yaml:3:1: error: no";
  EXPECT_EQ(diagnosis(desk), (Lines{"degraded", "warning reload_refused"}));
  desk.managed.daemon.draining = true;
  EXPECT_EQ(diagnosis(desk), (Lines{"failed", "error draining", "warning reload_refused"}));
}

TEST_F(HealthTest, StrangersAtAPort) {
  desk.managed.ports[0].refused_identity = 2;
  EXPECT_EQ(diagnosis(desk), (Lines{"degraded", "warning refused_identity 0"}));
}

}  // namespace
}  // namespace cnuas::live
