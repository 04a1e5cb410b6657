#include "sim/simgrid/kernel.h"

#include <algorithm>
#include <cassert>
#include <cmath>
#include <map>
#include <optional>
#include <unordered_map>

#include <simgrid/kernel/Timer.hpp>
#include <simgrid/s4u.hpp>
#include <simgrid/version.h>
#include <xbt/log.h>

namespace cnuas::sim {

namespace s4u = simgrid::s4u;
using simgrid::kernel::timer::Timer;

namespace {

// The defaults are fitted to TCP: latency times 13, bandwidth times 0.97, a 4 MB window, 5 % for
// acknowledgements, and nanosecond precision. A test shows what each setting is worth.
const std::vector<std::pair<std::string, std::string>>& options() {
  static const std::vector<std::pair<std::string, std::string>> list = {
      {"network/model", "CM02"},   {"network/crosstraffic", "0"}, {"network/TCP-gamma", "0"},
      {"surf/precision", "1e-13"}, {"maxmin/precision", "1e-13"},
  };
  return list;
}

constexpr double kFlopsPerSecond =
    1e12;  // of a GPU at normal speed: one "flop" is a picosecond of computation

// Long enough never to end by itself within kMaxKernelTime.
constexpr double kEndlessBytes = 1e19;

double seconds(Picoseconds time_ps) {
  return static_cast<double>(time_ps) / static_cast<double>(kSecond);
}

s4u::Engine& start_engine() {
  static char name[] = "cnuas-sim";
  static char quiet[] = "--log=root.thresh:warning";
  static char plain[] = "--cfg=debug/clean-atexit:0";
  static char* arguments[] = {name, quiet, plain, nullptr};
  static int count = 3;
  static s4u::Engine engine(&count, arguments);
  for (const auto& [option, value] : options())
    s4u::Engine::set_config(option + ":" + value);
  return engine;
}

}  // namespace

KernelInfo kernel_info() {
  int major = 0;
  int minor = 0;
  int patch = 0;
  sg_version_get(&major, &minor, &patch);
  return KernelInfo{std::to_string(major) + "." + std::to_string(minor), options()};
}

struct Kernel::State {
  s4u::Engine& engine;
  Callbacks callbacks;
  std::vector<s4u::Host*> hosts;  // by GPU
  struct Background {
    s4u::Host* from = nullptr;
    s4u::Host* to = nullptr;
    s4u::CommPtr comm;
  };
  std::vector<Background> background;
  std::map<std::string, LinkIndex> link_of_name;
  // Activities are told apart by address while they are alive; the map is never iterated.
  struct Running {
    s4u::ActivityPtr activity;
    Token token;
  };
  std::unordered_map<const s4u::Activity*, Running> running;
  std::vector<s4u::ActivityPtr> retired;    // complete: kept until SimGrid has returned from reporting it
  std::vector<s4u::ActivityPtr> cancelled;  // SimGrid looks at them once more after the timers of the moment
  Picoseconds now = 0;
  Picoseconds next_wake = kNever;  // earliest timer pending

  explicit State(s4u::Engine& e) : engine(e) {}

  void completed(const s4u::Activity& activity) {
    const auto found = running.find(&activity);
    if (found == running.end()) return;  // background, or reported before
    const Token token = found->second.token;
    retired.push_back(std::move(found->second.activity));
    running.erase(found);
    // Rounded, and never before what was already handled.
    const auto at =
        static_cast<Picoseconds>(std::llround(s4u::Engine::get_clock() * static_cast<double>(kSecond)));
    const Picoseconds time = std::max(now, at);
    callbacks.done(token);
    arm(time);
  }

  void arm(Picoseconds time) {
    if (time >= next_wake) return;
    next_wake = time;
    Timer::set(std::max(seconds(time), s4u::Engine::get_clock()), [this, time] { fire(time); });
  }

  void fire(Picoseconds time) {
    if (next_wake == time) next_wake = kNever;
    now = std::max(now, time);
    callbacks.woken(now);
    retired.clear();
  }
};

namespace {

using Links = std::vector<s4u::LinkInRoute>;

// A full-duplex link, named after its two directions. Latency stays with the core: SimGrid would weigh the
// shares of flows by it (a flow over a longer way gets less), and a message's latency must not hold up the
// next message.
s4u::SplitDuplexLink* make_link(s4u::NetZone* zone, const Fabric& fabric, LinkIndex forward) {
  const double rate = static_cast<double>(link_profile(fabric, forward).payload_bytes_per_s());
  s4u::Link* link = zone->create_split_duplex_link(link_name(fabric, forward), rate)->set_latency(0)->seal();
  return dynamic_cast<s4u::SplitDuplexLink*>(link);
}

class PlatformBuilder {
 public:
  PlatformBuilder(const Fabric& fabric, const RouteTable& routes) : fabric_(fabric), routes_(routes) {}

  s4u::NetZone* root = s4u::create_full_zone("fabric");
  std::vector<s4u::Host*> hosts;
  std::vector<s4u::SplitDuplexLink*> links;  // by LinkIndex / 2

  // A zone per switch that carries GPUs; the GPUs around its centre.
  void add_switches() {
    links.resize(link_count(fabric_) / 2);
    hosts.resize(fabric_.gpus.size());
    zones_.resize(fabric_.switches.size(), nullptr);
    centres_.resize(fabric_.switches.size(), nullptr);
    for (const Gpu& gpu : fabric_.gpus) {
      if (zones_[gpu.attached] != nullptr) continue;
      const Switch& attached = fabric_.switches[gpu.attached];
      s4u::NetZone* zone = s4u::create_star_zone("zone " + attached.name);
      zone->set_parent(root);
      centres_[gpu.attached] = zone->create_router("switch " + attached.name);
      zones_[gpu.attached] = zone;
    }
  }

  void add_gpus(const std::vector<Straggler>& stragglers) {
    for (GpuIndex gpu = 0; gpu < fabric_.gpus.size(); ++gpu) {
      const Gpu& each = fabric_.gpus[gpu];
      double speed = kFlopsPerSecond;
      for (const Straggler& slow : stragglers) {
        if (slow.gpu == each.id) speed = kFlopsPerSecond * slow.speed;
      }
      s4u::NetZone* zone = zones_[each.attached];
      hosts[gpu] = zone->create_host("gpu " + to_string(each.id), speed);
      links[gpu] = make_link(zone, fabric_, gpu_uplink(gpu));
      connect(zone, hosts[gpu], {{links[gpu], Direction::UP}});
    }
  }

  // A source that reaches the fabric through a link of `rate` and then the GPU's own uplink.
  s4u::Host* add_limited_source(GpuIndex gpu, std::uint64_t rate, std::size_t index) {
    s4u::NetZone* zone = zones_[fabric_.gpus[gpu].attached];
    const std::string name = "background " + std::to_string(index);
    s4u::Host* host = zone->create_host(name, kFlopsPerSecond);
    s4u::Link* limit = zone->create_link(name, static_cast<double>(rate))->set_latency(0)->seal();
    connect(zone, host, {s4u::LinkInRoute(limit), {links[gpu], Direction::UP}});
    return host;
  }

  // Between zones the core's routes, so that both sides agree on every graph.
  void add_cables() {
    for (CableIndex cable = 0; cable < fabric_.cables.size(); ++cable) {
      links[fabric_.gpus.size() + cable] = make_link(root, fabric_, cable_link(fabric_, cable, true));
    }
    for (SwitchIndex from = 0; from < zones_.size(); ++from) {
      if (zones_[from] == nullptr) continue;
      zones_[from]->seal();
      for (SwitchIndex to = 0; to < zones_.size(); ++to) {
        if (from == to || zones_[to] == nullptr) continue;
        Links route;
        for (const LinkIndex link : routes_.between_switches(from, to)) {
          route.emplace_back(links[link / 2], link % 2 == 0 ? Direction::UP : Direction::DOWN);
        }
        root->add_route(zones_[from]->get_netpoint(), zones_[to]->get_netpoint(), centres_[from],
                        centres_[to], route, false);
      }
    }
    root->seal();
  }

 private:
  using Direction = s4u::LinkInRoute::Direction;

  static void connect(s4u::NetZone* zone, s4u::Host* host, const Links& up) {
    zone->add_route(host->get_netpoint(), nullptr, nullptr, nullptr, up, true);
  }

  const Fabric& fabric_;
  const RouteTable& routes_;
  std::vector<s4u::NetZone*> zones_;
  std::vector<simgrid::kernel::routing::NetPoint*> centres_;
};

GpuIndex index_of(const Fabric& fabric, GpuId id) {
  const Result<GpuIndex> found = find_gpu(fabric, id);
  assert(found);
  return *found;
}

}  // namespace

Kernel::Kernel(const Fabric& fabric, const RouteTable& routes, const std::vector<BackgroundFlow>& background,
               const std::vector<Straggler>& stragglers)
    : state_(std::make_unique<State>(start_engine())) {
  PlatformBuilder platform(fabric, routes);
  platform.add_switches();
  platform.add_gpus(stragglers);
  for (std::size_t i = 0; i < background.size(); ++i) {
    const BackgroundFlow& flow = background[i];
    const GpuIndex from = index_of(fabric, flow.from);
    s4u::Host* source = flow.rate_bytes_per_s ? platform.add_limited_source(from, *flow.rate_bytes_per_s, i)
                                              : platform.hosts[from];
    state_->background.push_back({source, platform.hosts[index_of(fabric, flow.to)], nullptr});
  }
  platform.add_cables();
  state_->hosts = std::move(platform.hosts);
  for (LinkIndex link = 0; link < platform.links.size(); ++link) {
    state_->link_of_name[platform.links[link]->get_link_up()->get_name()] = 2 * link;
    state_->link_of_name[platform.links[link]->get_link_down()->get_name()] = 2 * link + 1;
  }
  s4u::Activity::on_completion_cb(
      [state = state_.get()](const s4u::Activity& activity) { state->completed(activity); });
}

Kernel::~Kernel() = default;

void Kernel::run(Picoseconds begin, Callbacks callbacks) {
  state_->callbacks = std::move(callbacks);
  state_->arm(begin);
  state_->engine.run();
  state_->retired.clear();
  state_->cancelled.clear();
}

Picoseconds Kernel::now() const {
  return state_->now;
}

void Kernel::wake_at(Picoseconds time_ps) {
  state_->arm(time_ps);
}

std::size_t Kernel::in_flight() const {
  return state_->running.size();
}

// Naming the destination last is what starts a one-sided communication.
static s4u::CommPtr launch(s4u::Host* from, s4u::Host* to, double bytes) {
  s4u::CommPtr comm = s4u::Comm::sendto_init();
  comm->set_payload_size(static_cast<std::uint64_t>(bytes));
  comm->set_source(from);
  comm->set_destination(to);
  return comm;
}

void Kernel::start_flow(GpuIndex from, GpuIndex to, double bytes, Token token) {
  s4u::CommPtr comm = launch(state_->hosts[from], state_->hosts[to], std::max(1.0, std::round(bytes)));
  const s4u::Activity* key = comm.get();
  state_->running.emplace(key, State::Running{std::move(comm), token});
}

void Kernel::start_compute(GpuIndex gpu, Picoseconds duration_ps, Token token) {
  s4u::ExecPtr exec = s4u::Exec::init();
  exec->set_flops_amount(seconds(duration_ps) * kFlopsPerSecond);
  exec->set_host(state_->hosts[gpu]);
  const s4u::Activity* key = exec.get();
  state_->running.emplace(key, State::Running{exec, token});
  exec->start();
}

void Kernel::start_background(std::size_t index) {
  State::Background& flow = state_->background[index];
  flow.comm = launch(flow.from, flow.to, kEndlessBytes);
}

void Kernel::stop_background(std::size_t index) {
  State::Background& flow = state_->background[index];
  if (!flow.comm) return;
  flow.comm->cancel();
  state_->cancelled.push_back(std::move(flow.comm));
  flow.comm = nullptr;
}

std::vector<LinkIndex> Kernel::route(GpuIndex from, GpuIndex to) const {
  std::vector<s4u::Link*> links;
  double latency = 0;
  state_->hosts[from]->route_to(state_->hosts[to], links, &latency);
  std::vector<LinkIndex> result;
  for (const s4u::Link* link : links)
    result.push_back(state_->link_of_name.at(link->get_name()));
  return result;
}

}  // namespace cnuas::sim
