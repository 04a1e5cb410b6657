// Where the parts of a fabric's picture go, in pixels from the top left corner.
#pragma once

#include "core/topology/fabric.h"

#include <cstdint>
#include <string_view>
#include <vector>

namespace cnuas::sim {

struct Point {
  int x = 0;
  int y = 0;
};

struct Box {
  int x = 0;
  int y = 0;
  int width = 0;
  int height = 0;
  constexpr int right() const { return x + width; }
  constexpr int bottom() const { return y + height; }
  constexpr int middle() const { return x + width / 2; }
};

struct SwitchPlace {
  SwitchIndex index = 0;
  Box box;
  Box rack;  // around the switch and its GPUs; of width 0 for a switch without GPUs
  unsigned tier = 0;
  int columns = 0;             // of GPUs, filled row by row
  std::vector<GpuIndex> gpus;  // of `gpu_boxes`, one each
  std::vector<Box> gpu_boxes;
};

struct CablePlace {
  CableIndex index = 0;
  std::vector<Point> way;  // from the end with the label
  Point label;             // where its text begins, on the base line
};

struct Layout {
  int width = 0;
  int height = 0;
  std::vector<SwitchPlace> switches;  // by index
  std::vector<CablePlace> cables;     // by index
};

// Space for text in the sizes that the picture is drawn with.
int text_width(std::string_view utf8);        // names and titles
int small_text_width(std::string_view utf8);  // labels

inline constexpr int kLongestName = 28;  // columns of a switch's name that are drawn
inline constexpr int kTitleHeight = 52;
inline constexpr int kMargin = 20;
inline constexpr int kRackTitleHeight = 40;
inline constexpr int kGpuWidth = 46;
inline constexpr int kGpuHeight = 24;
inline constexpr int kGpuGap = 10;

// Switches with GPUs stand side by side in the lowest tier, each in a rack above its GPUs; every other switch
// stands one tier above the lowest one that a cable leads to. So a cable joins two switches of one tier,
// and then runs above them, or of neighbouring tiers. Its label stands at its lower end, or else its left
// one, where every cable has a place of its own. GPUs go into as many columns as make the lowest tier about
// as wide as a page. Precondition: validate(fabric) holds. Integers only: equal fabrics have equal layouts.
Layout lay_out(const Fabric& fabric);

}  // namespace cnuas::sim
