#include "tests/equivalence/equivalence.h"

#include "tests/equivalence/simulated_side.h"

#include <algorithm>
#include <string>
#include <utility>

namespace cnuas::equivalence {

namespace {

std::size_t messages_of(const Step& step) {
  std::size_t messages = 0;
  if (const auto* sends = std::get_if<Sends>(&step.what)) {
    for (const Send& each : sends->sends)
      messages += each.repeat;
  }
  return messages;
}

tl::unexpected<Error> at_step(Error error, const char* side, std::size_t number, const Script& script) {
  const Step& step = script.steps[number];
  error.message = std::string(side) + " failed at step " + std::to_string(number + 1) + " (" +
                  describe(step, script.fabric) + "): " + error.message;
  error.code = ErrorCode::mismatch;
  return tl::unexpected<Error>(std::move(error));
}

}  // namespace

Result<Verdict> compare_sides(const Script& script, const LiveOptions& options) {
  return compare_sides(script, script, options);
}

// The daemons go first: how much a stopped reader's socket takes is for them to say.
Result<Verdict> compare_sides(const Script& simulated, const Script& live, const LiveOptions& options) {
  Result<std::unique_ptr<SimulatedSide>> simulator = SimulatedSide::create(simulated.fabric);
  if (!simulator) return tl::unexpected<Error>(simulator.error());
  Result<std::unique_ptr<LiveSide>> daemons = LiveSide::start(live, options);
  if (!daemons) return tl::unexpected<Error>(daemons.error());
  Verdict verdict;
  for (std::size_t i = 0; i < std::min(simulated.steps.size(), live.steps.size()); ++i) {
    Result<StepObservation> there = (*daemons)->run(live.steps[i]);
    if (!there) return at_step(there.error(), "the daemon's side", i, live);
    const Result<StepObservation> here = (*simulator)->run(simulated.steps[i], (*daemons)->rooms());
    if (!here) return at_step(here.error(), "the simulator", i, simulated);
    Comparison comparison = compare(live.fabric, *here, *there);
    ++verdict.steps;
    verdict.messages += messages_of(live.steps[i]);
    verdict.deliveries += there->deliveries.size();
    verdict.values += comparison.values;
    verdict.not_zero += comparison.not_zero;
    verdict.drop_reasons.merge(comparison.drop_reasons);
    if (comparison.differences.empty() && there->unrest.empty()) continue;
    verdict.step = i + 1;
    verdict.unrest = there->unrest;
    verdict.differences = std::move(comparison.differences);
    return verdict;
  }
  return verdict;
}

}  // namespace cnuas::equivalence
