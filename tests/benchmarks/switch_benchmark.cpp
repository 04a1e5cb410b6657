// What the switch spends on a frame: receive(), front() and pop(), for one destination and for all.
//
//   switch_benchmark --benchmark_format=json
//
// Items are frames received. The frames of a flood leave by every other port, so its time is that of all
// copies.

#include "core/switch/switch.h"

#include <array>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include <benchmark/benchmark.h>

namespace {

using namespace cnuas;
using namespace cnuas::fabric_switch;
using wire::FrameType;

// The switch serves rack 0, that is to say any: its ports' GPUs are 1/0, 1/1, ..., 2/0, ...
GpuId gpu_at(std::size_t port) {
  return GpuId{static_cast<std::uint16_t>(0x100 + port)};
}

Switch made(std::size_t ports) {
  SwitchConfig config;
  config.name = "benchmark";
  config.ports.resize(ports);
  for (std::size_t port = 0; port < ports; ++port)
    config.ports[port].expected = gpu_at(port);
  Switch fabric = *Switch::create(std::move(config));
  Actions out;
  for (std::size_t port = 0; port < ports; ++port)
    fabric.link_up(static_cast<PortIndex>(port), 0, out);
  return fabric;
}

FrameRef frame_of(std::size_t from, GpuId to, std::int64_t frame_bytes) {
  FrameRef frame;
  frame.header = {FrameType::data, wire::ByteOrder::big, gpu_at(from), to,
                  static_cast<std::uint32_t>(frame_bytes) - std::uint32_t{wire::kHeaderBytes}};
  return frame;
}

// Every frame comes in by another port than the last one and leaves by another, so that each meets cold
// counters as far as the number of ports makes them cold.
void Unicast(benchmark::State& state) {
  const auto ports = static_cast<std::size_t>(state.range(0));
  Switch fabric = made(ports);
  std::vector<FrameRef> frames;
  for (std::size_t port = 0; port < ports; ++port)
    frames.push_back(
        frame_of(port, gpu_at((port * 7 + 3) % ports == port ? (port + 1) % ports : (port * 7 + 3) % ports),
                 state.range(1)));
  Actions out;
  Picoseconds now = 0;
  std::size_t ingress = 0;
  for (auto _ : state) {
    now += 100 * kNanosecond;
    fabric.receive(static_cast<PortIndex>(ingress), frames[ingress], now, out);
    const PortIndex egress = out.ready.front();
    benchmark::DoNotOptimize(fabric.front(egress));
    fabric.pop(egress, now + 50 * kNanosecond, out);
    out.clear();
    ingress = ingress + 1 == ports ? 0 : ingress + 1;
  }
  state.SetItemsProcessed(state.iterations());
}

// The same with the header still to be read from bytes, as a daemon gets them.
void UnicastFromBytes(benchmark::State& state) {
  const auto ports = static_cast<std::size_t>(state.range(0));
  Switch fabric = made(ports);
  std::vector<std::vector<std::byte>> messages;
  for (std::size_t port = 0; port < ports; ++port) {
    std::vector<std::byte> message(static_cast<std::size_t>(state.range(1)));
    const FrameRef frame = frame_of(port, gpu_at((port + 1) % ports), state.range(1));
    std::array<std::byte, wire::kHeaderBytes> header{};
    wire::encode(frame.header, header);
    std::copy(header.begin(), header.end(), message.begin());
    messages.push_back(std::move(message));
  }
  Actions out;
  Picoseconds now = 0;
  std::size_t ingress = 0;
  for (auto _ : state) {
    now += 100 * kNanosecond;
    fabric.receive(static_cast<PortIndex>(ingress), messages[ingress], 7, now, out);
    const PortIndex egress = out.ready.front();
    benchmark::DoNotOptimize(fabric.front(egress));
    fabric.pop(egress, now + 50 * kNanosecond, out);
    out.clear();
    ingress = ingress + 1 == ports ? 0 : ingress + 1;
  }
  state.SetItemsProcessed(state.iterations());
}

void Flood(benchmark::State& state) {
  const auto ports = static_cast<std::size_t>(state.range(0));
  Switch fabric = made(ports);
  Actions out;
  Picoseconds now = 0;
  std::size_t ingress = 0;
  for (auto _ : state) {
    now += 100 * kNanosecond;
    fabric.receive(static_cast<PortIndex>(ingress), frame_of(ingress, kBroadcast, state.range(1)), now, out);
    for (const PortIndex egress : out.ready) {
      benchmark::DoNotOptimize(fabric.front(egress));
      fabric.pop(egress, now + 50 * kNanosecond, out);
    }
    out.clear();
    ingress = ingress + 1 == ports ? 0 : ingress + 1;
  }
  state.SetItemsProcessed(state.iterations());
  state.counters["copies"] =
      benchmark::Counter(static_cast<double>(state.iterations()) * static_cast<double>(ports - 1),
                         benchmark::Counter::kIsRate | benchmark::Counter::kInvert);
}

BENCHMARK(Unicast)->ArgNames({"ports", "bytes"})->ArgsProduct({{8, 64, 1024}, {64, 65'536}});
BENCHMARK(UnicastFromBytes)->ArgNames({"ports", "bytes"})->ArgsProduct({{8, 64, 1024}, {64}});
BENCHMARK(UnicastFromBytes)->ArgNames({"ports", "bytes"})->ArgsProduct({{8, 64}, {65'536}});
BENCHMARK(Flood)->ArgNames({"ports", "bytes"})->ArgsProduct({{8, 64}, {64, 65'536}});

}  // namespace

BENCHMARK_MAIN();
