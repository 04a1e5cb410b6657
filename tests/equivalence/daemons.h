// Where the tests find programs and files.
#pragma once

#include "tests/equivalence/live_side.h"
#include "tests/equivalence/script_reader.h"

#include <string>

namespace cnuas::equivalence {

inline std::string source(const std::string& path) {
  return std::string(CNUAS_SOURCE_DIR "/tests/equivalence/") + path;
}

inline LiveOptions built_daemon() {
  LiveOptions options;
  options.daemon = CNUAS_BINARY_DIR "/bin/cnuasgpu-link-switchd";
  return options;
}

// A script of these steps, on one of the fabrics. Fails the test when there is something wrong with it.
inline Script script_of(const std::string& fabric, const std::string& steps) {
  const std::string yaml = "equivalence: test\nfabric: " + source("fabrics/" + fabric + ".yaml") +
                           "\nsend_buffer: 33024 B\nsteps:\n" + steps;
  ReadScript read = read_script(yaml, "test.yaml");
  for (const scenarios::Diagnostic& each : read.diagnostics)
    ADD_FAILURE() << scenarios::format(each);
  return read.script ? std::move(*read.script) : Script{};
}

}  // namespace cnuas::equivalence
