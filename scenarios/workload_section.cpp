#include "scenarios/workload_section.h"

#include "scenarios/algorithm_choice.h"
#include "scenarios/collective_section.h"
#include "scenarios/fault_section.h"
#include "scenarios/participants.h"
#include "scenarios/traffic_section.h"

#include <bitset>
#include <string>
#include <utility>

namespace cnuas::scenarios {
namespace {

using GpuSet = std::bitset<1 << 16>;

class WorkloadReader {
 public:
  WorkloadReader(const Fabric& fabric, Diagnostics& diagnostics)
      : fabric_(fabric),
        routes_(fabric),
        diagnostics_(diagnostics),
        collectives_(fabric, routes_, diagnostics) {}

  Workload read(const Node& scenario) {
    Workload workload;
    if (const Node* items = scenario.find("workload"))
      for (const Node& item : items->items)
        add_item(item, workload);
    if (const Node* flows = scenario.find("background"))
      for (const Node& flow : flows->items)
        if (flow.good) add_flow(flow, workload);
    if (const Node* stragglers = scenario.find("stragglers")) add_stragglers(*stragglers, scenario, workload);
    workload.faults = read_faults(scenario, fabric_, diagnostics_);
    return workload;
  }

 private:
  void add_item(const Node& item, Workload& workload) {
    if (item.has("collective")) {
      workload.items.emplace_back(Measurement{collectives_.read(item)});
    } else if (item.has("traffic")) {
      add_traffic(item, workload);
    } else if (const Node* phases = item.find("phases")) {
      TrainingStep step;
      if (const Node* name = item.get("step")) step.name = name->text;
      for (const Node& phase : phases->items)
        add_phase(phase, step);
      workload.items.emplace_back(std::move(step));
    }
  }

  // A step of its own, with the one phase.
  void add_traffic(const Node& item, Workload& workload) {
    std::optional<TrafficPhase> traffic = take_traffic(item);
    if (!traffic) return;
    const Node* name = item.get("name");
    TrainingStep step;
    step.name = name ? name->text : item.get("traffic")->text;
    step.phases.push_back(Phase{std::move(*traffic), false});
    workload.items.emplace_back(std::move(step));
  }

  std::optional<TrafficPhase> take_traffic(const Node& node) {
    std::optional<TrafficPhase> traffic = read_traffic(node, fabric_, diagnostics_);
    if (!traffic) return traffic;
    const std::size_t gpus = traffic->senders.size() + traffic->receivers.size();
    return collectives_.take_ranks(1, gpus, node.key_place("traffic")) ? std::move(traffic) : std::nullopt;
  }

  void add_phase(const Node& node, TrainingStep& step) {
    Phase phase;
    if (const Node* overlap = node.get("overlap")) phase.overlap = overlap->number != 0;
    if (const Node* compute = node.get("compute")) {
      ComputePhase work{compute->number, read_ranks(node, fabric_, diagnostics_)};
      if (!collectives_.take_ranks(1, work.ranks.size(), node.key_place("compute"))) return;
      for (GpuId id : work.ranks)
        computing_.set(id.value);
      phase.work = std::move(work);
    } else if (node.has("traffic")) {
      std::optional<TrafficPhase> traffic = take_traffic(node);
      if (!traffic) return;
      phase.work = std::move(*traffic);
    } else {
      std::vector<CollectiveCall> calls = collectives_.read(node);
      if (calls.empty()) return;
      phase.work = std::move(calls.front());
    }
    step.phases.push_back(std::move(phase));
  }

  void add_flow(const Node& node, Workload& workload) {
    const std::optional<GpuId> from = read_gpu(*node.get("from"), fabric_, diagnostics_);
    const std::optional<GpuId> to = read_gpu(*node.get("to"), fabric_, diagnostics_);
    if (!from || !to) return;
    if (*from == *to) {
      diagnostics_.error(node.get("to")->place, "the flow goes from GPU " + to_string(*from) + " to itself",
                         "name two different GPUs");
      return;
    }
    BackgroundFlow flow;
    flow.from = *from;
    flow.to = *to;
    if (const Node* rate = node.get("rate")) flow.rate_bytes_per_s = static_cast<std::uint64_t>(rate->number);
    if (const Node* start = node.get("start")) flow.start_ps = start->number;
    if (const Node* duration = node.get("for")) flow.duration_ps = duration->number;
    workload.background.push_back(flow);
  }

  void add_stragglers(const Node& list, const Node& scenario, Workload& workload) {
    if (computing_.none() && scenario.get("workload") && !list.items.empty()) {
      diagnostics_.warning(scenario.key_place("stragglers"),
                           "'stragglers' has no effect: nothing in the workload computes",
                           "stragglers slow down the compute phases of a step");
    }
    GpuSet seen;
    for (const Node& node : list.items) {
      if (!node.good) continue;
      const Node& gpu = *node.get("gpu");
      const std::optional<GpuId> id = read_gpu(gpu, fabric_, diagnostics_);
      if (!id) continue;
      if (seen[id->value])
        diagnostics_.error(gpu.place, "GPU " + to_string(*id) + " is listed twice",
                           "give each GPU one speed");
      else if (computing_.any() && !computing_[id->value])
        diagnostics_.warning(gpu.place,
                             "GPU " + to_string(*id) + " computes in no phase: its speed has no effect");
      seen.set(id->value);
      workload.stragglers.push_back(Straggler{*id, node.get("speed")->fraction});
    }
  }

  const Fabric& fabric_;
  const RouteTable routes_;
  Diagnostics& diagnostics_;
  CollectiveReader collectives_;
  GpuSet computing_;
};

}  // namespace

Workload read_workload(const Node& scenario, const Fabric& fabric, Diagnostics& diagnostics) {
  return WorkloadReader(fabric, diagnostics).read(scenario);
}

void check_algorithms(const Node& scenario, Diagnostics& diagnostics) {
  const auto check_item = [&](const Node& item) {
    if (item.kind != Node::Kind::mapping) return;
    const Node* collective = item.get("collective");
    if (collective) read_algorithms(item, *ccl::parse_collective(collective->text), diagnostics);
  };
  const Node* workload = scenario.find("workload");
  if (!workload) return;
  for (const Node& item : workload->items) {
    check_item(item);
    if (const Node* phases = item.kind == Node::Kind::mapping ? item.find("phases") : nullptr)
      for (const Node& phase : phases->items)
        check_item(phase);
  }
}

}  // namespace cnuas::scenarios
