// Random operations on random switches, compared with the reference after each.
#include "tests/switch/machine.h"

#include <cstdint>
#include <string>
#include <vector>

#include <gtest/gtest.h>
#include <rapidcheck.h>
#include <rapidcheck/gtest.h>

namespace cnuas::fabric_switch {
namespace {

RC_GTEST_PROP(Machine, AgreesWithTheReference, ()) {
  const auto bytes = *rc::gen::arbitrary<std::vector<std::uint8_t>>();
  const std::string wrong = run_machine(bytes);
  if (!wrong.empty()) RC_FAIL(wrong);
}

// Longer than rapidcheck makes them by itself: the interesting states lie behind some hundred operations.
TEST(Machine, AgreesWithTheReferenceForLong) {
  std::uint64_t state = 1;
  const auto next = [&state] {  // splitmix64
    std::uint64_t z = (state += 0x9E3779B97F4A7C15);
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EB;
    return static_cast<std::uint8_t>(z >> 56);
  };
  for (int run = 0; run < 500; ++run) {
    std::vector<std::uint8_t> bytes(2000);
    for (std::uint8_t& byte : bytes)
      byte = next();
    ASSERT_EQ(run_machine(bytes), "") << "run " << run;
  }
}

}  // namespace
}  // namespace cnuas::fabric_switch
