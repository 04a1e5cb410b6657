// Nothing in a picture lies on something else.
#include "sim/graph/layout.h"

#include "sim/graph/label.h"
#include "sim/graph/tiers.h"

namespace cnuas::test {
namespace {

using sim::Box;

RackParameters racks(std::vector<unsigned> gpus) {
  RackParameters parameters;
  parameters.gpus_per_rack = std::move(gpus);
  parameters.gpu_link = {450'000'000'000, 500'000, {}};
  parameters.inter_switch = {400'000'000'000, 1'000'000, {}};
  return parameters;
}

// Every leaf to every spine and every leaf to its neighbours, twice.
Fabric dense() {
  Fabric fabric = *build_spine(racks({3, 40, 8, 1, 256}));
  const LinkProfile link = fabric.cables[0].link;
  fabric.switches.push_back(Switch{"second-spine", 0, 1000, 65536});
  fabric.switches.push_back(Switch{"a-name-that-is-much-longer-than-what-is-drawn-of-it", 0, 1000, 65536});
  for (SwitchIndex leaf = 0; leaf < 5; ++leaf)
    fabric.cables.push_back(Cable{leaf, 6, link});
  fabric.cables.push_back(Cable{6, 7, link});
  for (SwitchIndex leaf = 0; leaf < 4; ++leaf) {
    fabric.cables.push_back(Cable{leaf, leaf + 1, link});
    fabric.cables.push_back(Cable{leaf + 1, leaf, link});
  }
  fabric.cables.push_back(Cable{4, 0, link});
  return fabric;
}

bool overlap(const Box& a, const Box& b) {
  return a.x < b.right() && b.x < a.right() && a.y < b.bottom() && b.y < a.bottom();
}

Box label_box(const Fabric& fabric, const sim::CablePlace& cable) {
  const std::string text = sim::link_label(fabric.cables[cable.index].link);
  return {cable.label.x, cable.label.y - 10, sim::small_text_width(text), 12};
}

void expect_apart(const std::vector<Box>& boxes, const sim::Layout& layout, const char* what) {
  for (std::size_t i = 0; i < boxes.size(); ++i) {
    EXPECT_TRUE(boxes[i].x >= 0 && boxes[i].y >= 0 && boxes[i].right() <= layout.width &&
                boxes[i].bottom() <= layout.height)
        << what << " " << i;
    for (std::size_t j = 0; j < i; ++j)
      EXPECT_FALSE(overlap(boxes[i], boxes[j])) << what << " " << j << " and " << i;
  }
}

void expect_readable(const Fabric& fabric) {
  const sim::Layout layout = sim::lay_out(fabric);
  std::vector<Box> outlines;
  std::vector<Box> gpus;
  for (const sim::SwitchPlace& place : layout.switches) {
    outlines.push_back(place.gpus.empty() ? place.box : place.rack);
    gpus.insert(gpus.end(), place.gpu_boxes.begin(), place.gpu_boxes.end());
    if (!place.gpus.empty()) gpus.push_back(place.box);
  }
  EXPECT_EQ(gpus.size(), fabric.gpus.size() + sim::make_tiers(fabric).members[0].size());
  expect_apart(gpus, layout, "GPU");
  // Labels stand above the outline of their switch, so these are apart from each other too.
  for (const sim::CablePlace& cable : layout.cables)
    outlines.push_back(label_box(fabric, cable));
  expect_apart(outlines, layout, "outline or label");
}

TEST(Layout, OfNamedTopologiesIsReadable) {
  expect_readable(*build_rack(racks({8})));
  expect_readable(*build_rack(racks({1})));
  expect_readable(*build_rack(racks({256})));
  expect_readable(*build_pair(racks({8, 8})));
  expect_readable(*build_spine(racks({4, 8, 6})));
  expect_readable(*build_spine(racks(std::vector<unsigned>(8, 8))));
}

TEST(Layout, OfGraphsIsReadable) {
  const Fabric fabric = dense();
  ASSERT_TRUE(validate(fabric)) << validate(fabric).error().message;
  expect_readable(fabric);
}

TEST(Layout, PutsLargeRacksIntoRows) {
  const sim::Layout layout = sim::lay_out(*build_rack(racks({256})));
  EXPECT_LT(layout.width, 1200);
  EXPECT_LT(layout.height, 1200);
}

TEST(Tiers, CountCablesToTheNearestGpus) {
  const Fabric fabric = dense();
  EXPECT_THAT(sim::make_tiers(fabric).tier, ::testing::ElementsAre(0, 0, 0, 0, 0, 1, 1, 2));
}

}  // namespace
}  // namespace cnuas::test
