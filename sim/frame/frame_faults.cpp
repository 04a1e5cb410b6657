// FrameMover's faults, background flows, and what must hold at the end.
#include "sim/frame/frame_mover.h"

#include <algorithm>
#include <cmath>
#include <string>

namespace cnuas::sim {

namespace {

template <class... Handlers>
struct Overloaded : Handlers... {
  using Handlers::operator()...;
};

}  // namespace

// The link away from the GPU, or from the cable's first switch; the other direction follows it.
LinkIndex FrameMover::first_link(const LinkTarget& target) const {
  if (const auto* cable = std::get_if<CableIndex>(&target)) return cable_link(context_.fabric, *cable, true);
  return gpu_uplink(*find_gpu(context_.fabric, std::get<GpuId>(target)));
}

void FrameMover::change(const Fault& fault, bool begins) {
  std::visit(Overloaded{
                 [&](const LinkDown& down) { set_link(first_link(down.link), !begins); },
                 [&](const SlowReceiver& slow) { limit_receiver(slow.gpu, begins, slow.hold_ps); },
                 [&](const DeadReceiver& dead) { limit_receiver(dead.gpu, begins, kNever); },
                 [&](const LanesLost& lost) {
                   for (const LinkIndex link : {first_link(lost.link), first_link(lost.link) + 1}) {
                     links_[link].lanes_left = begins ? lost.rate_left : 1.0;
                     set_rate(link);
                   }
                 },
                 [&](const BitErrorRate& errors) {
                   for (const LinkIndex link : {first_link(errors.link), first_link(errors.link) + 1}) {
                     links_[link].errors.reset();
                     if (begins) links_[link].errors.emplace(errors.rate, random_.split());
                   }
                 },
                 [&](const SwitchRestart& restart) {
                   const std::vector<LinkIndex>& ports = egress_[restart.target];
                   for (const LinkIndex link : ports)
                     set_link(link & ~LinkIndex{1}, !begins);
                 },
             },
             fault.what);
}

// One frame at a time, each for `hold_ps`.
void FrameMover::limit_receiver(GpuId id, bool limited, Picoseconds hold_ps) {
  const GpuIndex gpu = *find_gpu(context_.fabric, id);
  if (limited) {
    endpoints_[gpu].limit_room(1);
  } else {
    endpoints_[gpu].unlimited_room();
  }
  links_[gpu_downlink(gpu)].consume_ps = hold_ps;
  to_serve_.push_back(gpu_downlink(gpu));
}

// Both directions, with both ends told. A GPU announces itself when its link comes back, unless it stays
// silent.
void FrameMover::set_link(LinkIndex forward, bool up, bool announce) {
  for (const LinkIndex index : {forward, forward + 1}) {
    Link& link = links_[index];
    if (link.up == up) return;
    link.up = up;
    if (!up) ++link.epoch;  // what is on the wire does not arrive
    link.unacknowledged = 0;
    link.paused = false;
    const End& end = link.from;
    if (!end.is_switch) {
      if (up) {
        if (announce) endpoints_[end.index].link_up(timeline_.now_ps);
      } else {
        endpoints_[end.index].link_down();
      }
      continue;
    }
    if (up) {
      switches_[end.index].link_up(end.port, timeline_.now_ps, actions_);
    } else {
      switches_[end.index].link_down(end.port, timeline_.now_ps, actions_);
    }
    absorb(end.index);
  }
  if (up) {
    to_serve_.push_back(forward);
    to_serve_.push_back(forward + 1);
  }
}

void FrameMover::set_rate(LinkIndex index) {
  Link& link = links_[index];
  double rate = static_cast<double>(link.whole_bytes_per_s) * link.lanes_left;
  rate = std::max(rate - static_cast<double>(link.background_bytes_per_s), rate / 2);
  rate /= link.elastic_flows + 1.0;
  link.serialiser.set_bandwidth(std::max<std::uint64_t>(1, static_cast<std::uint64_t>(std::llround(rate))));
}

void FrameMover::background(std::size_t index, bool on) {
  const BackgroundFlow& flow = context_.workload.background[index];
  std::vector<LinkIndex> links;
  context_.routes.links(*find_gpu(context_.fabric, flow.from), *find_gpu(context_.fabric, flow.to), links);
  for (const LinkIndex each : links) {
    Link& link = links_[each];
    if (flow.rate_bytes_per_s) {
      link.background_bytes_per_s = on ? link.background_bytes_per_s + *flow.rate_bytes_per_s
                                       : link.background_bytes_per_s - *flow.rate_bytes_per_s;
    } else {
      link.elastic_flows = on ? link.elastic_flows + 1 : link.elastic_flows - 1;
    }
    set_rate(each);
  }
}

// Every frame put on a wire has arrived, was lost with the link, or is still on it; every frame that arrived
// at a switch is accounted for by the switch; every frame a switch sent was put on a wire.
Result<void> FrameMover::check_conservation() const {
  const auto broken = [](const std::string& what) {
    return fail(ErrorCode::mismatch, "frames are not conserved: " + what);
  };
  for (std::uint32_t index = 0; index < switches_.size(); ++index) {
    const fabric_switch::Switch& each = switches_[index];
    std::uint64_t offered = 0;
    std::uint64_t made = 0;
    for (PortIndex port = 0; port < egress_[index].size(); ++port) {
      const std::string where = each.config().name + " port " + std::to_string(port);
      const fabric_switch::TypeCounters total = each.counters(port).total();
      const Link& in = links_[ingress_[index][port]];
      const Link& out = links_[egress_[index][port]];
      if (in.arrived + in.lost > in.frames) return broken(where + " was sent less than came");
      if (in.arrived - in.arrived_cleared != total.rx_frames)
        return broken(where + " counts another number of frames than came");
      if (out.frames - out.frames_cleared != total.tx_frames)
        return broken(where + " counts another number of frames than it sent");
      if (total.rx_frames != total.rx_dropped + total.consumed + total.forwarded)
        return broken(where + ", received");
      if (total.offered + total.carried_over !=
          total.tx_frames + total.tx_dropped + each.status(port).queued_frames) {
        return broken(where + ", to be sent");
      }
      offered += total.offered;
      made += total.copies + total.own;
    }
    if (offered != made) return broken(each.config().name + ", between its ports");
  }
  return {};
}

}  // namespace cnuas::sim
