#include "live/switchd/switch_config.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace cnuas::live {
namespace {

using fabric_switch::PortRole;
using fabric_switch::SwitchConfig;
using testing::HasSubstr;

RackParameters racks(std::vector<unsigned> gpus) {
  RackParameters parameters;
  parameters.gpus_per_rack = std::move(gpus);
  parameters.gpu_link.bandwidth_bytes_per_s = 1'000'000'000;
  parameters.inter_switch = parameters.gpu_link;
  parameters.port_buffer_bytes = 12'345;
  return parameters;
}

GpuId gpu(unsigned rack, unsigned slot) {
  return *make_gpu_id(rack, slot);
}

std::string refused(const Fabric& fabric, const Place& place) {
  const Result<SwitchConfig> config = switch_config(fabric, place);
  return config ? "made" : config.error().message;
}

TEST(SwitchConfigOf, ARackInAPair) {
  const Fabric fabric = *build_pair(racks({8, 4}));
  const SwitchConfig config = *switch_config(fabric, {2u, ""});
  EXPECT_EQ(config.name, "rack2");
  EXPECT_EQ(config.rack, 2u);
  EXPECT_EQ(config.uplink, 8);
  ASSERT_EQ(config.ports.size(), 9u);
  for (std::size_t port = 0; port < 8; ++port) {
    EXPECT_EQ(config.ports[port].role, PortRole::gpu);
    EXPECT_EQ(config.ports[port].expected, port < 4 ? gpu(2, static_cast<unsigned>(port)) : kNoGpu);
    EXPECT_EQ(config.ports[port].queue_bytes, 12'345u);
  }
  EXPECT_EQ(config.ports[8].role, PortRole::inter_switch);
}

TEST(SwitchConfigOf, TheOnlySwitchNeedsNoName) {
  const Fabric fabric = *build_rack(racks({8}));
  const SwitchConfig config = *switch_config(fabric, {});
  EXPECT_EQ(config.uplink, -1) << "there is no other switch";
  EXPECT_EQ(config.ports[7].expected, gpu(1, 7));
}

TEST(SwitchConfigOf, ASpineServesRacksAtItsFirstPorts) {
  const Fabric fabric = *build_spine(racks({8, 8, 8}));
  const SwitchConfig spine = *switch_config(fabric, {std::nullopt, "spine"});
  EXPECT_EQ(spine.rack, 0u);
  EXPECT_EQ(spine.uplink, -1);
  for (std::size_t port = 0; port < 3; ++port)
    EXPECT_EQ(spine.ports[port].role, PortRole::inter_switch);
  EXPECT_EQ(spine.ports[3].role, PortRole::gpu);
  EXPECT_EQ(switch_config(fabric, {3u, ""})->uplink, 8);
}

TEST(SwitchConfigOf, SaysWhichPlacesThereAre) {
  const Fabric fabric = *build_pair(racks({8, 8}));
  EXPECT_THAT(refused(fabric, {}), HasSubstr("--rack or --switch which one this is (rack1, rack2)"));
  EXPECT_THAT(refused(fabric, {3u, ""}), HasSubstr("no rack 3, only rack1, rack2"));
  EXPECT_THAT(refused(fabric, {std::nullopt, "leaf"}), HasSubstr("no switch 'leaf', only rack1, rack2"));
}

TEST(SwitchConfigOf, RefusesMoreThanTheChassisHolds) {
  EXPECT_THAT(refused(*build_rack(racks({9})), {}),
              HasSubstr("9 GPUs are at this switch, which has ports for 8"));
  const Fabric wide = *build_spine(racks(std::vector<unsigned>(10, 1)));
  EXPECT_THAT(refused(wide, {std::nullopt, "spine"}), HasSubstr("0 GPUs and 10 links"));
}

TEST(PlainConfig, IsARackWithAnUplink) {
  const SwitchConfig config = plain_config(7);
  EXPECT_TRUE(fabric_switch::Switch::create(config));
  EXPECT_EQ(config.rack, 7u);
  EXPECT_EQ(config.uplink, 8);
}

}  // namespace
}  // namespace cnuas::live
