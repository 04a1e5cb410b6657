// Runs work in a process of its own: SimGrid can be set up only once per process, and memory is measured per
// process.
#pragma once

#include "core/engine/error.h"

#include <functional>
#include <string>

namespace cnuas::sim {

// Forks, runs `work` in the child and returns its bytes. The caller must have no other threads. Errors:
// mismatch when the child fails or dies; the message says how ("was killed by signal 11").
Result<std::string> in_child_process(const std::function<std::string()>& work);

}  // namespace cnuas::sim
