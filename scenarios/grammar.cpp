#include "scenarios/grammar.h"

#include "scenarios/fabric_grammar.h"
#include "scenarios/fault_grammar.h"
#include "scenarios/live_grammar.h"
#include "scenarios/value_forms.h"
#include "scenarios/workload_grammar.h"

namespace cnuas::scenarios {
namespace {

constexpr std::string_view kFidelities[] = {"auto", "fluid", "frame"};
constexpr Form kFidelity = {.kind = Kind::word, .what = "a fidelity", .words = kFidelities};

constexpr Form kSeed = {.kind = Kind::integer, .what = "a whole number", .most = INT64_MAX};

constexpr Field kScenarioFields[] = {
    {"scenario", &kText, true, "Name of the scenario; results carry it."},
    {"description", &kText, false, "What the scenario is about, in words. Has no influence on the results."},
    {"seed", &kSeed, false, "Seed of everything that is random. Default: 1."},
    {"fidelity", &kFidelity, false,
     "How finely messages are simulated. fluid: every message is a flow that shares the links it crosses. "
     "frame: messages are cut into frames, and every frame passes the queues of the switches on its way. "
     "auto (default): frame when there are faults, otherwise fluid; the result states which."},
    {"fabric", &kFabric, true, "The machine: racks of GPUs, their switches and the links between them."},
    {"workload", &kWorkload, true,
     "What runs on the fabric, one item after the other, each on an idle fabric."},
    {"background", &kBackground, false, "Flows that share the links with every item of the workload."},
    {"stragglers", &kStragglers, false, "GPUs that compute slower than the others."},
    {"faults", &kFaults, false, "What breaks, and when. Frame fidelity."},
    {"live", &kLive, false,
     "For the switch daemons that bring this fabric up. Has no influence on a simulation."},
};
constexpr Form kScenario = {.kind = Kind::mapping,
                            .name = "scenario file",
                            .what = "a mapping with 'scenario', 'fabric' and 'workload'",
                            .fields = kScenarioFields};

}  // namespace

const Form& scenario_form() {
  return kScenario;
}

}  // namespace cnuas::scenarios
