// libFuzzer: any bytes give a scenario or errors, and every diagnostic can be printed.

#include "scenarios/loader.h"

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string_view>

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace cnuas::scenarios;
  const LoadResult result = load_text(std::string_view(reinterpret_cast<const char*>(data), size));
  bool errors = false;
  for (const Diagnostic& diagnostic : result.diagnostics) {
    errors |= diagnostic.severity == Severity::error;
    if (format(diagnostic).empty()) std::abort();
  }
  if (errors == result.scenario.has_value()) std::abort();
  return 0;
}
