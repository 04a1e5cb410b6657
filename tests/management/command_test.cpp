// What each command answers, on a switch that has seen traffic.

#include "core/wire/frame.h"
#include "tests/management/ask.h"

#include <string>

namespace cnuas::live {
namespace {

using wire::FrameType;

constexpr GpuId kGpu1{0x0101};
constexpr GpuId kGpu2{0x0102};
constexpr GpuId kGpu3{0x0103};

Json port_of(Desk& desk, int port) {
  const Json result = desk.result({{"command", "port_status"}, {"port", port}});
  EXPECT_EQ(result["ports"].size(), 1u);
  return result["ports"][0];
}

std::string state_of(Desk& desk, int port) {
  const Json status = port_of(desk, port);
  return status["state"].get<std::string>() + " " + status.value("presence", "-");
}

TEST(PortStatusTest, AllPortsComeInOrder) {
  Desk desk;
  const Json ports = desk.result("port_status")["ports"];
  ASSERT_EQ(ports.size(), 5u);
  for (int port = 0; port < 5; ++port) {
    EXPECT_EQ(ports[port], port_of(desk, port));
    EXPECT_EQ(ports[port]["port"], port);
    EXPECT_EQ(ports[port]["role"], port == 4 ? "inter_switch" : "gpu");
  }
}

TEST(PortStatusTest, DownIsNotTheSameAsNotExpected) {
  Desk desk;
  EXPECT_EQ(state_of(desk, 0), "down absent");
  EXPECT_EQ(state_of(desk, 2), "down not_expected");
  EXPECT_EQ(state_of(desk, 4), "down -");
  EXPECT_EQ(port_of(desk, 0)["expected"], (Json{{"name", "1/1"}, {"id", 257}}));
  EXPECT_FALSE(port_of(desk, 0).contains("gpu"));
  EXPECT_FALSE(port_of(desk, 2).contains("expected"));

  desk.managed.connect(0);
  desk.managed.connect(2);
  EXPECT_EQ(state_of(desk, 0), "up present");
  EXPECT_EQ(port_of(desk, 0)["gpu"], port_of(desk, 0)["expected"]);
  EXPECT_EQ(state_of(desk, 2), "up silent");
  EXPECT_FALSE(port_of(desk, 2).contains("gpu"));

  desk.managed.receive(2, FrameType::discovery, kGpu3, kBroadcast);
  EXPECT_EQ(state_of(desk, 2), "up present");
  EXPECT_EQ(port_of(desk, 2)["gpu"], (Json{{"name", "1/3"}, {"id", 259}}));

  desk.managed.disconnect(2);
  EXPECT_EQ(state_of(desk, 2), "down not_expected");
}

TEST(PortStatusTest, FactsOfTheSocketAreThereWhenTheyApply) {
  Desk desk;
  EXPECT_FALSE(port_of(desk, 0).contains("socket"));
  EXPECT_FALSE(port_of(desk, 0).contains("peer"));
  desk.managed.now = 5 * kSecond;
  PortFacts& facts = desk.managed.ports[0];
  facts.socket = "/run/port_0.sock";
  facts.dials = "/run/other.sock";
  facts.peer = PeerCredentials{12, 34, 56, {}};
  facts.connected_ps = 3 * kSecond + kSecond / 2;
  facts.connections = 3;
  facts.refused_busy = 2;
  facts.refused_identity = 1;
  const Json status = port_of(desk, 0);
  EXPECT_EQ(status["socket"], "/run/port_0.sock");
  EXPECT_EQ(status["dials"], "/run/other.sock");
  EXPECT_EQ(status["peer"], (Json{{"pid", 12}, {"uid", 34}, {"gid", 56}, {"connected_s", 1.5}}));
  EXPECT_EQ(status["connections"], 3);
  EXPECT_EQ(status["refused_busy"], 2);
  EXPECT_EQ(status["refused_identity"], 1);
}

TEST(PortStatusTest, PathsThatAreNotUtf8DoNoHarm) {
  Desk desk;
  desk.managed.ports[0].socket = "/run/\xFF\xFE.sock";
  EXPECT_EQ(port_of(desk, 0)["socket"], "/run/\xEF\xBF\xBD\xEF\xBF\xBD.sock");
}

TEST(PortStatusTest, StalledAndQueued) {
  Desk desk;
  desk.managed.connect(0);
  desk.managed.connect(1);
  desk.managed.receive(0, FrameType::data, kGpu1, kGpu2, 88);
  EXPECT_EQ(port_of(desk, 1)["queued_frames"], 1);
  EXPECT_EQ(port_of(desk, 1)["queued_bytes"], 100);
  desk.managed.pass_time(kSecond);
  EXPECT_EQ(state_of(desk, 1), "stalled present");
  EXPECT_EQ(port_of(desk, 1)["stalled"], true);
  EXPECT_EQ(port_of(desk, 1)["queued_frames"], 0);
  EXPECT_EQ(port_of(desk, 1)["counters"]["tx_drops"], 1);
  EXPECT_EQ(port_of(desk, 0)["counters"]["rx_frames"], 1);
}

TEST(SetLinkStateTest, TakesAPortDownAndUpAgain) {
  Desk desk;
  desk.managed.connect(0);
  const Json down{{"command", "set_link_state"}, {"port", 0}, {"state", "down"}};
  Json result = desk.result(down);
  EXPECT_EQ(result["changed"], true);
  EXPECT_EQ(result["status"], port_of(desk, 0));
  EXPECT_EQ(state_of(desk, 0), "admin_down present");
  EXPECT_FALSE(desk.managed.fabric_switch().carries(0));

  result = desk.result(down);
  EXPECT_EQ(result["changed"], false);
  EXPECT_EQ(desk.managed.changes, 1);

  EXPECT_EQ(desk.result({{"command", "set_link_state"}, {"port", 0}, {"state", "up"}})["changed"], true);
  EXPECT_EQ(state_of(desk, 0), "up present");
  EXPECT_TRUE(desk.managed.fabric_switch().carries(0));
}

TEST(SetLinkStateTest, FieldsAreChecked) {
  Desk desk;
  EXPECT_EQ(desk.refusal({{"command", "set_link_state"}}), "missing_field port");
  EXPECT_EQ(desk.refusal({{"command", "set_link_state"}, {"port", 0}}), "missing_field state");
  EXPECT_EQ(desk.refusal({{"command", "set_link_state"}, {"port", 5}, {"state", "up"}}), "out_of_range port");
  EXPECT_EQ(desk.refusal({{"command", "set_link_state"}, {"port", 0}, {"state", "Down"}}), "bad_field state");
  EXPECT_EQ(desk.refusal({{"command", "set_link_state"}, {"port", 0}, {"state", false}}), "bad_field state");
}

TEST(TelemetryTest, CountersAreThoseOfTheSwitch) {
  Desk desk;
  desk.managed.connect(0);
  desk.managed.connect(1);
  desk.managed.receive(0, FrameType::discovery, kGpu1, kBroadcast);
  for (int i = 0; i < 5; ++i)
    desk.managed.receive(0, FrameType::data, kGpu1, kGpu2, 100);
  desk.managed.receive(0, FrameType::collective_reduce, kGpu1, kGpu2, 24);
  desk.managed.receive(0, FrameType::collective_gather, kGpu1, kGpu2, 16);
  desk.managed.receive(0, FrameType::data, kGpu1, GpuId{0x0107}, 1);
  desk.managed.receive(0, {});
  desk.managed.receive(0, std::vector<std::byte>(20));
  desk.managed.now += 40 * kMicrosecond;
  desk.managed.drain(1);
  desk.managed.receive(0, FrameType::doorbell, kGpu1, kGpu2, 8);

  const Json ports = desk.result("telemetry_dump")["ports"];
  ASSERT_EQ(ports.size(), 5u);
  for (std::size_t port = 0; port < ports.size(); ++port) {
    const auto index = static_cast<fabric_switch::PortIndex>(port);
    const fabric_switch::PortCounters& counters = desk.managed.fabric_switch().counters(index);
    const Json& json = ports[port];
    EXPECT_EQ(json["port"], port);
    EXPECT_EQ(json["rx_frames"], counters.total().rx_frames);
    EXPECT_EQ(json["rx_bytes"], counters.total().rx_bytes);
    EXPECT_EQ(json["tx_frames"], counters.total().tx_frames);
    EXPECT_EQ(json["tx_bytes"], counters.total().tx_bytes);
    EXPECT_EQ(json["rx_drops"], counters.total().rx_dropped);
    EXPECT_EQ(json["tx_drops"], counters.total().tx_dropped);
    EXPECT_EQ(json["by_type"].size(), fabric_switch::kTypeSlots);
    for (std::size_t type = 0; type < fabric_switch::kTypeSlots; ++type) {
      const std::string name = type == 0 ? "INVALID" : std::string(wire::name(static_cast<FrameType>(type)));
      const fabric_switch::TypeCounters& expected = counters.by_type[type];
      EXPECT_EQ(json["by_type"][name],
                (Json{{"rx_frames", expected.rx_frames},
                      {"rx_bytes", expected.rx_bytes},
                      {"rx_dropped", expected.rx_dropped},
                      {"consumed", expected.consumed},
                      {"forwarded", expected.forwarded},
                      {"copies", expected.copies},
                      {"own", expected.own},
                      {"carried_over", expected.carried_over},
                      {"offered", expected.offered},
                      {"tx_frames", expected.tx_frames},
                      {"tx_bytes", expected.tx_bytes},
                      {"tx_dropped", expected.tx_dropped},
                      {"queued", desk.managed.fabric_switch().queued_by_type(index)[type]}}));
    }
  }
  EXPECT_EQ(ports[0]["rx_frames"], 12);
  EXPECT_EQ(ports[0]["rx_drops"], 3);
  EXPECT_EQ(ports[0]["collective_reduce_count"], 1);
  EXPECT_EQ(ports[0]["collective_gather_count"], 1);
  EXPECT_EQ(
      ports[0]["rx_drops_by_reason"],
      (Json{{"empty", {{"INVALID", 1}}}, {"bad_magic", {{"INVALID", 1}}}, {"no_route", {{"DATA", 1}}}}));
  EXPECT_EQ(ports[0]["tx_drops_by_reason"], Json::object());
  EXPECT_EQ(ports[1]["tx_frames"], 7);
  EXPECT_EQ(ports[1]["queued_frames"], 1);
  EXPECT_EQ(ports[1]["queued_bytes"], 20);
  EXPECT_EQ(ports[1]["by_type"]["DOORBELL"]["queued"], 1);
  EXPECT_EQ(desk.result({{"command", "telemetry_dump"}, {"port", 1}})["ports"], Json::array({ports[1]}));
}

TEST(TelemetryTest, LatencyIsAbsentUntilAFrameHasLeft) {
  Desk desk;
  desk.managed.connect(0);
  desk.managed.connect(1);
  const auto ask = [&] { return desk.result({{"command", "telemetry_dump"}, {"port", 1}})["ports"][0]; };
  EXPECT_FALSE(ask().contains("latency_us_p50"));
  EXPECT_FALSE(ask().contains("latency_us_p99"));
  EXPECT_FALSE(port_of(desk, 1)["counters"].contains("latency_us_p50"));
  EXPECT_EQ(ask()["latency_count"], 0);
  desk.managed.receive(0, FrameType::data, kGpu1, kGpu2, 100);
  desk.managed.now += 40 * kMicrosecond;
  desk.managed.drain(1);
  EXPECT_NEAR(ask()["latency_us_p50"].get<double>(), 40, 40.0 / 32);
  EXPECT_NEAR(ask()["latency_us_p99"].get<double>(), 40, 40.0 / 32);
  EXPECT_EQ(ask()["latency_count"], 1);
}

TEST(TelemetryTest, ClearingStartsAnew) {
  Desk desk;
  desk.managed.connect(0);
  desk.managed.connect(1);
  desk.managed.receive(0, FrameType::data, kGpu1, kGpu2, 100);
  desk.managed.now = 9 * kSecond;
  EXPECT_EQ(desk.result("telemetry_dump")["counting_s"], 9.0);
  EXPECT_EQ(desk.result("telemetry_clear"), Json::object());
  desk.managed.now = 11 * kSecond;
  const Json dump = desk.result("telemetry_dump");
  EXPECT_EQ(dump["counting_s"], 2.0);
  EXPECT_EQ(dump["ports"][0]["rx_frames"], 0);
  EXPECT_EQ(dump["ports"][1]["by_type"]["DATA"]["carried_over"], 1);
  EXPECT_EQ(dump["ports"][1]["queued_frames"], 1);
}

TEST(VersionTest, SaysWhatRuns) {
  Desk desk;
  desk.managed.now = 3 * kSecond;
  const Json version = desk.result("version");
  EXPECT_EQ(version["program"], "fake-switchd");
  EXPECT_EQ(version["version"], "0.0.0");
  EXPECT_EQ(version["api"], 1);
  EXPECT_EQ(version["frame_version"], 1);
  EXPECT_EQ(version["name"], "rack1");
  EXPECT_EQ(version["rack"], 1);
  EXPECT_EQ(version["ports"], 5);
  EXPECT_EQ(version["pid"], 42);
  EXPECT_EQ(version["run_dir"], "/nowhere");
  EXPECT_EQ(version["uptime_s"], 3.0);
  EXPECT_EQ(version["reloads"], 0);
  EXPECT_EQ(version["draining"], false);
  EXPECT_FALSE(version.contains("config"));
  // Each command is one.
  for (const Json& command : version["commands"])
    EXPECT_EQ(desk.ask({{"command", command}}).dump().find("unknown_command"), std::string::npos) << command;

  fabric_switch::SwitchConfig spine = small_rack();
  spine.rack = 0;
  Desk other(spine);
  other.managed.daemon.config = "fabric.yaml";
  EXPECT_FALSE(other.result("version").contains("rack"));
  EXPECT_EQ(other.result("version")["config"], "fabric.yaml");
}

TEST(TraceTest, IsNotSupported) {
  Desk desk;
  EXPECT_EQ(desk.refusal({{"command", "trace_start"}}), "unsupported");
  EXPECT_EQ(desk.refusal({{"command", "trace_start"}, {"path", "x.pftrace"}}), "unsupported");
  EXPECT_EQ(desk.refusal({{"command", "trace_stop"}}), "unsupported");
}

TEST(AnswerTest, TooLargeOnesAreRefused) {
  fabric_switch::SwitchConfig config;
  config.ports.resize(fabric_switch::kMaxPorts);
  Desk desk(config);
  EXPECT_EQ(desk.refusal({{"command", "telemetry_dump"}}), "too_large");
  EXPECT_EQ(desk.result({{"command", "telemetry_dump"}, {"port", 1023}})["ports"].size(), 1u);
}

}  // namespace
}  // namespace cnuas::live
