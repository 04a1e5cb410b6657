// Flows that share links: who gets which rate, and when each is through. Virtual time only; nothing here
// knows SimGrid.
#pragma once

#include "core/engine/time.h"
#include "core/topology/fabric.h"

#include <cstdint>
#include <span>
#include <vector>

namespace cnuas::sim {

using FlowId = std::uint32_t;  // reused after remove()

// Max-min fairness (Bertsekas and Gallager, "Data Networks", 6.5.2): rates rise together until a link is
// full, its flows keep theirs, the others rise on. It is the sharing that SimGrid's CM02 model computes, and
// a test holds the two together; it lives here because a SimGrid communication costs microseconds and most
// flows of a collective have their links to themselves, where the answer is one division.
//
// Rates change at an instant only through settle(), once for all that started and ended in it.
class FlowNetwork {
 public:
  // The links of a flow without a copy: the sender's own, those between switches, the receiver's own.
  struct Path {
    LinkIndex first = 0;
    std::span<const LinkIndex> middle;  // must outlive the flow
    LinkIndex last = 0;

    std::size_t size() const { return middle.size() + 2; }
    LinkIndex operator[](std::size_t i) const {
      return i == 0 ? first : i <= middle.size() ? middle[i - 1] : last;
    }
  };

  // When a flow will be through; replaces what was said of it before. `version` tells an old announcement
  // from the current one.
  struct Completion {
    FlowId flow;
    std::uint32_t version;
    Picoseconds time_ps;
  };

  // One entry a link, payload bytes a second, none of them 0.
  explicit FlowNetwork(std::vector<std::uint64_t> capacities_bytes_per_s);

  // bytes > 0. The flow moves from the next settle() on. `late_ps`, within half a picosecond of 0, is how
  // much after `now` it really starts: what a port's previous flow lost or won when its end was rounded (see
  // residue_ps), so that back-to-back flows do not add up their roundings.
  FlowId add(const Path& path, std::uint64_t bytes, Picoseconds now, double late_ps = 0);
  void remove(FlowId flow);

  // Recomputes the rates of all flows that additions and removals since the last call can have touched, and
  // appends the new completions of those whose rate changed.
  void settle(Picoseconds now, std::vector<Completion>& changed);

  bool current(FlowId flow, std::uint32_t version) const { return flows_[flow].version == version; }
  std::uint64_t bytes(FlowId flow) const { return flows_[flow].bytes; }
  const Path& path(FlowId flow) const { return flows_[flow].path; }
  // Bytes not yet sent at `now`, at least 0.
  double remaining_bytes(FlowId flow, Picoseconds now) const;
  double rate_bytes_per_s(FlowId flow) const { return flows_[flow].rate; }
  // How much after its announced completion the flow is really through; within half a picosecond of 0.
  double residue_ps(FlowId flow) const { return flows_[flow].residue_ps; }
  std::span<const FlowId> flows_on(LinkIndex link) const { return links_[link].flows; }

 private:
  struct Flow {
    Path path;
    std::uint64_t bytes = 0;
    double remaining = 0;  // at updated_ps + late_ps
    double late_ps = 0;
    double residue_ps = 0;
    double rate = 0;  // 0: not yet settled
    Picoseconds updated_ps = 0;
    std::uint32_t version = 0;
    std::uint32_t visited = 0;  // epoch of the last search that found it
    bool frozen = false;        // within solve()
  };
  struct Link {
    double capacity = 0;
    std::vector<FlowId> flows;
    double left = 0;             // within solve()
    std::uint32_t unfrozen = 0;  // within solve()
    std::uint32_t visited = 0;
    bool dirty = false;
  };

  void mark_dirty(LinkIndex link);
  bool alone(const Flow& flow) const;
  double least_capacity(const Flow& flow) const;
  void set_rate(FlowId id, double rate, Picoseconds now, std::vector<Completion>& changed);
  // Collects the links and flows that `start` is connected to through shared links.
  void collect_component(LinkIndex start);
  void solve_component(Picoseconds now, std::vector<Completion>& changed);

  std::vector<Link> links_;
  std::vector<Flow> flows_;
  std::vector<FlowId> free_;
  std::vector<LinkIndex> dirty_;
  std::vector<LinkIndex> component_links_;
  std::vector<FlowId> component_flows_;
  std::uint32_t epoch_ = 0;
};

}  // namespace cnuas::sim
