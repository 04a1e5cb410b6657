// What SimGrid does by default and what it does as this project sets it: each setting pinned by what it is
// worth, so that a SimGrid that changes under us is noticed here and not in somebody's results.
#include "sim/child_process.h"
#include "sim/simgrid/kernel.h"

#include <cmath>
#include <cstring>
#include <functional>
#include <string>

#include <simgrid/kernel/Timer.hpp>
#include <simgrid/s4u.hpp>

namespace cnuas::sim {
namespace {

namespace s4u = simgrid::s4u;
using simgrid::kernel::timer::Timer;

constexpr double kRate = 50e9;
constexpr double kLatency = 500e-12;

using Options = std::vector<std::pair<std::string, std::string>>;

Options with(Options options, const std::string& name, const std::string& value) {
  for (auto& [option, setting] : options) {
    if (option == name) setting = value;
  }
  return options;
}

struct Platform {
  s4u::Engine& engine;
  std::vector<s4u::Host*> hosts;
};

// A star of hosts, each behind a link of the given latency; runs `body`, which returns one number, in a
// process of its own. NaN when that fails.
double in_simgrid(const Options& options, const std::vector<double>& latencies,
                  const std::function<double(Platform&)>& body) {
  const Result<std::string> outcome = in_child_process([&] {
    char name[] = "test";
    char quiet[] = "--log=root.thresh:critical";
    char* arguments[] = {name, quiet, nullptr};
    int argc = 2;
    s4u::Engine engine(&argc, arguments);
    for (const auto& [option, value] : options)
      s4u::Engine::set_config(option + ":" + value);
    Platform platform{engine, {}};
    s4u::NetZone* zone = s4u::create_star_zone("star");
    for (std::size_t i = 0; i < latencies.size(); ++i) {
      s4u::Host* host = zone->create_host("h" + std::to_string(i), 1e12);
      const s4u::Link* link =
          zone->create_split_duplex_link("l" + std::to_string(i), kRate)->set_latency(latencies[i])->seal();
      zone->add_route(host->get_netpoint(), nullptr, nullptr, nullptr,
                      {{dynamic_cast<const s4u::SplitDuplexLink*>(link), s4u::LinkInRoute::Direction::UP}},
                      true);
      platform.hosts.push_back(host);
    }
    zone->seal();
    const double value = body(platform);
    return std::string(reinterpret_cast<const char*>(&value), sizeof value);
  });
  double value = std::nan("");
  if (outcome && outcome->size() == sizeof value) std::memcpy(&value, outcome->data(), sizeof value);
  return value;
}

std::vector<s4u::CommPtr>& kept() {
  static std::vector<s4u::CommPtr> comms;  // in the child only
  return comms;
}

s4u::CommPtr start(s4u::Host* from, s4u::Host* to, std::uint64_t bytes) {
  s4u::CommPtr comm = s4u::Comm::sendto_init();
  comm->set_payload_size(bytes);
  comm->set_source(from);
  comm->set_destination(to);
  kept().push_back(comm);
  return comm;
}

// Time of one transfer from host 0 to host 1.
double transfer(const Options& options, std::uint64_t bytes, double latency = kLatency / 2) {
  return in_simgrid(options, {latency, latency}, [bytes](Platform& platform) {
    Timer::set(0, [&platform, bytes] { start(platform.hosts[0], platform.hosts[1], bytes); });
    platform.engine.run();
    return s4u::Engine::get_clock();
  });
}

const Options kDefaults;

TEST(Settings, TheDefaultModelIsFittedToTcp) {
  // 64 B over 500 ps and 50 GB/s: 1.78 ns. LV08 multiplies latency by 13.01 and bandwidth by 0.97.
  EXPECT_NEAR(transfer(kDefaults, 64), 13.01 * kLatency + 64 / (0.97 * kRate), 0.1e-9);
  EXPECT_NEAR(transfer(kernel_info().options, 64), kLatency + 64 / kRate, 1e-15);
}

TEST(Settings, CrossTrafficCostsFivePerCent) {
  const Options crossed = with(kernel_info().options, "network/crosstraffic", "1");
  const auto both_ways = [](Platform& platform) {
    Timer::set(0, [&platform] {
      start(platform.hosts[0], platform.hosts[1], 1'000'000'000);
      start(platform.hosts[1], platform.hosts[0], 1'000'000'000);
    });
    platform.engine.run();
    return s4u::Engine::get_clock();
  };
  EXPECT_NEAR(in_simgrid(crossed, {0, 0}, both_ways), 1.05 * 0.02, 1e-6);
  EXPECT_NEAR(in_simgrid(kernel_info().options, {0, 0}, both_ways), 0.02, 1e-12);
}

TEST(Settings, AWindowCapsEveryFlow) {
  // 4 MiB a round trip of 2 * 500 us: 4.2 GB/s, whatever the link.
  const Options windowed = with(kernel_info().options, "network/TCP-gamma", "4194304");
  EXPECT_NEAR(transfer(windowed, 1'000'000'000, 250e-6), 1e9 / (4194304 / (2 * 500e-6)), 0.01);
  EXPECT_NEAR(transfer(kernel_info().options, 1'000'000'000, 250e-6), 1e9 / kRate + 500e-6, 1e-9);
}

TEST(Settings, CoarsePrecisionSwallowsPicoseconds) {
  // A transfer of a nanosecond and one of two, started together: with a precision of 1e-9 they end together.
  const auto apart = [](Platform& platform) {
    static double first = 0;
    static double last = 0;
    s4u::Activity::on_completion_cb([](const s4u::Activity&) {
      if (first == 0) first = s4u::Engine::get_clock();
      last = s4u::Engine::get_clock();
    });
    Timer::set(0, [&platform] {
      start(platform.hosts[0], platform.hosts[1], 50);
      start(platform.hosts[2], platform.hosts[3], 60);
    });
    platform.engine.run();
    return last - first;
  };
  EXPECT_LT(in_simgrid(with(kernel_info().options, "surf/precision", "1e-9"), {0, 0, 0, 0}, apart), 0.15e-9);
  EXPECT_NEAR(in_simgrid(kernel_info().options, {0, 0, 0, 0}, apart), 10 / kRate, 1e-13);
}

TEST(Settings, LinksWithLatencyWouldWeighTheShares) {
  // Two flows into one port, one of them over a longer way. Given latencies, SimGrid shares by round-trip
  // time, so the kernel's links have none and the core adds them itself.
  const auto lead_of_the_nearer = [](Platform& platform) {
    Timer::set(0, [&platform] {
      start(platform.hosts[0], platform.hosts[1], 500'000'000);
      start(platform.hosts[2], platform.hosts[1], 500'000'000);
    });
    double lead = 0;
    Timer::set(10e-3, [&lead] { lead = kept()[1]->get_remaining() - kept()[0]->get_remaining(); });
    platform.engine.run();
    return lead;
  };
  EXPECT_GT(in_simgrid(kernel_info().options, {1e-6, 1e-6, 9e-6}, lead_of_the_nearer), 100'000'000);
  EXPECT_NEAR(in_simgrid(kernel_info().options, {0, 0, 0}, lead_of_the_nearer), 0, 1);
}

TEST(Settings, AOneSidedCommunicationIgnoresItsRate) {
  // Why a limited background flow starts behind a link of its rate.
  const double time = in_simgrid(kernel_info().options, {0, 0}, [](Platform& platform) {
    Timer::set(0, [&platform] {
      s4u::CommPtr comm = s4u::Comm::sendto_init();
      comm->set_rate(kRate / 10);
      comm->set_payload_size(1'000'000'000);
      comm->set_source(platform.hosts[0]);
      comm->set_destination(platform.hosts[1]);
      kept().push_back(comm);
    });
    platform.engine.run();
    return s4u::Engine::get_clock();
  });
  EXPECT_NEAR(time, 1e9 / kRate, 1e-9);
}

}  // namespace
}  // namespace cnuas::sim
