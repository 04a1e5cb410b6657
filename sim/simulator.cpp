#include "sim/simulator.h"

#include "core/topology/routes.h"
#include "scenarios/algorithm_choice.h"
#include "sim/fluid/fluid_mover.h"
#include "sim/frame/frame_mover.h"
#include "sim/run/run.h"
#include "sim/simgrid/kernel.h"

#include <algorithm>
#include <optional>
#include <set>
#include <utility>

namespace cnuas::sim {

namespace {

std::string describe(const CollectiveCall& call) {
  return std::string(name(call.collective)) + " " + std::string(name(call.algorithm)) + " " +
         std::to_string(call.size_bytes) + " B";
}

// The port model of the GPUs that take part, and whether the fabric is just that: equal ports around one
// switch.
struct Model {
  ccl::PortModel port;
  bool exact = true;
};

class Simulation {
 public:
  Simulation(const scenarios::Scenario& scenario, const SimulatorOptions& options)
      : scenario_(scenario),
        routes_(scenario.fabric),
        kernel_(scenario.fabric, routes_, scenario.workload.background, scenario.workload.stragglers),
        context_{
            {scenario.fabric, routes_, scenario.workload, scenario.seed}, kernel_, options.carry_data, {}},
        options_(options),
        fidelity_(scenarios::fidelity_of(scenario)) {
    result_.fidelity = fidelity_;
  }

  Result<RunResult> run(const std::function<void(const Progress&)>& progress) {
    for (const WorkItem& item : scenario_.workload.items) {
      const auto* measurement = std::get_if<Measurement>(&item);
      progress_.items += measurement ? measurement->calls.size() : 1;
    }
    context_.progress = [&](Picoseconds time, std::uint64_t events) {
      progress_.time_ps = time;
      progress_.events = events;
      progress(progress_);
    };
    for (const WorkItem& item : scenario_.workload.items) {
      if (const auto* measurement = std::get_if<Measurement>(&item)) {
        for (const CollectiveCall& call : measurement->calls) {
          announce(describe(call), progress);
          if (Result<void> done = measure(call); !done) return tl::unexpected<Error>(done.error());
        }
      } else {
        const TrainingStep& step = std::get<TrainingStep>(item);
        announce("step " + step.name, progress);
        if (Result<void> done = train(step); !done) return tl::unexpected<Error>(done.error());
      }
    }
    return std::move(result_);
  }

 private:
  void announce(const std::string& what, const std::function<void(const Progress&)>& progress) {
    progress_.what = what;
    progress_.time_ps = 0;
    progress_.events = 0;
    progress(progress_);
    ++progress_.item;
  }

  Result<Outcome> run_phases(const std::vector<Phase>& phases) {
    if (fidelity_ == Fidelity::frame) {
      Run<FrameMover> run(context_, phases);
      Result<Outcome> outcome = run.execute();
      if (outcome) result_.switches = run.mover().take_switches();
      return checked(std::move(outcome));
    }
    Result<Outcome> outcome =
        Run<FluidMover>(context_, phases, FluidOptions{options_.simgrid_flows}).execute();
    if (!outcome) return outcome;
    for (const PhaseOutcome& phase : outcome->phases) {
      if (!phase.incomplete.empty())
        return fail(ErrorCode::mismatch, "the schedule does not finish: " + phase.incomplete);
    }
    return checked(std::move(outcome));
  }

  static Result<Outcome> checked(Result<Outcome> outcome) {
    if (!outcome) return outcome;
    for (const PhaseOutcome& phase : outcome->phases) {
      if (!phase.wrong_data.empty()) return fail(ErrorCode::mismatch, "wrong data: " + phase.wrong_data);
    }
    return outcome;
  }

  Result<void> measure(const CollectiveCall& call) {
    Result<Outcome> outcome = run_phases({Phase{call, false}});
    if (!outcome) return located(outcome.error(), describe(call));
    CollectiveResult row = base_row(call, outcome->phases[0]);
    row.events = outcome->events;
    row.frames = outcome->frames;
    row.digest = outcome->digest;
    row.model_applies =
        row.model_applies && scenario_.workload.background.empty() && scenario_.workload.faults.empty();
    find_busiest(*outcome, row);
    result_.collectives.push_back(std::move(row));
    return {};
  }

  Result<void> train(const TrainingStep& step) {
    Result<Outcome> outcome = run_phases(step.phases);
    if (!outcome) return located(outcome.error(), "step '" + step.name + "'");
    StepResult whole{step.name, outcome->time_ps, outcome->compute_ps, {}, outcome->digest};
    for (std::size_t i = 0; i < step.phases.size(); ++i) {
      whole.phase_end_ps.emplace_back(i, outcome->phases[i].end_ps);
      const PhaseOutcome& phase = outcome->phases[i];
      if (const auto* traffic = std::get_if<TrafficPhase>(&step.phases[i].work)) {
        result_.traffic.push_back({step.name, *traffic, fidelity_,
                                   std::max<Picoseconds>(0, phase.end_ps - phase.begin_ps), phase.incomplete,
                                   *phase.traffic});
      }
      const auto* call = std::get_if<CollectiveCall>(&step.phases[i].work);
      if (call == nullptr) continue;
      CollectiveResult row = base_row(*call, outcome->phases[i]);
      row.events = 2 * outcome->phases[i].messages;
      row.digest = outcome->digest;
      row.model_applies = false;  // it waits for computation and shares links with the collectives beside it
      result_.collectives.push_back(std::move(row));
    }
    result_.steps.push_back(std::move(whole));
    return {};
  }

  static Result<void> located(Error error, std::string where) {
    if (error.where.empty()) error.where = std::move(where);
    return tl::unexpected<Error>(std::move(error));
  }

  CollectiveResult base_row(const CollectiveCall& call, const PhaseOutcome& phase) const {
    const ccl::Problem problem = problem_of(call);
    const Model model = port_model(call.ranks);
    CollectiveResult row;
    row.call = call;
    row.fidelity = fidelity_;
    row.incomplete = phase.incomplete;
    row.canonical = !reduces(call.collective) ||
                    ccl::fold_guarantee(call.collective, call.algorithm, problem.ranks).canonical;
    row.time_ps = std::max<Picoseconds>(0, phase.end_ps - phase.begin_ps);
    row.wire_bytes = phase.wire_bytes;
    row.lower_bound_ps =
        std::max(ccl::lower_bound(problem, size_of(call.type), model.port), crossing_bound(call, problem));
    row.model = ccl::closed_form(problem, size_of(call.type), model.port);
    row.model_applies = model.exact;
    return row;
  }

  // Best case over the ports and routes of those that take part, so that bounds are bounds on any fabric.
  Model port_model(const std::vector<GpuId>& ranks) const {
    const Fabric& fabric = scenario_.fabric;
    Model model;
    model.port.latency_ps = kNever;
    std::set<SwitchIndex> switches;
    const Gpu& first = fabric.gpus[*find_gpu(fabric, ranks.front())];
    for (const GpuId id : ranks) {
      const Gpu& gpu = fabric.gpus[*find_gpu(fabric, id)];
      model.port.rate_bytes_per_s = std::max(model.port.rate_bytes_per_s, gpu.link.payload_bytes_per_s());
      model.exact = model.exact && gpu.link == first.link;
      switches.insert(gpu.attached);
    }
    model.exact = model.exact && switches.size() == 1;
    // Links of one kind: any pair will do. Otherwise the two nearest, which bounds every message from below.
    if (model.exact) {
      model.port.latency_ps = 2 * first.link.latency_ps + fabric.switches[first.attached].latency_ps;
      if (fidelity_ == Fidelity::frame) add_framing(first, model);
      return model;
    }
    Picoseconds nearest = kNever;
    Picoseconds second = kNever;
    Picoseconds least_switch = kNever;
    for (const GpuId id : ranks) {
      const Gpu& gpu = fabric.gpus[*find_gpu(fabric, id)];
      least_switch = std::min(least_switch, fabric.switches[gpu.attached].latency_ps);
      second = std::min(second, std::max(nearest, gpu.link.latency_ps));
      nearest = std::min(nearest, gpu.link.latency_ps);
    }
    if (ranks.size() > 1) model.port.latency_ps = nearest + second + least_switch;
    return model;
  }

  // Frames on NVLink have packet headers besides, which no form covers.
  void add_framing(const Gpu& gpu, Model& model) const {
    model.exact = !gpu.link.packets.has_value();
    const std::uint64_t held =
        scenario_.fabric.switches[gpu.attached].cut_through ? wire::kHeaderBytes : ~0ull;
    model.port.framing = ccl::Framing{chunk_bytes(scenario_.fabric), kFrameOverhead, held};
  }

  // What must leave and enter each switch that has some of the ranks, over all its cables together.
  Picoseconds crossing_bound(const CollectiveCall& call, const ccl::Problem& problem) const {
    const ccl::Racks racks = scenarios::racks_of(scenario_.fabric, call.ranks);
    std::vector<bool> inside(call.ranks.size());
    Picoseconds bound = 0;
    for (std::size_t rack = 0; rack < racks.uplink_bytes_per_s.size(); ++rack) {
      for (std::size_t rank = 0; rank < inside.size(); ++rank)
        inside[rank] = racks.of_rank[rank] == rack;
      const std::uint64_t bytes = ccl::crossing_elements(problem, inside) * size_of(call.type);
      if (bytes > 0) bound = std::max(bound, transmission_ps(bytes, racks.uplink_bytes_per_s[rack]));
    }
    return bound;
  }

  void find_busiest(const Outcome& outcome, CollectiveResult& row) const {
    if (outcome.time_ps == 0) return;
    for (LinkIndex link = 0; link < outcome.link_bytes.size(); ++link) {
      if (outcome.link_bytes[link] == 0) continue;
      const double rate = static_cast<double>(link_profile(scenario_.fabric, link).payload_bytes_per_s());
      const double seconds = static_cast<double>(outcome.time_ps) / static_cast<double>(kSecond);
      const double utilisation = static_cast<double>(outcome.link_bytes[link]) / rate / seconds;
      if (utilisation <= row.utilisation) continue;
      row.utilisation = utilisation;
      row.busiest_link = link_name(scenario_.fabric, link);
    }
  }

  const scenarios::Scenario& scenario_;
  RouteTable routes_;
  Kernel kernel_;
  RunContext context_;
  SimulatorOptions options_;
  Fidelity fidelity_;
  Progress progress_;
  RunResult result_;
};

}  // namespace

Result<RunResult> simulate(const scenarios::Scenario& scenario, const SimulatorOptions& options,
                           const std::function<void(const Progress&)>& progress) {
  return Simulation(scenario, options).run(progress);
}

}  // namespace cnuas::sim
