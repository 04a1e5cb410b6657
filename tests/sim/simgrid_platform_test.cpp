// SimGrid routes as the core does: one platform, two descriptions of it.
#include "core/topology/routes.h"
#include "sim/child_process.h"
#include "sim/simgrid/kernel.h"

#include <random>

namespace cnuas::sim {
namespace {

RackParameters racks(std::vector<unsigned> gpus) {
  RackParameters parameters;
  parameters.gpus_per_rack = std::move(gpus);
  parameters.gpu_link = {450'000'000'000, 500'000, {}};
  parameters.inter_switch = {400'000'000'000, 1'000'000, {}};
  return parameters;
}

// "" when all routes agree, otherwise the first that does not. In a child: SimGrid is set up once per
// process.
std::string compare_routes(const Fabric& fabric) {
  const Result<std::string> outcome = in_child_process([&]() -> std::string {
    const RouteTable routes(fabric);
    const Kernel kernel(fabric, routes, {}, {});
    for (GpuIndex from = 0; from < fabric.gpus.size(); ++from) {
      for (GpuIndex to = 0; to < fabric.gpus.size(); ++to) {
        if (from == to) continue;
        std::vector<LinkIndex> expected;
        routes.links(from, to, expected);
        if (kernel.route(from, to) != expected)
          return to_string(fabric.gpus[from].id) + " to " + to_string(fabric.gpus[to].id);
      }
    }
    return {};
  });
  return outcome ? *outcome : outcome.error().message;
}

TEST(Platform, RoutesAsTheCoreDoesOnRegularFabrics) {
  EXPECT_EQ(compare_routes(*build_rack(racks({8}))), "");
  EXPECT_EQ(compare_routes(*build_pair(racks({8, 3}))), "");
  EXPECT_EQ(compare_routes(*build_spine(racks({4, 1, 7, 2}))), "");
}

TEST(Platform, RoutesAsTheCoreDoesOnGraphs) {
  std::mt19937 random(7);
  for (int round = 0; round < 20; ++round) {
    Fabric fabric;
    const std::uint32_t switches = 2 + random() % 7;
    for (std::uint32_t i = 0; i < switches; ++i)
      fabric.switches.push_back(Switch{"s" + std::to_string(i), 0, 0, 0});
    const LinkProfile link{1'000'000'000, 1000, {}};
    for (std::uint32_t i = 1; i < switches; ++i)
      fabric.cables.push_back(Cable{static_cast<SwitchIndex>(random() % i), i, link});
    for (int extra = 0; extra < 4; ++extra) {
      const SwitchIndex a = random() % switches;
      const SwitchIndex b = random() % switches;
      if (a != b) fabric.cables.push_back(Cable{a, b, link});
    }
    for (std::uint16_t i = 0; i < 10; ++i)
      fabric.gpus.push_back(Gpu{GpuId{static_cast<std::uint16_t>(0x0100 + i)},
                                static_cast<SwitchIndex>(random() % switches), 0, link});
    ASSERT_TRUE(validate(fabric));
    EXPECT_EQ(compare_routes(fabric), "") << "round " << round;
  }
}

}  // namespace
}  // namespace cnuas::sim
