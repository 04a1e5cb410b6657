// What the subcommands have in common: exit codes, where output goes, how a scenario is loaded.
#pragma once

#include "scenarios/scenario.h"

#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace CLI {
class App;
}

namespace cnuas::sim {

enum ExitCode : int {
  kSuccess = 0,
  kCheckFailed = 1,
  kUsage = 2,
  kBadScenario = 3,
  kInputOutput = 4,
  kInternal = 70,
};

// The words of the command line, for results that tell how to repeat them.
using CommandLine = std::vector<std::string>;
// Quoted for a POSIX shell where needed.
std::string quoted(const CommandLine& words);

// Each adds its subcommand with its options; the callback of the chosen one stores what main() returns.
void add_run(CLI::App& app, const CommandLine& words, int& status);
void add_validate(CLI::App& app, int& status);
void add_inspect(CLI::App& app, int& status);
void add_graph(CLI::App& app, int& status);
void add_schedule(CLI::App& app, int& status);
void add_schema(CLI::App& app, int& status);

// Loads the file and prints its diagnostics on standard error. No scenario: `status` says why (kBadScenario,
// kInputOutput).
std::optional<scenarios::Scenario> load(const std::string& path, int& status);

// Writes to the file, or to standard output when `path` is empty. kSuccess or, with a message, kInputOutput.
int write_output(const std::string& path, const std::string& text);

// "error: what" on standard error, for everything that is not about a place in a scenario.
void print_error(const std::string& what);

}  // namespace cnuas::sim
