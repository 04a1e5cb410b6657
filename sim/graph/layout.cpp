#include "sim/graph/layout.h"

#include "sim/graph/label.h"
#include "sim/graph/tiers.h"

#include <algorithm>
#include <limits>
#include <string>
#include <tuple>
#include <utility>

namespace cnuas::sim {

namespace {

constexpr int kLeastWidth = 380;   // of the picture, for the line below its title
constexpr int kPadding = 14;       // inside a rack, and beside a switch's name
constexpr int kSwitchHeight = 40;  // two lines of text
constexpr int kBusHeight = 18;     // between a switch and its GPUs
constexpr int kSwitchGap = 30;     // between switches of a tier
constexpr int kStubHeight = 24;    // a cable's label and the piece of the cable beside it
constexpr int kTrackHeight = 12;   // of a cable that runs above its tier
constexpr int kNarrowPort = 14;    // an end without a label
constexpr int kLabelGap = 12;      // behind a label
constexpr int kLeastFan = 60;      // height between tiers that the cables cross
constexpr int kMostFan = 240;
constexpr int kFanSlope = 7;           // width of the picture for a pixel of that height
constexpr unsigned kMostColumns = 32;  // of GPUs

int grid_width(int columns) {
  return columns * (kGpuWidth + kGpuGap) - kGpuGap;
}

class Drawing {
 public:
  explicit Drawing(const Fabric& fabric) : fabric_(fabric), tiers_(make_tiers(fabric)) {}

  Layout draw() {
    list_gpus();
    assign_ports();
    choose_columns();
    for (const std::vector<SwitchIndex>& tier : tiers_.members)
      for (const SwitchIndex index : tier)
        size_switch(index);
    layout_.width = std::max(widest_tier() + 2 * kMargin, kLeastWidth);
    place_tiers();
    for (CableIndex cable = 0; cable < fabric_.cables.size(); ++cable)
      draw_cable(cable);
    return std::move(layout_);
  }

 private:
  // An end of a cable at a switch: at its top, or at its bottom when the other end is below.
  struct Port {
    CableIndex cable;
    bool labelled;
    int side;           // -1: to the left in the same tier, 0: to another tier, 1: to the right
    std::size_t other;  // position of the other end in its tier
    bool operator<(const Port& than) const {
      return std::tie(side, other, cable) < std::tie(than.side, than.other, than.cable);
    }
  };

  const Cable& cable(CableIndex index) const { return fabric_.cables[index]; }
  SwitchPlace& at(SwitchIndex index) { return layout_.switches[index]; }

  // Lower end first; of two in the same tier the left one.
  std::pair<SwitchIndex, SwitchIndex> ends(CableIndex index) const {
    const Cable& each = cable(index);
    const auto key = [this](SwitchIndex end) { return std::pair(tiers_.tier[end], tiers_.position[end]); };
    return key(each.a) <= key(each.b) ? std::pair(each.a, each.b) : std::pair(each.b, each.a);
  }
  bool same_tier(CableIndex index) const {
    return tiers_.tier[cable(index).a] == tiers_.tier[cable(index).b];
  }

  void list_gpus() {
    layout_.switches.resize(fabric_.switches.size());
    layout_.cables.resize(fabric_.cables.size());
    auto gpus = gpus_by_switch(fabric_);
    for (SwitchIndex index = 0; index < fabric_.switches.size(); ++index) {
      at(index).index = index;
      at(index).tier = tiers_.tier[index];
      at(index).gpus = std::move(gpus[index]);
    }
  }

  void assign_ports() {
    top_.resize(fabric_.switches.size());
    bottom_.resize(fabric_.switches.size());
    for (CableIndex index = 0; index < fabric_.cables.size(); ++index) {
      const auto [first, second] = ends(index);
      const int side = same_tier(index) ? 1 : 0;
      top_[first].push_back({index, true, side, tiers_.position[second]});
      (side == 0 ? bottom_ : top_)[second].push_back({index, false, -side, tiers_.position[first]});
    }
    for (auto* ports : {&top_, &bottom_})
      for (auto& each : *ports)
        std::sort(each.begin(), each.end());
  }

  int port_width(const Port& port) const {
    return port.labelled ? small_text_width(link_label(cable(port.cable).link)) + kLabelGap : kNarrowPort;
  }
  int ports_width(const std::vector<Port>& ports) const {
    int width = 0;
    for (const Port& port : ports)
      width += port_width(port);
    return width;
  }

  // Without its GPUs.
  int least_width(SwitchIndex index) const {
    const std::string name = shortened(fabric_.switches[index].name, kLongestName);
    return std::max({text_width(name) + 2 * kPadding, ports_width(top_[index]) + kPadding,
                     ports_width(bottom_[index]) + kPadding, 96});
  }
  int rack_width(SwitchIndex index, unsigned columns) const {
    const auto& gpus = layout_.switches[index].gpus;
    const int used = static_cast<int>(std::min<std::size_t>(columns, gpus.size()));
    return std::max(
               {grid_width(used), least_width(index), small_text_width(gpu_links_label(fabric_, gpus))}) +
           2 * kPadding;
  }

  // The number that lets the racks fit best into a page three units high and five wide.
  void choose_columns() {
    int best = std::numeric_limits<int>::max();
    for (unsigned columns = 1; columns <= kMostColumns; columns *= 2) {
      int width = 0;
      std::size_t most = 0;
      for (const SwitchIndex index : tiers_.members[0]) {
        width += rack_width(index, columns) + kSwitchGap;
        most = std::max(most, layout_.switches[index].gpus.size());
      }
      const int rows = static_cast<int>((most + columns - 1) / columns);
      const int size = std::max(3 * width, 5 * rows * (kGpuHeight + kGpuGap));
      if (size > best) continue;  // of equal ones the widest, which has the fewest rows
      best = size;
      columns_ = columns;
    }
  }

  void size_switch(SwitchIndex index) {
    SwitchPlace& place = at(index);
    place.box.height = kSwitchHeight;
    if (place.gpus.empty()) {
      place.box.width = least_width(index);
      return;
    }
    place.columns = static_cast<int>(std::min<std::size_t>(columns_, place.gpus.size()));
    place.rack.width = rack_width(index, columns_);
    place.box.width = place.rack.width - 2 * kPadding;
    const int rows = (static_cast<int>(place.gpus.size()) + place.columns - 1) / place.columns;
    place.rack.height =
        kPadding + kSwitchHeight + kBusHeight + rows * (kGpuHeight + kGpuGap) + kRackTitleHeight;
  }

  const Box& outline(SwitchIndex index) { return at(index).gpus.empty() ? at(index).box : at(index).rack; }

  int tier_width(const std::vector<SwitchIndex>& tier) {
    int width = -kSwitchGap;
    for (const SwitchIndex index : tier)
      width += outline(index).width + kSwitchGap;
    return width;
  }
  int widest_tier() {
    int widest = 0;
    for (const auto& tier : tiers_.members)
      widest = std::max(widest, tier_width(tier));
    return widest;
  }

  // From the highest tier down. Above each tier there is room for the cables that run there.
  void place_tiers() {
    int y = kTitleHeight + kMargin;
    for (std::size_t tier = tiers_.members.size(); tier-- > 0;) {
      y += choose_tracks(static_cast<unsigned>(tier));
      int x = (layout_.width - tier_width(tiers_.members[tier])) / 2;
      int lowest = y;
      for (const SwitchIndex index : tiers_.members[tier]) {
        place_switch(index, {x, y});
        x = outline(index).right() + kSwitchGap;
        lowest = std::max(lowest, outline(index).bottom());
      }
      y = lowest;
      if (tier > 0) y += std::clamp(layout_.width / kFanSlope, kLeastFan, kMostFan);
    }
    layout_.height = y + kMargin;
  }

  // Cables above a tier get the lowest track on which they overlap no other. Returns the height of all.
  int choose_tracks(unsigned tier) {
    std::vector<CableIndex> running;
    bool any = false;
    for (CableIndex index = 0; index < fabric_.cables.size(); ++index) {
      any = any || tiers_.tier[ends(index).first] == tier;
      if (same_tier(index) && tiers_.tier[cable(index).a] == tier) running.push_back(index);
    }
    const auto span = [this](CableIndex index) {
      const auto [left, right] = ends(index);
      return std::pair(tiers_.position[left], tiers_.position[right]);
    };
    std::stable_sort(running.begin(), running.end(), [&](CableIndex x, CableIndex y) {
      return std::pair(span(x).second - span(x).first, span(x)) <
             std::pair(span(y).second - span(y).first, span(y));
    });
    tracks_.resize(fabric_.cables.size());
    std::vector<std::vector<std::pair<std::size_t, std::size_t>>> taken;
    for (const CableIndex index : running) {
      const auto wanted = span(index);
      // Two that only share a switch still touch there: their ends may stand in any order.
      const auto is_free = [&](const auto& track) {
        return std::none_of(track.begin(), track.end(), [&](const auto& other) {
          return other.first <= wanted.second && wanted.first <= other.second;
        });
      };
      const auto found = std::find_if(taken.begin(), taken.end(), is_free);
      tracks_[index] = static_cast<int>(found - taken.begin());
      if (found == taken.end()) taken.emplace_back();
      taken[static_cast<std::size_t>(tracks_[index])].push_back(wanted);
    }
    return any ? kStubHeight + static_cast<int>(taken.size()) * kTrackHeight : 0;
  }

  void place_switch(SwitchIndex index, Point corner) {
    SwitchPlace& place = at(index);
    if (place.gpus.empty()) {
      place.box.x = corner.x;
      place.box.y = corner.y;
      return;
    }
    place.rack.x = corner.x;
    place.rack.y = corner.y;
    place.box.x = corner.x + kPadding;
    place.box.y = corner.y + kPadding;
    const int left = place.rack.middle() - grid_width(place.columns) / 2;
    const int top = place.box.bottom() + kBusHeight;
    for (std::size_t i = 0; i < place.gpus.size(); ++i) {
      const int column = static_cast<int>(i) % place.columns;
      const int row = static_cast<int>(i) / place.columns;
      place.gpu_boxes.push_back(
          {left + column * (kGpuWidth + kGpuGap), top + row * (kGpuHeight + kGpuGap), kGpuWidth, kGpuHeight});
    }
  }

  // Ports stand in a row over the middle of the switch.
  int port_x(SwitchIndex index, const std::vector<Port>& ports, CableIndex wanted) {
    int x = at(index).box.middle() - ports_width(ports) / 2;
    for (const Port& port : ports) {
      if (port.cable == wanted) return x + (port.labelled ? 4 : kNarrowPort / 2);
      x += port_width(port);
    }
    return x;
  }
  // Ports at the bottom are spread over its width.
  int bottom_x(SwitchIndex index, CableIndex wanted) {
    const std::vector<Port>& ports = bottom_[index];
    const auto found =
        std::find_if(ports.begin(), ports.end(), [&](const Port& port) { return port.cable == wanted; });
    const Box& box = at(index).box;
    return box.x +
           box.width * static_cast<int>(2 * (found - ports.begin()) + 1) / static_cast<int>(2 * ports.size());
  }

  void draw_cable(CableIndex index) {
    CablePlace& place = layout_.cables[index];
    place.index = index;
    const auto [first, second] = ends(index);
    const int x = port_x(first, top_[first], index);
    const int stub = outline(first).y - kStubHeight;
    place.label = {x + 4, outline(first).y - 7};
    place.way.push_back({x, at(first).box.y});
    if (!same_tier(index)) {
      const int tracks = above(tiers_.tier[first]);
      place.way.push_back({x, stub - tracks});
      place.way.push_back({bottom_x(second, index), at(second).box.bottom()});
      return;
    }
    const int track = stub - tracks_[index] * kTrackHeight;
    const int far = port_x(second, top_[second], index);
    place.way.push_back({x, track});
    place.way.push_back({far, track});
    place.way.push_back({far, at(second).box.y});
  }

  // Height of the tracks of a tier.
  int above(unsigned tier) const {
    int tracks = 0;
    for (CableIndex index = 0; index < fabric_.cables.size(); ++index)
      if (same_tier(index) && tiers_.tier[cable(index).a] == tier)
        tracks = std::max(tracks, tracks_[index] + 1);
    return tracks * kTrackHeight;
  }

  const Fabric& fabric_;
  Tiers tiers_;
  Layout layout_;
  unsigned columns_ = 1;
  std::vector<std::vector<Port>> top_;     // by switch, from left to right
  std::vector<std::vector<Port>> bottom_;  // likewise
  std::vector<int> tracks_;                // by cable
};

}  // namespace

int text_width(std::string_view utf8) {
  return text_columns(utf8) * 8;
}

int small_text_width(std::string_view utf8) {
  return text_columns(utf8) * 6 + 2;
}

Layout lay_out(const Fabric& fabric) {
  return Drawing(fabric).draw();
}

}  // namespace cnuas::sim
