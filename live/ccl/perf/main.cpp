// cnuasccl-perf: how long collectives take, and whether their results are right.
#include "live/ccl/perf/options.h"
#include "live/ccl/perf/place.h"
#include "live/ccl/perf/plan.h"
#include "live/ccl/perf/results.h"
#include "live/ccl/perf/supervise.h"
#include "live/ccl/perf/world.h"

#include <cstdio>
#include <exception>
#include <filesystem>
#include <optional>
#include <string>
#include <system_error>
#include <vector>

namespace {

using namespace cnuas;
using namespace cnuas::live::perf;

int say(const Error& error) {
  std::fprintf(stderr, "error: %s%s%s\n", error.where.c_str(), error.where.empty() ? "" : ": ",
               error.message.c_str());
  return kInputOutput;
}

int run(Result<World> world, const Options& options, std::span<const Row> rows) {
  if (!world) return say(world.error());
  Results results(options, rows);
  results.print_head();
  int exit_code = supervise(*world, options, results);
  if (exit_code == kSuccess || exit_code == kWrongData) results.print_foot();
  if (!options.json.empty()) {
    if (const Result<void> written = results.write_json(options.json); !written)
      exit_code = say(written.error());
  }
  if (std::ferror(stdout) != 0 && exit_code == kSuccess)
    exit_code = say({ErrorCode::io, "cannot be written", "standard output"});
  return exit_code;
}

int run_over_switches(const Options& options, std::span<const Row> rows) {
  const Result<TemporaryDirectory> directory = TemporaryDirectory::make();
  if (!directory) return say(directory.error());
  std::vector<OwnSwitch> own;
  std::vector<std::string> run_dirs = options.run_dirs;
  const unsigned racks = run_dirs.empty() ? options.racks() : 0;
  for (unsigned rack = 1; rack <= racks; ++rack) {
    run_dirs.push_back(OwnSwitch::run_dir_in(directory->path(), rack));
    Result<OwnSwitch> started = OwnSwitch::start(directory->path(), rack, racks);
    if (!started) return say(started.error());
    own.push_back(std::move(*started));
  }
  const int exit_code = run(World::over_switches(options, rows, run_dirs, directory->path()), options, rows);
  for (OwnSwitch& each : own) {
    const std::string end = each.end();
    if (!end.empty()) std::fprintf(stderr, "error: a switch %s\n", end.c_str());
  }
  return exit_code;
}

int run_command_line(int argc, char** argv) {
  int status = kSuccess;
  const std::optional<Options> options = parse_options(argc, argv, status);
  if (!options) return status;
  if (!options->flight.empty()) {
    std::error_code error;
    std::filesystem::create_directories(options->flight, error);
    if (error) return say({ErrorCode::io, error.message(), options->flight});
  }
  hold_signals();
  const std::vector<Row> rows = plan(*options);
  if (options->transport == Transport::socket) return run_over_switches(*options, rows);
  return run(World::in_process(*options, rows), *options, rows);
}

}  // namespace

int main(int argc, char** argv) {
  try {
    return run_command_line(argc, argv);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "internal error: %s\n", error.what());
    return kInternal;
  }
}
